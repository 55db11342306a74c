//! The children of this process: the supervisors that it has started, and orphans.
//!
//! A container can kill its supervisor. Its main process ends with the supervisor, but processes that have left
//! it do not, and without a cgroup a new supervisor does not find them. They therefore become children of this
//! process, the nearest subreaper, which kills them.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, waitpid};
use tokio::process::{Child, Command};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::process_tree;

/// How long orphans are killed until none is left.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval at which they are killed.
const KILL_INTERVAL: Duration = Duration::from_millis(5);

/// The children of this process.
#[derive(Debug)]
pub(super) struct ChildProcesses {
    /// Whether orphaned descendants become children of this process.
    is_subreaper: bool,
    /// The children that this process had before it was a subreaper.
    inherited: HashSet<Pid>,
    supervisors: Mutex<HashSet<Pid>>,
}

impl ChildProcesses {
    /// With `adopt_orphans`, only this object may start children of this process.
    pub(super) fn new(adopt_orphans: bool) -> io::Result<ChildProcesses> {
        let mut inherited = HashSet::new();
        if adopt_orphans {
            inherited.extend(process_tree::children(rustix::process::getpid()));
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        }
        Ok(ChildProcesses { is_subreaper: adopt_orphans, inherited, supervisors: Mutex::default() })
    }

    /// Starts a supervisor.
    pub(super) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        // The lock is held so that the new child is not taken for an orphan.
        let mut supervisors = self.supervisors.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        supervisors.extend(pid);
        Ok(child)
    }

    /// Kills the orphans that a supervisor has left, until none is found.
    pub(super) async fn kill_orphans(self: &Arc<ChildProcesses>) {
        if !self.is_subreaper {
            return;
        }
        let children = self.clone();
        kill_until_none(move || children.kill_present_orphans()).await;
    }

    /// Kills the orphans that are there now. Returns whether there were any.
    fn kill_present_orphans(&self) -> bool {
        let mut supervisors = self.supervisors.lock().unwrap_or_else(PoisonError::into_inner);
        supervisors.retain(|pid| process_tree::is_child(*pid));
        let mut orphans = process_tree::children(rustix::process::getpid());
        orphans.retain(|pid| !supervisors.contains(pid) && !self.inherited.contains(pid));
        for orphan in &orphans {
            process_tree::kill(&process_tree::descendants_of(*orphan));
            process_tree::kill(&[*orphan]);
            // Only its parent can remove it from the table of processes.
            let _ = waitpid(Some(*orphan), WaitOptions::NOHANG);
        }
        !orphans.is_empty()
    }
}

/// Kills the descendants of a supervisor that does not do it itself, until none is found.
pub(super) async fn kill_descendants(supervisor: Pid) {
    kill_until_none(move || {
        let left = process_tree::descendants_of(supervisor);
        process_tree::kill(&left);
        !left.is_empty()
    })
    .await;
}

/// Repeats a call that kills processes until it has found none. Those that fork meanwhile leave others.
async fn kill_until_none(kill_present: impl Fn() -> bool + Send + Sync + 'static) {
    let kill_present = Arc::new(kill_present);
    let give_up_at = Instant::now() + KILL_TIMEOUT;
    loop {
        let kill_present = kill_present.clone();
        if !spawn_blocking(move || kill_present()).await.unwrap_or(false) {
            return;
        }
        if Instant::now() > give_up_at {
            return tracing::warn!("processes that a Pod has left behind could not be killed");
        }
        sleep(KILL_INTERVAL).await;
    }
}
