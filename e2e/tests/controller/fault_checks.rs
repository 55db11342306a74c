//! Checks of the controller under faults: it is killed, the server is killed, or another controller
//! takes over.

use anyhow::{Context as _, ensure};
use punctual_e2e::{
    Controllers,
    controller::OWN_NAMESPACE,
    json::{number, text},
    probe::{self, sleep_seconds},
};
use serde_json::json;

use super::test_namespace::{ScheduledKind, TestNamespace};
use super::{ControllerEnv, FIRST};

type FaultCheck = fn(&mut ControllerEnv<'_>) -> anyhow::Result<()>;

/// The checks in order: each continues with the controller of the one before.
pub(super) const CHECKS: [(&str, FaultCheck); 7] = [
    ("the controller works after kube-apiserver was killed", server_killed),
    ("a restarted controller continues and reports missed slots", controller_killed),
    ("a second controller takes over when the first stops", leader_stopped),
    ("a namespace is deleted with its running Jobs", namespace_deleted),
    ("a controller of some namespaces ignores the others", some_namespaces),
    ("no controller runs next to the cluster's own", competing_controller),
    ("no controller lacks a permission", permissions),
];

const ALL_KINDS: [&str; 2] = ["--kinds", "cronjobs,scheduledjobs"];

/// Checks that the log has no denied request. The server's error names the account.
fn check_permissions(log: &str) -> anyhow::Result<()> {
    ensure!(log.contains("INFO"), "the log is empty");
    let denied = log.lines().find(|line| line.contains("system:serviceaccount:"));
    ensure!(denied.is_none(), "{denied:?}");
    Ok(())
}

/// Checks all logs but the first: a server that has just started denies requests until it has loaded
/// the roles.
fn permissions(env: &mut ControllerEnv<'_>) -> anyhow::Result<()> {
    let logs = env.launcher.logs()?;
    ensure!(logs.len() > 3, "only {} logs", logs.len());
    for (name, log) in logs.iter().filter(|(name, _)| name != FIRST) {
        check_permissions(log).context(name.clone())?;
    }
    Ok(())
}

fn wait_for_heartbeats(env: &mut ControllerEnv<'_>) -> anyhow::Result<()> {
    for heartbeat in &mut env.heartbeats {
        heartbeat.wait_for_next_run("heartbeat")?;
    }
    Ok(())
}

fn server_killed(env: &mut ControllerEnv<'_>) -> anyhow::Result<()> {
    wait_for_heartbeats(env)?;
    check_permissions(&env.controller.log()?)?;
    env.cluster.kill("kube-apiserver")?;
    sleep_seconds(4);
    env.cluster.restart("kube-apiserver")?;
    wait_for_heartbeats(env)?;
    wait_for_heartbeats(env)
}

/// In ten seconds without a controller, a schedule of four seconds misses two deadlines of two.
fn controller_killed(env: &mut ControllerEnv<'_>) -> anyhow::Result<()> {
    for heartbeat in &mut env.heartbeats {
        let spec = json!({ "schedule": "@every 4s", "startingDeadlineSeconds": 2 });
        heartbeat.create("strict", &["true"], &spec)?;
        heartbeat.wait_for("a run", |namespace| Ok(!namespace.jobs("strict")?.is_empty()))?;
    }
    env.controller.kill()?;
    sleep_seconds(10);
    env.controller = env.launcher.start("after-kill", &ALL_KINDS)?;
    env.controller.wait_until_ready()?;
    for heartbeat in &mut env.heartbeats {
        heartbeat.wait_for("there is an event about the missed slot", |namespace| {
            Ok(!namespace.events("strict", "MissSchedule")?.is_empty())
        })?;
        heartbeat.wait_for("the missed slot is recorded", |namespace| {
            let strict = namespace.get("strict")?;
            let annotation = strict.pointer("/metadata/annotations/punctual.dev~1missed");
            Ok(match namespace.kind {
                ScheduledKind::CronJob => annotation.is_some(),
                ScheduledKind::ScheduledJob => number(&strict, "/status/missedRuns") > 0,
            })
        })?;
        heartbeat.wait_for_next_run("strict")?;
        heartbeat.delete("strict")?;
    }
    wait_for_heartbeats(env)
}

fn leader_stopped(env: &mut ControllerEnv<'_>) -> anyhow::Result<()> {
    let mut second = env.launcher.start("second", &ALL_KINDS)?;
    second.wait_until_ready()?;
    ensure!(env.controller.is_leader()? && !second.is_leader()?, "the second is also a leader");
    ensure!(second.get("/healthz")?.0 == 200, "the second is not alive");
    let first = std::mem::replace(&mut env.controller, second);
    first.stop()?;
    probe::wait_for("the second is the leader", || env.controller.is_leader())?;
    env.controller.wait_until_ready()?;
    wait_for_heartbeats(env)
}

fn namespace_deleted(env: &mut ControllerEnv<'_>) -> anyhow::Result<()> {
    for kind in ScheduledKind::BOTH {
        let mut namespace = TestNamespace::new(&env.cluster, kind, "deleted")?;
        namespace.create("busy", &["sleep", "600"], &json!({ "schedule": "@every 1s" }))?;
        namespace
            .wait_for("a Job is created", |namespace| Ok(!namespace.jobs("busy")?.is_empty()))?;
        let path = format!("/api/v1/namespaces/{}", namespace.name);
        namespace.client.delete(&path)?;
        namespace.wait_for("the namespace is deleted", |namespace| {
            Ok(!namespace.client.exists(&path)?)
        })?;
    }
    wait_for_heartbeats(env)
}

fn some_namespaces(env: &mut ControllerEnv<'_>) -> anyhow::Result<()> {
    let mut inside = TestNamespace::new(&env.cluster, ScheduledKind::CronJob, "inside")?;
    let mut outside = TestNamespace::new(&env.cluster, ScheduledKind::CronJob, "outside")?;
    let flags = ["--kinds", "cronjobs", "-n", &inside.name, "-n", OWN_NAMESPACE];
    let some = env.launcher.start("some", &flags)?;
    let all = std::mem::replace(&mut env.controller, some);
    all.stop()?;
    env.controller.wait_until_ready()?;
    for namespace in [&mut inside, &mut outside] {
        namespace.create("here", &["true"], &json!({ "schedule": "@every 2s" }))?;
    }
    inside.wait_for("two Jobs inside", |namespace| Ok(namespace.jobs("here")?.len() >= 2))?;
    ensure!(outside.jobs("here")?.is_empty(), "a Job outside");
    let outside = outside.get("here")?;
    ensure!(text(&outside, "/metadata/annotations/punctual.dev~1schedule-since").is_empty());
    Ok(())
}

/// Our controller stops when the cluster's own controller starts, and does not start while it runs.
fn competing_controller(env: &mut ControllerEnv<'_>) -> anyhow::Result<()> {
    env.server.add(&mut env.cluster, Controllers::CronJobs)?;
    let log = env.controller.wait_until_exited()?;
    let remedy = "--controllers=*,-cronjob-controller";
    ensure!(log.contains("is running") && log.contains(remedy), "{log}");
    let mut refused = env.launcher.start("refused", &["--kinds", "cronjobs"])?;
    let log = refused.wait_until_exited()?;
    ensure!(log.contains("punctual-probe") && log.contains(remedy), "{log}");
    // The controller that stopped deleted its probe too.
    let path = format!("/apis/batch/v1/namespaces/{OWN_NAMESPACE}/cronjobs/punctual-probe");
    ensure!(!env.client.exists(&path)?, "the probe was not deleted");
    env.controller = env.launcher.start("scheduled-jobs", &["--kinds", "scheduledjobs"])?;
    env.controller.wait_until_ready()?;
    for heartbeat in &mut env.heartbeats {
        if heartbeat.kind == ScheduledKind::ScheduledJob {
            heartbeat.wait_for_next_run("heartbeat")?;
        }
    }
    Ok(())
}
