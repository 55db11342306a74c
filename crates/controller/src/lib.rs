//! Controllers over a Kubernetes API: watches into caches, decisions into calls.
//!
//! A controller is a cache that watches keep up to date, a [queue](punctual_queue) of what to look
//! at, and a decision that knows neither. `driver` brings them together: workers take keys, one at a
//! time each, and a failure brings a key back after a while. Where several processes do the same work,
//! `election` says which of them does it, and `fence` holds the others back.

mod calls;
mod clock;
mod collector;
mod cron_jobs;
mod driver;
mod election;
mod fence;
mod furnisher;
mod haste;
mod jobs;
mod metrics;
mod paths;
mod recorder;
mod rival;
mod tasks;
mod tools;
mod version;
mod watching;

pub use self::clock::{Clock, RealClock};
pub use self::collector::collect;
pub use self::cron_jobs::{Cluster, CronJobs, Signals, run_cron_jobs};
pub use self::election::{Election, run_elected, stand_by};
pub use self::fence::Fence;
pub use self::furnisher::furnish;
pub use self::haste::Haste;
pub use self::jobs::run_jobs;
pub use self::metrics::Metrics;
pub use self::rival::{MANAGER, Probe, Rival};
pub use self::tools::Tools;
pub use punctual_lease::Config as ElectionConfig;
