//! What a CronJob, a Job and a Pod are, to the letter of Kubernetes' API.
//!
//! Types, defaults, validation, warnings, conversion between the kinds, and the answers a server
//! gives. Pure: no I/O, no clock, no randomness; time and identity are arguments. Behaviour is
//! that of kube-apiserver v1.36/v1.37, with a few fields of our own (see [`Dialect`]).
//!
//! Two forms of an object live side by side. A write arrives as a JSON tree ([`serde_json::Value`])
//! and stays one while it is checked ([`decode`]), defaulted ([`defaults`]) and stored, because
//! fields unknown to us must survive. Decisions read typed views of it ([`cronjob`], [`job`],
//! [`pod`]), which keep what they do not name. [`strategy`] puts the steps of a write in order.

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
pub mod schema;
pub mod status;
pub mod strategy;
pub mod time;
pub mod validate;
pub mod warnings;
pub mod well_known;
pub mod yaml;

pub use self::cronjob::{ConcurrencyPolicy, CronJob, CronJobKind};
pub use self::dialect::Dialect;
pub use self::field::FieldError;
pub use self::int_or_string::IntOrString;
pub use self::job::Job;
pub use self::meta::ObjectMeta;
pub use self::pod::Pod;
pub use self::quantity::Quantity;
pub use self::status::Status;
pub use self::time::{MicroTime, Time};
