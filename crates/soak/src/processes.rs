//! Finds and kills the processes of a soak test: those whose arguments contain its folder, and their
//! descendants.

use std::{collections::HashSet, fs, path::Path};

use rustix::process::{Pid, Signal, kill_process};

#[derive(Clone, Debug, PartialEq, Eq)]
struct SystemProcess {
    pid: u32,
    parent: u32,
    arguments: Vec<String>,
}

/// The number of Pod supervisors whose data are in a folder.
pub(crate) fn count_supervisors(folder: &Path) -> usize {
    let folder = folder.display().to_string();
    list_processes().iter().filter(|process| process.is_supervisor(&folder)).count()
}

/// Kills all processes that belong to a folder. The name of the folder must be unique.
pub(crate) fn kill_all(folder: &Path) {
    for pid in find_process_tree(&list_processes(), &folder.display().to_string()) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            // The process may have ended already.
            let _result = kill_process(pid, Signal::KILL);
        }
    }
}

impl SystemProcess {
    /// Returns `None` if the process has ended.
    fn read(pid: u32) -> Option<SystemProcess> {
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let arguments = command.split(|byte| *byte == 0);
        let arguments = arguments.map(|argument| String::from_utf8_lossy(argument).into_owned());
        Some(SystemProcess { pid, parent: parse_parent(&stat)?, arguments: arguments.collect() })
    }

    fn has_argument_in(&self, folder: &str) -> bool {
        self.arguments.iter().any(|argument| argument.contains(folder))
    }

    fn is_supervisor(&self, folder: &str) -> bool {
        self.arguments.iter().any(|argument| argument == "supervise")
            && self.has_argument_in(folder)
    }
}

fn list_processes() -> Vec<SystemProcess> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(SystemProcess::read).collect()
}

/// Parses the parent's PID from `/proc/PID/stat`. The program name may contain spaces and parentheses,
/// so the other fields start after the last parenthesis.
fn parse_parent(stat: &str) -> Option<u32> {
    let (_name, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok()
}

fn find_process_tree(processes: &[SystemProcess], folder: &str) -> HashSet<u32> {
    let roots = processes.iter().filter(|process| process.has_argument_in(folder));
    let mut found: HashSet<u32> = roots.map(|process| process.pid).collect();
    loop {
        let children = processes.iter().filter(|process| found.contains(&process.parent));
        let children: Vec<u32> = children.map(|process| process.pid).collect();
        let count_before = found.len();
        found.extend(children);
        if found.len() == count_before {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, command: &str) -> SystemProcess {
        let arguments = command.split(' ').map(str::to_owned).collect();
        SystemProcess { pid, parent, arguments }
    }

    #[test]
    fn processes_with_the_folder_in_an_argument_and_their_descendants_are_found() {
        let processes = [
            process(2, 1, "punctual supervise /t/x1/data/pods/u"),
            process(3, 4, "sleep 1"),
            process(4, 2, "sh run"),
            process(5, 1, "punctual supervise /t/x2/data/pods/u"),
            process(6, 1, "punctual up --data-dir /t/x1/data"),
        ];
        assert_eq!(find_process_tree(&processes, "/t/x1"), HashSet::from([2, 3, 4, 6]));
        assert!(processes[0].is_supervisor("/t/x1") && !processes[4].is_supervisor("/t/x1"));
    }

    #[test]
    fn the_parent_is_parsed_after_any_program_name() {
        assert_eq!(parse_parent("7 (a) b) S 12 3"), Some(12));
        assert_eq!(parse_parent("7 (a"), None);
    }

    #[test]
    fn the_list_contains_this_process() {
        let pid = std::process::id();
        assert!(list_processes().iter().any(|process| process.pid == pid));
    }
}
