//! The machine that the Pods run on. Its Pods and their data survive the end of the process with the
//! runner.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punctual_api::Pod;
use punctual_testing::scenario::ProcessId;

use crate::environment::SimulationEnv;
use crate::simulated_clock::SimulatedClock;
use crate::virtual_pod::VirtualPod;

/// The name of the node.
pub(crate) const NAME: &str = "node";

/// The node.
pub(crate) struct SimulatedNode {
    env: Arc<SimulationEnv>,
    clock: Arc<SimulatedClock>,
    /// The prepared Pods by UID.
    pods: Mutex<BTreeMap<String, Arc<VirtualPod>>>,
}

impl SimulatedNode {
    pub(crate) fn new(env: Arc<SimulationEnv>) -> Arc<SimulatedNode> {
        let clock = Arc::new(SimulatedClock::for_machine(env.clone(), ProcessId::JobsAndPods));
        Arc::new(SimulatedNode { env, clock, pods: Mutex::default() })
    }

    fn pods(&self) -> MutexGuard<'_, BTreeMap<String, Arc<VirtualPod>>> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The UIDs of all prepared Pods.
    pub(crate) fn uids(&self) -> Vec<String> {
        self.pods().keys().cloned().collect()
    }

    pub(crate) fn find(&self, uid: &str) -> Option<Arc<VirtualPod>> {
        self.pods().get(uid).cloned()
    }

    /// A prepared Pod. The error has the kind `NotFound` if there is none.
    pub(crate) fn get(&self, uid: &str) -> io::Result<Arc<VirtualPod>> {
        self.find(uid).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(crate) fn prepare(&self, pod: &Pod) {
        let prepared = VirtualPod::new(self.env.clone(), self.clock.clone(), pod);
        self.pods().insert(pod.metadata.uid.clone(), Arc::new(prepared));
    }

    /// Removes the data of a Pod. Its processes are not affected.
    pub(crate) fn remove(&self, uid: &str) {
        self.pods().remove(uid);
    }
}
