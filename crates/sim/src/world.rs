//! A world: everything there is, from its first instant to the end.

use std::sync::Arc;

use tokio::runtime::Builder;
use tokio::sync::mpsc;

use crate::disk::Disk;
use crate::history::{Happened, History, LAST_WHILE};
use crate::node::Node;
use crate::process;
use crate::scenario::{Fault, Millis, Process, Scenario, Trouble};
use crate::site::Site;
use crate::stage::Stage;
use crate::users::Users;

/// How often a server that is told to forget does so.
const COMPACT_EVERY: Millis = 2000;

/// Lives through a scenario; what happened, and when it ended.
pub fn live(scenario: &Scenario) -> std::io::Result<(History, Millis)> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    let end = scenario.end();
    let history = runtime.block_on(run(Arc::new(scenario.clone()), end));
    Ok((history, end))
}

async fn run(scenario: Arc<Scenario>, end: Millis) -> History {
    let stage = Stage::new(scenario.clone());
    let (pods, changes) = mpsc::unbounded_channel();
    let site = Site::new(stage.clone(), Disk::new(stage.clone(), pods));
    tokio::spawn(site.clone().run());
    tokio::spawn(Node::new(stage.clone(), site.clone()).run(changes));
    let users = Arc::new(Users { stage: stage.clone(), site: site.clone() });
    tokio::spawn(users.clone().run());
    let controllers = (0..scenario.controllers).map(Process::Controller);
    for process in controllers.chain([Process::Jobs]) {
        tokio::spawn(process::keep(stage.clone(), site.clone(), process));
    }
    for trouble in &scenario.troubles {
        tokio::spawn(tell(stage.clone(), trouble.clone()));
        if trouble.what == Fault::Compact {
            tokio::spawn(compact(stage.clone(), site.clone(), trouble.clone()));
        }
    }
    stage.until(scenario.suspended_at()).await;
    for which in scenario.cron_jobs() {
        users.suspend(which, true).await;
    }
    stage.until(end - LAST_WHILE).await;
    let looks = stage.looks();
    stage.until(end).await;
    stage.record(Happened::Looked(stage.looks() - looks));
    stage.take_history()
}

/// For the reader of the timeline.
async fn tell(stage: Arc<Stage>, Trouble { from, to, what }: Trouble) {
    stage.until(from).await;
    stage.record(Happened::Remark(format!("trouble: {what:?}")));
    stage.until(to).await;
    stage.record(Happened::Remark(format!("over: {what:?}")));
}

async fn compact(stage: Arc<Stage>, site: Arc<Site>, trouble: Trouble) {
    stage.until(trouble.from).await;
    while stage.now() < trouble.to {
        site.compact().await;
        stage.until(stage.now() + COMPACT_EVERY).await;
    }
}
