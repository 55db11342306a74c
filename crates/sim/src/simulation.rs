//! Simulates one scenario from its start to its end.

use std::sync::Arc;

use punctual_testing::history::{History, HistoryEvent, IDLE_CHECK_PERIOD};
use punctual_testing::scenario::{Fault, FaultWindow, Millis, ProcessId, Scenario};
use tokio::runtime::Builder;

use crate::environment::SimulationEnv;
use crate::process::SimulatedProcess;
use crate::simulated_disk::SimulatedDisk;
use crate::simulated_node::SimulatedNode;
use crate::simulated_server::SimulatedServer;
use crate::simulated_users::SimulatedUsers;

/// The interval of compactions during [`Fault::Compact`].
const COMPACT_EVERY: Millis = 2000;

/// Simulates a scenario on a runtime of its own, whose clock advances only while all tasks wait.
pub fn simulate(scenario: &Scenario) -> std::io::Result<History> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    Ok(runtime.block_on(run(Arc::new(scenario.clone()))))
}

async fn run(scenario: Arc<Scenario>) -> History {
    let end = scenario.end();
    let env = SimulationEnv::new(scenario.clone());
    let server = SimulatedServer::new(env.clone(), SimulatedDisk::new(env.clone()));
    let node = SimulatedNode::new(env.clone());
    tokio::spawn(server.clone().run());
    let users = Arc::new(SimulatedUsers { env: env.clone(), server: server.clone() });
    tokio::spawn(users.clone().run());
    let controllers = (0..scenario.controllers).map(ProcessId::Controller);
    for process in controllers.chain([ProcessId::JobsAndPods]) {
        let process = SimulatedProcess {
            env: env.clone(),
            server: server.clone(),
            node: node.clone(),
            process,
        };
        tokio::spawn(process.run_with_restarts());
    }
    for window in &scenario.faults {
        tokio::spawn(record_fault(env.clone(), window.clone()));
        if window.fault == Fault::Compact {
            tokio::spawn(compact(env.clone(), server.clone(), window.clone()));
        }
    }
    env.sleep_until(scenario.all_suspended_at()).await;
    for number in scenario.cron_jobs() {
        users.suspend(number, true).await;
    }
    env.sleep_until(end - IDLE_CHECK_PERIOD).await;
    let reads_before = env.clock_reads();
    env.sleep_until(end).await;
    env.record(HistoryEvent::ClockReads(env.clock_reads() - reads_before));
    for record in users.list_slot_records().await {
        env.record(HistoryEvent::SlotRecord(record.to_string().into()));
    }
    env.take_history()
}

/// Records the start and the end of a fault for readers of the timeline.
async fn record_fault(env: Arc<SimulationEnv>, window: FaultWindow) {
    env.sleep_until(window.from).await;
    env.record(HistoryEvent::Remark(format!("fault: {:?}", window.fault)));
    env.sleep_until(window.to).await;
    env.record(HistoryEvent::Remark(format!("end of fault: {:?}", window.fault)));
}

async fn compact(env: Arc<SimulationEnv>, server: Arc<SimulatedServer>, window: FaultWindow) {
    env.sleep_until(window.from).await;
    while env.now() < window.to {
        server.compact().await;
        env.sleep_until(env.now() + COMPACT_EVERY).await;
    }
}
