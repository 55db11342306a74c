//! Controllers for the Kubernetes API: they watch objects into caches and turn decisions into calls.
//!
//! Each controller has a cache that watches keep up to date, a work queue of keys, and a decision that is
//! a pure function of the cached objects. The `work_queue` module runs the workers: each key is reconciled
//! by one worker at a time, and a key that failed is requeued with backoff. Where several processes
//! do the same work, `election` chooses the leader and a [`Fence`] blocks the writes of all others.

mod burst_gate;
mod competing_controller;
mod context;
mod cron_jobs;
mod election;
mod garbage_collector;
mod jobs;
mod metrics;
mod namespace_defaults;
mod queue_monitor;
mod tasks;
mod work_queue;

pub use self::burst_gate::BurstGate;
pub use self::competing_controller::{
    CompetingController, ControllerProbe, FIELD_MANAGER, ProbeError,
};
pub use self::context::Context;
pub use self::cron_jobs::{ClusterOptions, CronJobOptions, Signals, run_cron_jobs};
pub use self::election::{Election, LeaseAccess, LeaseAccessError, export_standby, run_elected};
pub use self::garbage_collector::run_garbage_collector;
pub use self::jobs::run_jobs;
pub use self::metrics::Metrics;
pub use self::namespace_defaults::run_namespace_defaults;
pub use self::queue_monitor::{QueueMonitor, StalledQueue};
pub use punctual_client::{Clock, Fence, SharedWatches, SystemClock};
pub use punctual_engine::cronjob::FeatureGates;
pub use punctual_lease::ElectionConfig;
