//! Finds and kills the processes of Pods, for which a cgroup is not needed.
//!
//! A process can escape from its process group, but not from its supervisor: orphans become children of the
//! supervisor. Which container a process belongs to is known by the mark in its environment, which every
//! process inherits unless it clears its environment.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::pod_plan::{CONTAINER_MARK, container_mark};

/// The descendants of this process that have not exited.
pub(crate) fn descendants() -> Vec<Pid> {
    descendants_of(rustix::process::getpid())
}

/// The descendants of a process that have not exited.
pub(crate) fn descendants_of(ancestor: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        for pid in children(parent) {
            parents.push(pid);
            if is_alive(pid) {
                found.push(pid);
            }
        }
    }
    found
}

/// The descendants of this process with the mark of a container.
pub(crate) fn descendants_in_container(uid: &str, container: &str) -> Vec<Pid> {
    let mark = format!("{CONTAINER_MARK}={}", container_mark(uid, container));
    let mut found = descendants();
    found.retain(|pid| has_variable(*pid, |variable| variable == mark.as_bytes()));
    found
}

/// All processes with the mark of any container of a Pod. They may be descendants of any process, because
/// their supervisor was killed, so this reads the environment of every process of the machine.
pub(crate) fn processes_of_pod(uid: &str) -> Vec<Pid> {
    let prefix = format!("{CONTAINER_MARK}={}", container_mark(uid, ""));
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_match = |pid: &Pid| {
        has_variable(*pid, |variable| variable.starts_with(prefix.as_bytes())) && is_alive(*pid)
    };
    pids.filter_map(Pid::from_raw).filter(is_match).collect()
}

/// Kills processes. Ignores those that have exited and those that we may not kill.
pub(crate) fn kill(pids: &[Pid]) {
    for pid in pids {
        let _ = kill_process(*pid, Signal::KILL);
    }
}

/// The children of all threads of a process.
pub(crate) fn children(pid: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
    let threads = threads.into_iter().flatten().flatten();
    let texts =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let mut found = Vec::new();
    for text in texts {
        let pids = text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
        found.extend(pids.filter_map(Pid::from_raw));
    }
    found
}

fn has_variable(pid: Pid, is_match: impl Fn(&[u8]) -> bool) -> bool {
    let environ = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(is_match)
}

/// Whether a process exists and has not exited.
fn is_alive(pid: Pid) -> bool {
    let state = stat_fields(pid).and_then(|fields| fields.first()?.bytes().next());
    state.is_some_and(|state| !b"ZX".contains(&state))
}

/// Whether a process is a child of this one, even if it has exited and was not waited for.
pub(crate) fn is_child(pid: Pid) -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().to_string();
    stat_fields(pid).is_some_and(|fields| fields.get(1) == Some(&own))
}

/// The fields of a process after its name: the state, the parent and others.
fn stat_fields(pid: Pid) -> Option<Vec<String>> {
    let text = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name may contain any character, including brackets.
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let fields = String::from_utf8_lossy(text.get(end + 1..)?).into_owned();
    Some(fields.split_ascii_whitespace().map(str::to_owned).collect())
}
