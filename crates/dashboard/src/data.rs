//! Reads and writes the Kubernetes API.

mod actions;
mod cache;
mod cron_job_id;
mod detail;
mod durations;
mod health;
mod rights;
mod run;

use std::sync::Arc;

use kube::Client;

pub(crate) use self::actions::{
    ActionError, SuspendRequest, TriggerOutcome, delete_job, replace_object, request_runs, resume,
    suspend, trigger,
};
pub(crate) use self::cache::{CacheFeed, Entry, FleetCache, Scope};
pub(crate) use self::cron_job_id::{CronJobId, is_object_name};
pub(crate) use self::detail::{
    DetailReader, LedgerLine, LedgerPage, LedgerQuery, RunJob, object_json, records_around,
};
pub(crate) use self::health::{ClusterHealth, HealthProbe};
pub(crate) use self::rights::{Rights, RightsReader};
pub(crate) use self::run::{LogRequest, PodRow, RunDetail, open_log, read_log_tail, read_run};

/// A user of the Kubernetes API.
#[derive(Clone)]
pub struct Account {
    /// The name, for the page.
    pub name: String,
    /// Sends requests as this user.
    pub client: Client,
}

/// Finds the account of a bearer token.
pub type TokenLookup = Arc<dyn Fn(&str) -> Option<Account> + Send + Sync>;
