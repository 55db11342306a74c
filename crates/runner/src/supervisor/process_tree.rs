//! Finds and kills the processes of a Pod.
//!
//! A process can escape from its process group, so there are three ways to find it: the cgroup, where
//! there is one; the mark in its environment, which every process of a Pod inherits; and the process
//! tree, because orphans become children of the supervisor.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::pod_plan::{CONTAINER_MARK, container_mark};

/// The descendants of this process.
pub(super) fn descendants() -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<Pid>> = HashMap::new();
    for pid in all_processes() {
        if let Some(parent) = parent_if_alive(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut parents = vec![rustix::process::getpid().as_raw_nonzero().get()];
    while let Some(parent) = parents.pop() {
        for pid in children.remove(&parent).unwrap_or_default() {
            found.push(pid);
            parents.push(pid.as_raw_nonzero().get());
        }
    }
    found
}

/// All processes with the mark of a container.
pub(super) fn processes_of_container(uid: &str, container: &str) -> Vec<Pid> {
    let mark = format!("{CONTAINER_MARK}={}", container_mark(uid, container));
    processes_with_variable(|variable| variable == mark.as_bytes())
}

/// All processes with the mark of any container of a Pod.
pub(super) fn processes_of_pod(uid: &str) -> Vec<Pid> {
    let prefix = format!("{CONTAINER_MARK}={}", container_mark(uid, ""));
    processes_with_variable(|variable| variable.starts_with(prefix.as_bytes()))
}

fn processes_with_variable(is_match: impl Fn(&[u8]) -> bool) -> Vec<Pid> {
    all_processes().filter(|pid| has_variable(*pid, &is_match)).collect()
}

fn has_variable(pid: Pid, is_match: impl Fn(&[u8]) -> bool) -> bool {
    let environ = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(is_match) && parent_if_alive(pid).is_some()
}

/// Kills processes. Ignores those that have exited and those that we may not kill.
pub(super) fn kill(pids: &[Pid]) {
    for pid in pids {
        let _ = kill_process(*pid, Signal::KILL);
    }
}

fn all_processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
}

/// The parent of a process; `None` if the process has exited.
fn parent_if_alive(pid: Pid) -> Option<i32> {
    let (state, parent) = state_and_parent(pid)?;
    if matches!(state, 'Z' | 'X') { None } else { Some(parent) }
}

/// State and parent of a process. The name before them may contain any character, also brackets.
fn state_and_parent(pid: Pid) -> Option<(char, i32)> {
    let text = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let text = String::from_utf8_lossy(&text);
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
