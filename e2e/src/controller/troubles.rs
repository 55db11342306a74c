//! What happens to a controller on a cluster: it is killed, its server is, and others want its place.

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::life::{Kind, Life, number, text};
use super::{FIRST, OWN_NAMESPACE, World, rest};
use crate::{Controllers, probe};

pub(super) type Check = fn(&mut World<'_>) -> anyhow::Result<()>;

/// What is checked, in order: what one leaves, the next has.
pub(super) const CHECKS: [(&str, Check); 7] = [
    ("all goes on after kube-apiserver was killed", server_killed),
    ("a controller that was killed goes on where it was, and tells what was missed", killed),
    ("a second controller takes over when the first is asked to stop", handed_over),
    ("a namespace goes with what runs in it", namespace_deleted),
    ("a controller of some namespaces leaves the others alone", some_namespaces),
    ("nobody works beside the cluster's own controller", rivals),
    ("nobody lacked a right", rights),
];

const ALL: [&str; 2] = ["--kinds", "cronjobs,scheduledjobs"];

/// The server names who lacks a right, and whoever was refused says so in the log.
fn has_its_rights(log: &str) -> anyhow::Result<()> {
    ensure!(log.contains("INFO"), "nothing was said");
    let lacking = log.lines().find(|line| line.contains("system:serviceaccount:"));
    ensure!(lacking.is_none(), "{lacking:?}");
    Ok(())
}

/// All but the first: a server that has just been started knows of no rights for a moment.
fn rights(world: &mut World<'_>) -> anyhow::Result<()> {
    let logs = world.starter.logs()?;
    ensure!(logs.len() > 3, "only {} logs", logs.len());
    let later = logs.iter().filter(|(name, _)| name != FIRST);
    later.into_iter().try_for_each(|(name, log)| has_its_rights(log).context(name.clone()))
}

fn beats(world: &mut World<'_>) -> anyhow::Result<()> {
    for beat in &mut world.beats {
        beat.until_next_run("beat")?;
    }
    Ok(())
}

fn server_killed(world: &mut World<'_>) -> anyhow::Result<()> {
    beats(world)?;
    has_its_rights(&world.controller.said()?)?;
    world.cluster.kill("kube-apiserver")?;
    rest(4);
    world.cluster.start_again("kube-apiserver")?;
    beats(world)?;
    beats(world)
}

/// Ten seconds without a controller are two slots of four that are past their deadline of two.
fn killed(world: &mut World<'_>) -> anyhow::Result<()> {
    for beat in &mut world.beats {
        let spec = json!({ "schedule": "@every 4s", "startingDeadlineSeconds": 2 });
        beat.create("strict", &["true"], &spec)?;
        beat.until("a run", |life| Ok(!life.jobs("strict")?.is_empty()))?;
    }
    world.controller.kill()?;
    rest(10);
    world.controller = world.starter.start("after-kill", &ALL)?;
    world.controller.until_ready()?;
    for beat in &mut world.beats {
        beat.until("the miss is told", |life| {
            Ok(!life.events("strict", "MissSchedule")?.is_empty())
        })?;
        beat.until("the miss is remembered", |life| {
            let strict = life.get("strict")?;
            let annotation = strict.pointer("/metadata/annotations/punctual.dev~1missed");
            Ok(match life.kind {
                Kind::CronJob => annotation.is_some(),
                Kind::ScheduledJob => number(&strict, "/status/missedRuns") > 0,
            })
        })?;
        beat.until_next_run("strict")?;
        beat.delete("strict")?;
    }
    beats(world)
}

fn handed_over(world: &mut World<'_>) -> anyhow::Result<()> {
    let mut second = world.starter.start("second", &ALL)?;
    second.until_ready()?;
    ensure!(world.controller.leads()? && !second.leads()?, "the second leads beside the first");
    ensure!(second.page("/healthz")?.0 == 200, "the second is not alive");
    let first = std::mem::replace(&mut world.controller, second);
    first.stop()?;
    probe::until("the second leads", || Ok(world.controller.leads()?.then_some(())))?;
    world.controller.until_ready()?;
    beats(world)
}

fn namespace_deleted(world: &mut World<'_>) -> anyhow::Result<()> {
    for kind in Kind::BOTH {
        let mut life = Life::new(&world.cluster, kind, "leaving")?;
        life.create("busy", &["sleep", "600"], &json!({ "schedule": "@every 1s" }))?;
        life.until("a run", |life| Ok(!life.jobs("busy")?.is_empty()))?;
        let path = format!("/api/v1/namespaces/{}", life.namespace);
        life.client.delete(&path)?;
        life.until("the namespace is gone", |life| Ok(!life.client.exists(&path)?))?;
    }
    beats(world)
}

fn some_namespaces(world: &mut World<'_>) -> anyhow::Result<()> {
    let [mut inside, mut outside] =
        ["inside", "outside"].map(|name| Life::new(&world.cluster, Kind::CronJob, name));
    let (inside, outside) = (inside.as_mut(), outside.as_mut());
    let (Ok(inside), Ok(outside)) = (inside, outside) else { anyhow::bail!("no namespaces") };
    let flags = ["--kinds", "cronjobs", "-n", &inside.namespace, "-n", OWN_NAMESPACE];
    let some = world.starter.start("some", &flags)?;
    let all = std::mem::replace(&mut world.controller, some);
    all.stop()?;
    world.controller.until_ready()?;
    for life in [&mut *inside, &mut *outside] {
        life.create("here", &["true"], &json!({ "schedule": "@every 2s" }))?;
    }
    inside.until("a run inside", |life| Ok(life.jobs("here")?.len() >= 2))?;
    ensure!(outside.jobs("here")?.is_empty(), "a run outside");
    let outside = outside.get("here")?;
    ensure!(text(&outside, "/metadata/annotations/punctual.dev~1schedule-since").is_empty());
    Ok(())
}

/// The one that works stops when the other shows, and none starts while it is at work.
fn rivals(world: &mut World<'_>) -> anyhow::Result<()> {
    world.server.add(&mut world.cluster, Controllers::CronJobs)?;
    let said = world.controller.until_ended()?;
    let how = "--controllers=*,-cronjob-controller";
    ensure!(said.contains("is running") && said.contains(how), "{said}");
    let mut refused = world.starter.start("refused", &["--kinds", "cronjobs"])?;
    let said = refused.until_ended()?;
    ensure!(said.contains("punctual-probe") && said.contains(how), "{said}");
    // The one that stopped did not leave it either.
    let path = format!("/apis/batch/v1/namespaces/{OWN_NAMESPACE}/cronjobs/punctual-probe");
    ensure!(!world.client.exists(&path)?, "the probe was left over");
    world.controller = world.starter.start("beside", &["--kinds", "scheduledjobs"])?;
    world.controller.until_ready()?;
    let mut beside = world.beats.iter_mut().filter(|beat| beat.kind == Kind::ScheduledJob);
    beside.try_for_each(|beat| beat.until_next_run("beat"))
}
