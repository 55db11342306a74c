//! The processes of this machine that belong to a trial: those that name its folder, and all that
//! these have started.

use std::{collections::HashSet, fs, path::Path};

use rustix::process::{Pid, Signal, kill_process};

/// A process of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pid: u32,
    parent: u32,
    arguments: Vec<String>,
}

/// The supervisors of Pods whose data are in a folder.
pub(super) fn supervisors(folder: &Path) -> Vec<u32> {
    let folder = folder.display().to_string();
    let ours = all().into_iter().filter(|process| process.supervises(&folder));
    ours.map(|process| process.pid).collect()
}

/// Ends everything that belongs to a folder. The folder's name must be like no other.
pub(super) fn end_all(folder: &Path) {
    for pid in belonging(&all(), &folder.display().to_string()) {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        // It may have ended by itself.
        let _ended = pid.map(|pid| kill_process(pid, Signal::KILL));
    }
}

impl Process {
    /// None if it has ended.
    fn read(pid: u32) -> Option<Process> {
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let arguments = command.split(|byte| *byte == 0);
        let arguments = arguments.map(|argument| String::from_utf8_lossy(argument).into_owned());
        Some(Process { pid, parent: parent(&stat)?, arguments: arguments.collect() })
    }

    fn names(&self, folder: &str) -> bool {
        self.arguments.iter().any(|argument| argument.contains(folder))
    }

    fn supervises(&self, folder: &str) -> bool {
        self.arguments.iter().any(|argument| argument == "supervise") && self.names(folder)
    }
}

fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(Process::read).collect()
}

/// The name of a program may hold spaces and brackets; the rest is behind the last bracket.
fn parent(stat: &str) -> Option<u32> {
    let (_name, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

fn belonging(processes: &[Process], folder: &str) -> HashSet<u32> {
    let named = processes.iter().filter(|process| process.names(folder));
    let mut found: HashSet<u32> = named.map(|process| process.pid).collect();
    loop {
        let children = processes.iter().filter(|process| found.contains(&process.parent));
        let more: Vec<u32> = children.map(|process| process.pid).collect();
        let before = found.len();
        found.extend(more);
        if found.len() == before {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, command: &str) -> Process {
        let arguments = command.split(' ').map(str::to_owned).collect();
        Process { pid, parent, arguments }
    }

    #[test]
    fn a_folder_has_those_who_name_it_and_their_descendants() {
        let processes = [
            process(2, 1, "punctual supervise /t/x1/data/pods/u"),
            process(3, 4, "sleep 1"),
            process(4, 2, "sh run"),
            process(5, 1, "punctual supervise /t/x2/data/pods/u"),
            process(6, 1, "punctual up --data-dir /t/x1/data"),
        ];
        assert_eq!(belonging(&processes, "/t/x1"), HashSet::from([2, 3, 4, 6]));
        assert!(processes[0].supervises("/t/x1") && !processes[4].supervises("/t/x1"));
    }

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent("7 (a) b) S 12 3"), Some(12));
        assert_eq!(parent("7 (a"), None);
    }

    #[test]
    fn this_process_is_there() {
        let ours = std::process::id();
        assert!(all().iter().any(|process| process.pid == ours));
    }
}
