//! Which processes there are, and ending those of a Pod.
//!
//! Three nets, each for what slips through the one before: the cgroup where there is one; the
//! mark that every process of a Pod inherits in its environment; and, as the supervisor adopts what
//! loses its parent, all its descendants.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::plan::{MARK, mark};

/// All processes below this one.
pub(super) fn descendants() -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<Pid>> = HashMap::new();
    for pid in processes() {
        if let Some(parent) = living_parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![rustix::process::getpid().as_raw_nonzero().get()];
    while let Some(parent) = open.pop() {
        for pid in children.remove(&parent).unwrap_or_default() {
            found.push(pid);
            open.push(pid.as_raw_nonzero().get());
        }
    }
    found
}

/// All processes that carry the mark of a container.
pub(super) fn of_container(uid: &str, container: &str) -> Vec<Pid> {
    let wanted = format!("{MARK}={}", mark(uid, container));
    marked(|variable| variable == wanted.as_bytes())
}

/// All processes that carry the mark of any container of a Pod.
pub(super) fn of_pod(uid: &str) -> Vec<Pid> {
    let wanted = format!("{MARK}={}", mark(uid, ""));
    marked(|variable| variable.starts_with(wanted.as_bytes()))
}

fn marked(is_mark: impl Fn(&[u8]) -> bool) -> Vec<Pid> {
    processes().filter(|pid| is_marked(*pid, &is_mark)).collect()
}

fn is_marked(pid: Pid, is_mark: impl Fn(&[u8]) -> bool) -> bool {
    let environ = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(is_mark) && living_parent(pid).is_some()
}

/// Ends processes at once. Those that are gone already, or not ours to end, are passed over.
pub(super) fn kill(pids: &[Pid]) {
    for pid in pids {
        let _ = kill_process(*pid, Signal::KILL);
    }
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
}

/// The parent of a process that has not ended.
fn living_parent(pid: Pid) -> Option<i32> {
    stat(pid).filter(|(state, _)| !matches!(state, 'Z' | 'X')).map(|(_, parent)| parent)
}

/// State and parent. The name before them may hold anything, brackets too.
fn stat(pid: Pid) -> Option<(char, i32)> {
    let text = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let text = String::from_utf8_lossy(&text);
    let mut words = text.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}
