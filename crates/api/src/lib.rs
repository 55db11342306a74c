//! The Kubernetes API of CronJobs, Jobs and Pods: types, defaults, validation, warnings, conversion
//! and status responses.
//!
//! The crate is pure: it does no I/O and reads no clock or random source; the current time
//! and UIDs are arguments. Its behaviour is that of kube-apiserver v1.36/v1.37 plus a few extensions (see
//! [`Dialect`]).
//!
//! An object has two forms. A write arrives as a JSON tree ([`serde_json::Value`]) and stays a tree
//! while it is checked ([`decode`]), defaulted ([`defaults`]) and stored, so that unknown fields
//! survive. Decisions use typed views of the tree ([`cronjob`], [`job`], [`pod`]), which preserve
//! undeclared fields. [`write_rules`] runs the steps of a write in order.

pub mod convert;
pub mod core_v1;
pub mod crd;
pub mod cronjob;
pub mod decode;
pub mod defaults;
mod dialect;
pub mod event;
pub mod field;
mod go_format;
mod int_or_string;
pub mod job;
pub mod json_tree;
pub mod lease;
pub mod meta;
pub mod names;
pub mod pod;
pub mod proto;
mod quantity;
pub mod quota;
pub mod run_request;
pub mod schema;
pub mod slot_record;
pub mod status;
#[cfg(test)]
mod table_differences;
pub mod time;
pub mod validate;
pub mod warnings;
pub mod well_known;
pub mod write_rules;
pub mod yaml;

pub use self::cronjob::{ConcurrencyPolicy, CronJob, CronJobKind};
pub use self::dialect::Dialect;
pub use self::field::FieldError;
pub use self::int_or_string::IntOrString;
pub use self::job::Job;
pub use self::meta::ObjectMeta;
pub use self::pod::Pod;
pub use self::quantity::Quantity;
pub use self::run_request::RunRequest;
pub use self::status::Status;
pub use self::time::{MicroTime, Time};
