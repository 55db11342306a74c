//! Moves CronJobs between kube-controller-manager and `punctual controller` on a cluster of
//! Kubernetes' own programs, and back.
//!
//! kube-controller-manager has slots on whole minutes only, so each controller gets one slot in real
//! time. Two scenarios run at the same time.

use std::path::Path;

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_e2e::{
    ChildProcess, Client, Cluster, Controllers, FakeNode, KubeApiServer, Programs, Punctual,
    controller::{ControllerLauncher, ControllerProcess},
    json::text,
    load::clock,
    probe,
};
use serde_json::Value;

use super::{
    job_observer::JobObserver,
    moved_cron_jobs::{self, STRICT_DEADLINE_SECONDS},
};

/// The controllers that run besides that of CronJobs.
const OTHER_CONTROLLERS: Controllers = Controllers::Jobs;
/// Annotations of Punctual on a CronJob and on a Job.
const SCHEDULE_SINCE: &str = "/metadata/annotations/punctual.dev~1schedule-since";
const CRON_JOB_NAME: &str = "/metadata/annotations/punctual.dev~1cronjob-name";

pub(super) const SCENARIOS: [MoveScenario; 2] = [
    MoveScenario {
        name: "from kube-controller-manager to punctual and back, between slots",
        controllers: [ControllerKind::BuiltIn, ControllerKind::Punctual, ControllerKind::BuiltIn],
        handover: Handover::BetweenSlots,
    },
    MoveScenario {
        name: "from punctual to kube-controller-manager and back, each after a slot without either",
        controllers: [ControllerKind::Punctual, ControllerKind::BuiltIn, ControllerKind::Punctual],
        handover: Handover::AcrossSlot,
    },
];

/// Which controllers manage the CronJobs one after the other.
pub(super) struct MoveScenario {
    pub(super) name: &'static str,
    controllers: [ControllerKind; 3],
    handover: Handover,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ControllerKind {
    /// kube-controller-manager.
    BuiltIn,
    Punctual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handover {
    /// The next controller starts well before the next slot.
    BetweenSlots,
    /// The next controller starts some seconds after a slot, which it has to start late.
    AcrossSlot,
}

/// A running CronJob controller. Dropping it kills it.
enum RunningController {
    BuiltIn(ChildProcess),
    Punctual(ControllerProcess),
}

/// A cluster whose CronJob controller is replaced, and what was observed so far.
struct MovingCluster<'a> {
    server: KubeApiServer<'a>,
    cluster: Cluster,
    _node: FakeNode,
    client: Client,
    launcher: ControllerLauncher,
    observer: JobObserver,
    /// Slots at which no controller ran.
    unattended: Vec<Timestamp>,
}

/// Returns an error that names the first missing program.
pub(super) fn check_programs(programs: &Programs) -> anyhow::Result<()> {
    let folder = Path::new("");
    KubeApiServer { programs, folder, controllers: OTHER_CONTROLLERS }.check()
}

impl MoveScenario {
    /// Runs the scenario: at least two and at most three and a half minutes.
    pub(super) fn run(&self, programs: &Programs, punctual: &Punctual) -> anyhow::Result<()> {
        let home = tempfile::tempdir()?;
        let mut moving = MovingCluster::start(programs, home.path(), punctual)?;
        let mut slot = moved_cron_jobs::first_slot(&moving.observer)?;
        for (number, kind) in self.controllers.into_iter().enumerate() {
            if number > 0 {
                slot = slot.checked_add(SignedDuration::from_mins(1))?;
                if self.handover == Handover::AcrossSlot {
                    moving.miss_slot(slot, kind)?;
                }
            }
            let name = format!("controller-{number}");
            moving.run_slot(kind, &name, slot).with_context(|| format!("{kind:?} for {slot}"))?;
        }
        moving.observer.refresh()?;
        let since = text(moving.observer.cron_job("steady"), SCHEDULE_SINCE);
        ensure!(!since.is_empty(), "the annotation of punctual was removed");
        moved_cron_jobs::check_all(&moving.observer, slot, &moving.unattended)
    }
}

impl<'a> MovingCluster<'a> {
    /// Starts a cluster with the CronJobs and without a CronJob controller.
    fn start(
        programs: &'a Programs,
        folder: &'a Path,
        punctual: &Punctual,
    ) -> anyhow::Result<MovingCluster<'a>> {
        let server = KubeApiServer { programs, folder, controllers: OTHER_CONTROLLERS };
        let cluster = server.start()?;
        let node = FakeNode::start(&cluster)?;
        let mut client = Client::new(&cluster)?;
        let launcher = ControllerLauncher::with_new_account(&cluster, punctual, folder)?;
        let mut observer = JobObserver::start(&cluster, "default")?;
        moved_cron_jobs::create(&mut client)?;
        observer.wait_for("all CronJobs are observed", |observer| {
            moved_cron_jobs::first_slot(observer).is_ok()
        })?;
        let unattended = Vec::new();
        Ok(MovingCluster { server, cluster, _node: node, client, launcher, observer, unattended })
    }

    /// Waits until a slot and the deadline of `strict` have passed, while no controller runs.
    fn miss_slot(&mut self, slot: Timestamp, next: ControllerKind) -> anyhow::Result<()> {
        let delay = SignedDuration::from_secs(STRICT_DEADLINE_SECONDS + 2);
        wait_until(slot.checked_add(delay)?)?;
        self.unattended.push(slot);
        // kube-controller-manager would start the slot that precedes the edit.
        if next == ControllerKind::Punctual {
            moved_cron_jobs::edit(&mut self.client, slot)?;
        }
        Ok(())
    }

    /// Runs a controller until it has done everything for a slot.
    fn run_slot(
        &mut self,
        kind: ControllerKind,
        name: &str,
        slot: Timestamp,
    ) -> anyhow::Result<()> {
        let controller = self.start_controller(kind, name)?;
        wait_until(slot)?;
        self.observer
            .wait_for("everything is done", |it| moved_cron_jobs::is_slot_done(it, slot))
            .with_context(|| controller.log())?;
        check_creator(&self.observer, kind, slot)?;
        moved_cron_jobs::check_active_job(&self.observer)?;
        controller.stop()
    }

    fn start_controller(
        &self,
        kind: ControllerKind,
        name: &str,
    ) -> anyhow::Result<RunningController> {
        Ok(match kind {
            ControllerKind::BuiltIn => {
                let controllers = Controllers::CronJobsByDefault;
                let process = self.server.start_controllers(&self.cluster, controllers)?;
                RunningController::BuiltIn(process)
            }
            ControllerKind::Punctual => {
                let flags = ["--kinds", "cronjobs"];
                let process = self.launcher.start(name, &flags)?;
                RunningController::Punctual(process)
            }
        })
    }
}

impl RunningController {
    /// Stops it: Punctual by a signal, so that it releases its Lease.
    fn stop(self) -> anyhow::Result<()> {
        match self {
            RunningController::BuiltIn(process) => {
                drop(process);
                Ok(())
            }
            RunningController::Punctual(process) => process.stop(),
        }
    }

    fn log(&self) -> String {
        match self {
            RunningController::BuiltIn(process) => process.log_tail(),
            RunningController::Punctual(process) => process.log().unwrap_or_default(),
        }
    }
}

/// Checks that the controller of this kind created the Job of a slot.
fn check_creator(
    observer: &JobObserver,
    kind: ControllerKind,
    slot: Timestamp,
) -> anyhow::Result<()> {
    let job: &Value = observer.job_of_slot("steady", slot).context("the slot has no Job")?;
    let is_ours = !text(job, CRON_JOB_NAME).is_empty();
    ensure!(is_ours == (kind == ControllerKind::Punctual), "{kind:?} did not create {job}");
    Ok(())
}

fn wait_until(instant: Timestamp) -> anyhow::Result<()> {
    let time = clock::time_until(instant);
    ensure!(time.as_secs() <= 70, "{instant} is too far away: {time:?}");
    probe::sleep_seconds(time.as_secs() + 1);
    Ok(())
}
