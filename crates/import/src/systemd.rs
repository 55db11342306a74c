//! systemd timers and the services that they start.

pub(crate) mod calendar;
mod calendar_parse;
mod exec;
mod service;
mod time_span;
mod timer;
mod unit_file;

use std::collections::BTreeMap;

use self::unit_file::UnitFile;
use crate::importer::{Importer, SourceLine};

/// A unit file, a drop-in, or the output of `systemctl cat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitSource {
    /// The path or name, which tells the unit: `backup.timer`, `backup.timer.d/more.conf`.
    pub file: String,
    /// The text.
    pub text: String,
}

impl Importer {
    /// Imports the timers among the units, with the services that they start.
    pub fn import_units(&mut self, sources: &[UnitSource]) {
        let mut units: BTreeMap<String, UnitFile> = BTreeMap::new();
        for source in sources.iter().flat_map(unit_file::split_concatenated) {
            let Some(name) = unit_file::unit_name(&source.file) else {
                let line = SourceLine { file: source.file.clone(), line: 0, text: "unit".into() };
                self.reject(line, "the file is not a timer or a service".into());
                continue;
            };
            let unit = units.entry(name.clone()).or_insert_with(|| UnitFile::new(&name));
            for problem in unit.read(&source) {
                self.reject(problem, "the line is not a setting of a unit".into());
            }
        }
        for unit in units.values().filter(|unit| unit.name.ends_with(".timer")) {
            self.import_timer(unit, &units);
        }
    }
}

/// Returns the names of the services that the timers among the units start and that are not among them.
pub fn missing_services(sources: &[UnitSource]) -> Vec<String> {
    let mut units: BTreeMap<String, UnitFile> = BTreeMap::new();
    for source in sources.iter().flat_map(unit_file::split_concatenated) {
        if let Some(name) = unit_file::unit_name(&source.file) {
            units.entry(name.clone()).or_insert_with(|| UnitFile::new(&name)).read(&source);
        }
    }
    let timers = units.values().filter(|unit| unit.name.ends_with(".timer"));
    let services = timers.map(timer::service_name);
    services.filter(|service| timer::find_service(service, &units).is_none()).collect()
}
