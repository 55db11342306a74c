//! The faults that a process itself suffers, from one start to its end: kills and pauses.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use punctual_testing::scenario::{CrashPoint, Fault, ProcessId};
use tokio_util::sync::CancellationToken;

use crate::environment::SimulationEnv;
use crate::simulated_clock::paused_until;

/// The kills and pauses of one process, from its start to its end.
pub(crate) struct ProcessFaults {
    env: Arc<SimulationEnv>,
    process: ProcessId,
    /// Cancelled when the process is killed.
    killed: CancellationToken,
    /// The number of calls in each fault window of the scenario.
    calls: Vec<AtomicU32>,
}

impl ProcessFaults {
    pub(crate) fn new(
        env: Arc<SimulationEnv>,
        process: ProcessId,
        killed: CancellationToken,
    ) -> Arc<ProcessFaults> {
        let calls = env.scenario.faults.iter().map(|_| AtomicU32::new(0)).collect();
        Arc::new(ProcessFaults { env, process, killed, calls })
    }

    /// The process that has these faults.
    pub(crate) fn process(&self) -> ProcessId {
        self.process
    }

    /// Counts a call to the server or to the node, and returns where in it the process is killed.
    pub(crate) fn crash_point(&self, is_create: bool) -> Option<CrashPoint> {
        let now = self.env.now();
        let windows = self.env.scenario.faults.iter().zip(&self.calls);
        let mut found = None;
        for (window, calls) in windows.filter(|(window, _)| window.contains(now)) {
            if let Fault::Kill(process, count, crash_point) = window.fault
                && process == self.process
                && crash_point.counts(is_create)
                && calls.fetch_add(1, Ordering::Relaxed) == count
            {
                found = Some(crash_point);
            }
        }
        found
    }

    /// Whether the process was killed. Its tasks may still be polled until they are dropped.
    pub(crate) fn is_killed(&self) -> bool {
        self.killed.is_cancelled()
    }

    pub(crate) fn kill(&self) {
        self.killed.cancel();
    }

    /// Kills the process. The caller never continues.
    pub(crate) async fn kill_and_wait(&self) {
        self.kill();
        std::future::pending().await
    }

    pub(crate) async fn wait_while_paused(&self) {
        while let Some(until) = paused_until(&self.env, self.process, self.env.now()) {
            self.env.sleep_until(until).await;
        }
    }
}
