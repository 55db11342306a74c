//! The [`PodRuntime`] of one start of the process with the runner: it controls the Pods of the
//! [`SimulatedNode`], and the process can be killed at each of its calls.

use std::io;
use std::sync::Arc;

use futures::future::BoxFuture;
use punctual_api::Pod;
use punctual_runner::{PodHandle, PodRuntime, PodState, PrepareError, References, RuntimeEvent};
use punctual_testing::scenario::{CrashPoint, Millis};
use tokio::sync::watch;

use crate::environment::SimulationEnv;
use crate::process_faults::ProcessFaults;
use crate::simulated_node::SimulatedNode;
use crate::virtual_pod::VirtualPod;

/// The longest time that it takes to prepare a Pod.
const PREPARE_MAX: Millis = 20;

/// Controls the Pods of a node for one start of a process.
pub(crate) struct SimulatedRuntime {
    env: Arc<SimulationEnv>,
    node: Arc<SimulatedNode>,
    faults: Arc<ProcessFaults>,
}

impl SimulatedRuntime {
    pub(crate) fn new(
        env: Arc<SimulationEnv>,
        node: Arc<SimulatedNode>,
        faults: Arc<ProcessFaults>,
    ) -> SimulatedRuntime {
        SimulatedRuntime { env, node, faults }
    }

    fn handle(&self, pod: Arc<VirtualPod>) -> Box<dyn PodHandle> {
        let changes = pod.subscribe();
        Box::new(SimulatedHandle { pod, changes, faults: self.faults.clone() })
    }
}

/// Calls the node unless the process is killed before that. Returns an error if it is killed, which
/// its task does not live to handle.
fn call_node<T>(
    faults: &ProcessFaults,
    is_create: bool,
    call: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let crash_point = faults.crash_point(is_create);
    if faults.is_killed() || crash_point == Some(CrashPoint::Before) {
        faults.kill();
        return Err(killed());
    }
    let result = call();
    if crash_point.is_some() {
        faults.kill();
        return Err(killed());
    }
    result
}

fn killed() -> io::Error {
    io::Error::other("the process was killed")
}

impl PodRuntime for SimulatedRuntime {
    fn pod_uids(&self) -> BoxFuture<'_, io::Result<Vec<String>>> {
        Box::pin(async { Ok(self.node.uids()) })
    }

    fn is_valid_uid(&self, _uid: &str) -> bool {
        true
    }

    fn is_prepared<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<bool>> {
        Box::pin(async move { Ok(self.node.find(uid).is_some()) })
    }

    fn state<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<Option<PodState>>> {
        Box::pin(async move { Ok(self.node.get(uid)?.state()) })
    }

    fn grace_seconds<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, Option<u64>> {
        Box::pin(async move { self.node.find(uid).map(|pod| pod.grace_seconds()) })
    }

    fn prepare(
        &self,
        pod: Arc<Pod>,
        _references: References,
    ) -> BoxFuture<'_, Result<(), PrepareError>> {
        Box::pin(async move {
            let duration = self.env.random.between(0, PREPARE_MAX);
            self.env.sleep_until(self.env.now() + duration).await;
            self.faults.wait_while_paused().await;
            call_node(&self.faults, false, || {
                self.node.prepare(&pod);
                Ok(())
            })?;
            Ok(())
        })
    }

    fn attach<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<Option<Box<dyn PodHandle>>>> {
        Box::pin(async move {
            self.faults.wait_while_paused().await;
            let pod = self.node.get(uid)?;
            Ok(pod.is_running().then(|| self.handle(pod)))
        })
    }

    fn start<'a>(
        &'a self,
        uid: &'a str,
        stop_within: Option<u64>,
    ) -> BoxFuture<'a, io::Result<Box<dyn PodHandle>>> {
        Box::pin(async move {
            call_node(&self.faults, true, || {
                let pod = self.node.get(uid)?;
                let handle = self.handle(pod.clone());
                pod.start(stop_within);
                Ok(handle)
            })
        })
    }

    fn remove<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            call_node(&self.faults, false, || {
                self.node.remove(uid);
                Ok(())
            })
        })
    }
}

/// A Pod that was running when the handle was made.
struct SimulatedHandle {
    pod: Arc<VirtualPod>,
    changes: watch::Receiver<Option<PodState>>,
    faults: Arc<ProcessFaults>,
}

impl PodHandle for SimulatedHandle {
    fn next_event(&mut self) -> BoxFuture<'_, RuntimeEvent> {
        Box::pin(async move {
            let event = tokio::select! {
                biased;
                Ok(()) = self.changes.changed() => RuntimeEvent::StateChanged,
                () = self.pod.exited() => RuntimeEvent::Exited,
            };
            self.faults.wait_while_paused().await;
            event
        })
    }

    fn stop(&mut self, grace_seconds: u64) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            call_node(&self.faults, false, || {
                self.pod.stop(grace_seconds);
                Ok(())
            })
        })
    }
}
