//! Tests of the runner with a runtime that starts no processes.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use jiff::Timestamp;
use punctual_api::Pod;
use punctual_runner::{
    ContainerRecord, PodHandle, PodPhase, PodRuntime, PodState, PrepareError, References, RunState,
    Runner, RunnerOptions, RuntimeEvent, Termination,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::test_node::{NODE, TestNode, script};

/// Pods that run until a test ends them.
#[derive(Default)]
struct InMemoryRuntime {
    pods: Mutex<HashMap<String, InMemoryPod>>,
}

struct InMemoryPod {
    containers: Vec<String>,
    state: watch::Sender<Option<PodState>>,
}

impl InMemoryRuntime {
    fn with_pod<T>(&self, uid: &str, read: impl FnOnce(&InMemoryPod) -> T) -> io::Result<T> {
        let pods = self.pods.lock().unwrap();
        Ok(read(pods.get(uid).ok_or(io::ErrorKind::NotFound)?))
    }

    fn set_state(&self, uid: &str, phase: PodPhase, current: &RunState) {
        let set_state = |pod: &InMemoryPod| {
            let record = |name: &String| ContainerRecord {
                name: name.clone(),
                is_init: false,
                current: current.clone(),
                last_termination: None,
                restarts: 0,
            };
            pod.state.send_replace(Some(PodState {
                supervisor_pid: 0,
                started_at: Timestamp::UNIX_EPOCH,
                phase,
                stop_reason: None,
                containers: pod.containers.iter().map(record).collect(),
                warnings: Vec::new(),
            }));
        };
        self.with_pod(uid, set_state).unwrap();
    }

    /// Ends the containers of a Pod with an exit code.
    fn end(&self, uid: &str, exit_code: i32) {
        let phase = if exit_code == 0 { PodPhase::Succeeded } else { PodPhase::Failed };
        let termination = Termination {
            exit_code,
            signal: 0,
            reason: "Completed".to_owned(),
            message: String::new(),
            started_at: Some(Timestamp::UNIX_EPOCH),
            finished_at: Timestamp::UNIX_EPOCH,
        };
        self.set_state(uid, phase, &RunState::Terminated(termination));
    }
}

impl PodRuntime for InMemoryRuntime {
    fn pod_uids(&self) -> BoxFuture<'_, io::Result<Vec<String>>> {
        Box::pin(async { Ok(self.pods.lock().unwrap().keys().cloned().collect()) })
    }

    fn is_valid_uid(&self, _uid: &str) -> bool {
        true
    }

    fn is_prepared<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<bool>> {
        Box::pin(async move { Ok(self.pods.lock().unwrap().contains_key(uid)) })
    }

    fn state<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<Option<PodState>>> {
        Box::pin(async move { self.with_pod(uid, |pod| pod.state.borrow().clone()) })
    }

    fn grace_seconds<'a>(&'a self, _uid: &'a str) -> BoxFuture<'a, Option<u64>> {
        Box::pin(async { None })
    }

    fn prepare(
        &self,
        pod: Arc<Pod>,
        _references: References,
    ) -> BoxFuture<'_, Result<(), PrepareError>> {
        let containers = pod.spec.containers.iter().map(|container| container.name.clone());
        let state = watch::Sender::new(None);
        let prepared = InMemoryPod { containers: containers.collect(), state };
        self.pods.lock().unwrap().insert(pod.metadata.uid.clone(), prepared);
        Box::pin(async { Ok(()) })
    }

    fn attach<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<Option<Box<dyn PodHandle>>>> {
        let attached = self.with_pod(uid, |pod| {
            let has_started = pod.state.borrow().is_some();
            has_started.then(|| Box::new(InMemoryHandle(pod.state.clone())) as Box<dyn PodHandle>)
        });
        Box::pin(async { attached })
    }

    fn start<'a>(
        &'a self,
        uid: &'a str,
        _stop_within: Option<u64>,
    ) -> BoxFuture<'a, io::Result<Box<dyn PodHandle>>> {
        let running = RunState::Running { pid: 1, started_at: Timestamp::UNIX_EPOCH };
        self.set_state(uid, PodPhase::Running, &running);
        let handle = |pod: &InMemoryPod| Box::new(InMemoryHandle(pod.state.clone()));
        Box::pin(async move { Ok(self.with_pod(uid, handle)? as Box<dyn PodHandle>) })
    }

    fn remove<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<()>> {
        self.pods.lock().unwrap().remove(uid);
        Box::pin(async { Ok(()) })
    }
}

struct InMemoryHandle(watch::Sender<Option<PodState>>);

impl PodHandle for InMemoryHandle {
    fn next_event(&mut self) -> BoxFuture<'_, RuntimeEvent> {
        let mut state = self.0.subscribe();
        Box::pin(async move {
            let is_final =
                |state: &Option<PodState>| state.as_ref().is_some_and(|s| s.phase.is_final());
            let _ = state.wait_for(is_final).await;
            RuntimeEvent::Exited
        })
    }

    fn stop(&mut self, _grace_seconds: u64) -> BoxFuture<'_, io::Result<()>> {
        self.0.send_modify(|state| {
            if let Some(state) = state {
                state.phase = PodPhase::Failed;
            }
        });
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runner_reports_pods_of_any_runtime() {
    let node = TestNode::without_runner(|_| {}).await;
    let runtime = Arc::new(InMemoryRuntime::default());
    let runner =
        Runner::new(RunnerOptions::new(node.client.clone(), NODE), runtime.clone()).await.unwrap();
    let stop = CancellationToken::new();
    let running = tokio::spawn(runner.run(stop.clone()));
    let ended = node.create_pod("ended", script("")).await;
    node.wait_until_running("ended").await;
    assert!(node.event("ended", "Started").await.contains("started: c"));
    runtime.end(&ended, 0);
    assert_eq!(node.wait_for_end("ended").await["status"]["phase"], "Succeeded");
    node.create_pod("deleted", script("")).await;
    node.wait_until_running("deleted").await;
    node.delete("deleted", &kube::api::DeleteParams::default()).await;
    node.wait_until_deleted("deleted").await;
    stop.cancel();
    running.await.unwrap();
}
