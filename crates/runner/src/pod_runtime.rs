//! The interface between the runner, which talks to the API, and the part that runs Pods.

use std::io;
use std::sync::Arc;

use futures::future::BoxFuture;
use punctual_api::Pod;

use crate::pod_state::PodState;
use crate::prepare::{PrepareError, References};

/// Prepares, starts and stops Pods, which are identified by their UIDs.
///
/// A Pod is first prepared, then started. A prepared Pod may be running even if the runner has not
/// started it: an earlier runner may have.
///
/// Every call that can take a while is asynchronous: the caller's thread also decides when Jobs start.
pub trait PodRuntime: Send + Sync + 'static {
    /// The UIDs of all Pods that the runtime has data of.
    fn pod_uids(&self) -> BoxFuture<'_, io::Result<Vec<String>>>;

    /// Whether the runtime can run a Pod with this UID at all.
    fn is_valid_uid(&self, uid: &str) -> bool;

    /// Whether the Pod was prepared. An error means that this is unknown: the Pod may be running.
    fn is_prepared<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<bool>>;

    /// The state of a prepared Pod; `None` if it was never started.
    fn state<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<Option<PodState>>>;

    /// The termination grace period of a prepared Pod, in seconds; `None` if it is unknown.
    fn grace_seconds<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, Option<u64>>;

    /// Prepares a Pod that was never started. `references` holds the config maps and secrets that the
    /// Pod refers to and that exist.
    fn prepare(
        &self,
        pod: Arc<Pod>,
        references: References,
    ) -> BoxFuture<'_, Result<(), PrepareError>>;

    /// Finds a prepared Pod that is running; `None` if it is not running. The error has the kind
    /// `NotFound` if the Pod is neither running nor prepared.
    fn attach<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<Option<Box<dyn PodHandle>>>>;

    /// Starts a prepared Pod that is not running. With a grace period, the Pod is to stop: no
    /// container is started, and the remains of an earlier run are terminated.
    fn start<'a>(
        &'a self,
        uid: &'a str,
        stop_within: Option<u64>,
    ) -> BoxFuture<'a, io::Result<Box<dyn PodHandle>>>;

    /// Deletes all data of a Pod that is not running.
    fn remove<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<()>>;
}

/// A Pod that was running when the handle was made. Dropping the handle does not stop the Pod.
pub trait PodHandle: Send {
    /// Waits for the next event. The future may be dropped and this method called again.
    fn next_event(&mut self) -> BoxFuture<'_, RuntimeEvent>;

    /// Stops the Pod within a grace period, or shortens the grace period of a stop in progress.
    fn stop(&mut self, grace_seconds: u64) -> BoxFuture<'_, io::Result<()>>;
}

/// An event of a running Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeEvent {
    /// The state may have changed.
    StateChanged,
    /// The Pod is no longer running. Its state is final unless its supervisor died.
    Exited,
}
