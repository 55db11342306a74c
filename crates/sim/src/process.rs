//! Processes: they are started, killed, asked to stop, and started anew.

use std::sync::Arc;
use std::time::Duration;

use punctual_api::CronJobKind;
use punctual_controller::{
    BurstGate, ClusterOptions, Context, CronJobOptions, Election, Fence, Metrics, run_cron_jobs,
    run_elected, run_garbage_collector, run_jobs,
};
use punctual_lease::Config;
use punctual_schedule::Zones;
use tokio_util::sync::CancellationToken;

use crate::clock::ProcessClock;
use crate::history::Happened;
use crate::scenario::{Fault, Millis, Process, Who};
use crate::site::Site;
use crate::stage::Stage;
use crate::wire::Wire;

const WORKERS: usize = 4;
/// A process that ended by itself is started anew so much later.
const RESTART_AFTER: Millis = 1000;

/// Runs a process for ever, life after life.
pub(crate) async fn keep(stage: Arc<Stage>, site: Arc<Site>, process: Process) {
    loop {
        stage.until(back_at(&stage, process)).await;
        stage.record(Happened::Remark(format!("{process:?} starts")));
        let (death, stop) = (CancellationToken::new(), CancellationToken::new());
        let wire = Wire::new(stage.clone(), site.clone(), process, death.clone());
        let life = live(&stage, process, wire, stop.clone());
        let stopping = async {
            stage.until(next_stop(&stage, process)).await;
            stop.cancel();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = death.cancelled() => {}
            () = life => {}
            () = stopping => {}
        }
        stage.record(Happened::Remark(format!("{process:?} is gone")));
        if back_at(&stage, process) <= stage.now() && !death.is_cancelled() {
            stage.until(stage.now() + RESTART_AFTER).await;
        }
    }
}

/// When the trouble is over that keeps the process from running.
fn back_at(stage: &Stage, process: Process) -> Millis {
    let now = stage.now();
    let is_end = |what: &Fault| match what {
        Fault::Kill(whom, ..) | Fault::Stop(whom) => *whom == process && now > 0,
        _ => false,
    };
    let ends = stage.troubles_at(now).filter(|trouble| is_end(&trouble.what));
    ends.map(|trouble| trouble.to).max().unwrap_or(now)
}

/// When the process is asked to stop next.
fn next_stop(stage: &Stage, process: Process) -> Millis {
    let now = stage.now();
    let stops = stage.scenario.troubles.iter();
    let stops = stops.filter(|trouble| trouble.what == Fault::Stop(process));
    stops.map(|trouble| trouble.from).filter(|from| *from >= now).min().unwrap_or(Millis::MAX / 2)
}

/// One life of a process.
async fn live(stage: &Arc<Stage>, process: Process, wire: Arc<Wire>, stop: CancellationToken) {
    let clock = ProcessClock::new(stage.clone(), Who::Process(process));
    let context = Context {
        client: wire.client(),
        clock: clock.clone(),
        metrics: Metrics::default(),
        burst_gate: BurstGate::default(),
        fence: Fence::always_open(),
    };
    match process {
        Process::Jobs => {
            let jobs = run_jobs(context.clone(), WORKERS, stop.clone());
            tokio::join!(jobs, run_garbage_collector(context, stop));
        }
        // One that is alone needs no election, as in `punctual up`.
        Process::Controller(_) if stage.scenario.controllers == 1 => {
            run_cron_jobs(context, options(), stop).await;
        }
        Process::Controller(_) => {
            let context = Context { fence: Fence::closed(clock), ..context };
            let reign = Reign { stage, process, fence: context.fence.clone() };
            let work = run_elected(context, election(stage, process), lead, stop);
            tokio::select! {
                biased;
                // The durations are right, so there is nothing to be told.
                _ = work => {}
                () = reign.record() => {}
            }
        }
    }
}

/// Who stands for election in this life of a process.
fn election(stage: &Arc<Stage>, process: Process) -> Election {
    let dice = stage.clone();
    Election {
        namespace: "default".to_owned(),
        name: "punctual".to_owned(),
        identity: format!("{process:?} since {}", stage.now()),
        config: durations(stage),
        random: Arc::new(move || (dice.dice.roll() >> 32) as u32),
    }
}

/// Mostly slower than usual, which is as good and takes less time.
fn durations(stage: &Stage) -> Config {
    match stage.scenario.seed.is_multiple_of(4) {
        true => Config::default(),
        false => Config { retry_period: Duration::from_secs(5), ..Config::default() },
    }
}

/// Whether a process leads, for the record.
struct Reign<'a> {
    stage: &'a Stage,
    process: Process,
    fence: Fence,
}

impl Reign<'_> {
    async fn record(self) {
        loop {
            self.fence.wait_open().await;
            let _end = Leading { stage: self.stage, process: self.process };
            self.stage.record(Happened::Leads(self.process, true));
            self.fence.wait_closed().await;
        }
    }
}

/// Somebody leads while this is there; also who is killed leads no more.
struct Leading<'a> {
    stage: &'a Stage,
    process: Process,
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        self.stage.record(Happened::Leads(self.process, false));
    }
}

/// The work of a term.
async fn lead(context: Context, stop: CancellationToken) {
    run_cron_jobs(context, options(), stop).await;
}

fn options() -> CronJobOptions {
    CronJobOptions {
        kinds: vec![CronJobKind::BatchV1, CronJobKind::ScheduledJob],
        default_zone: Zones::bundled().utc(),
        workers: WORKERS,
        cluster: ClusterOptions::default(),
    }
}
