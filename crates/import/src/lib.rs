//! Converts crontabs, systemd timers and dumped Kubernetes objects into CronJobs or ScheduledJobs.
//!
//! This crate does no I/O: it takes texts and returns manifests and warnings. A schedule is converted
//! exactly, or there is a warning that says what differs. A source line that cannot be converted is
//! returned without an object, so that nothing is lost silently.

mod calendar_fields;
mod clock_changes;
mod command;
mod crontab;
mod draft;
mod importer;
mod kubernetes;
mod object_name;
mod systemd;
mod users;
mod yaml_text;

pub use calendar_fields::ConvertedSchedule;
pub use crontab::CrontabFormat;
pub use crontab::folder::{FolderPeriod, FolderScript};
pub use importer::{ImportItem, ImportOptions, ImportedObject, Importer, SourceLine};
pub use object_name::to_object_name;
pub use systemd::{UnitSource, missing_services};
pub use users::UserTable;
pub use yaml_text::{YamlTextError, to_yaml};
