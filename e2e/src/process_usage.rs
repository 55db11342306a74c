//! Memory and processor time of processes, read from `/proc`.

use std::{fs, time::Duration};

use anyhow::Context;

/// Linux reports processor time in hundredths of a second, whatever the frequency of its timer.
const TICK: Duration = Duration::from_millis(10);
/// The position of the first of two times in `/proc/PID/stat`, after the name of the program.
const OWN_TIMES: usize = 11;
const CHILDREN_TIMES: usize = 13;

/// The resident memory of a process, in bytes.
pub fn resident_bytes(pid: u32) -> anyhow::Result<u64> {
    memory(pid, "VmRSS:")
}

/// The peak resident memory of a process, in bytes.
pub fn peak_bytes(pid: u32) -> anyhow::Result<u64> {
    memory(pid, "VmHWM:")
}

fn memory(pid: u32, key: &str) -> anyhow::Result<u64> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    bytes(&status, key).with_context(|| format!("{path} has no {key}"))
}

/// The processor time of a process since its start, in user and kernel mode.
pub fn processor_time(pid: u32) -> anyhow::Result<Duration> {
    read_times(pid, OWN_TIMES)
}

/// The processor time of the children of a process that it has waited for, and of theirs.
pub fn children_processor_time(pid: u32) -> anyhow::Result<Duration> {
    read_times(pid, CHILDREN_TIMES)
}

fn read_times(pid: u32, first_field: usize) -> anyhow::Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let ticks = ticks(&stat, first_field);
    ticks.map(|ticks| TICK * ticks).with_context(|| format!("{path} has no times"))
}

/// The number of files and sockets that this process and its children may each have open.
pub fn open_files_max() -> anyhow::Result<u64> {
    let path = "/proc/self/limits";
    let limits = fs::read_to_string(path).with_context(|| format!("reading {path}"))?;
    open_files(&limits).with_context(|| format!("{path} has no limit of open files"))
}

fn open_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

/// The value, in bytes, of the line that begins with a key.
fn bytes(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Reads the two times. The program's name may contain spaces and brackets, so fields are counted
/// from the last bracket.
fn ticks(stat: &str, first_field: usize) -> Option<u32> {
    let (_name, rest) = stat.rsplit_once(')')?;
    let mut times = rest.split_whitespace().skip(first_field);
    let user: u32 = times.next()?.parse().ok()?;
    let kernel: u32 = times.next()?.parse().ok()?;
    user.checked_add(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_lines_are_read_in_bytes() {
        let status = "Name:\tx\nVmHWM:\t  9000 kB\nVmRSS:\t     123 kB\n";
        assert_eq!(bytes(status, "VmRSS:"), Some(123 * 1024));
        assert_eq!(bytes(status, "VmHWM:"), Some(9000 * 1024));
        assert_eq!(bytes("Name:\tx\n", "VmRSS:"), None);
    }

    #[test]
    fn times_are_found_after_a_name_with_brackets() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 250 50 4 7 20";
        assert_eq!(ticks(stat, OWN_TIMES), Some(300));
        assert_eq!(ticks(stat, CHILDREN_TIMES), Some(11));
        assert_eq!(ticks("7 (a) S 1 2", OWN_TIMES), None);
    }

    #[test]
    fn the_limit_of_open_files_is_the_soft_one() {
        let limits =
            "Max processes 1 2 processes\nMax open files            1024     4096   files\n";
        assert_eq!(open_files(limits), Some(1024));
        assert_eq!(open_files("Max open files  unlimited unlimited files"), Some(u64::MAX));
        assert_eq!(open_files(""), None);
    }

    #[test]
    fn this_process_has_memory_and_time() {
        assert!(resident_bytes(std::process::id()).unwrap() > 0);
        assert!(processor_time(std::process::id()).unwrap() < Duration::from_secs(3600));
    }
}
