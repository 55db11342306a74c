//! What the system knows about this process, under the names that every client of Prometheus uses.
//! Read when somebody asks, out of `/proc`; where there is none, nothing is said.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Linux counts the time of processes in hundredths of a second for programs, whatever it does
/// inside (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// Asks the system at every scrape.
#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut put = |name: &str, help: &str, metric: &dyn EncodeMetric| {
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
        };
        if let Some(bytes) = resident_bytes() {
            let help = "Resident memory size in bytes";
            put("process_resident_memory_bytes", help, &ConstGauge::new(bytes))?;
        }
        if let Some(count) = open_files() {
            put("process_open_fds", "Number of open file descriptors", &ConstGauge::new(count))?;
        }
        let Some(times) = Times::read() else {
            return Ok(());
        };
        let help = "Total user and system CPU time spent in seconds";
        put("process_cpu_seconds", help, &ConstCounter::new(times.cpu_seconds))?;
        if let Some(booted) = booted_at() {
            let help = "Start time of the process since unix epoch in seconds";
            let started = ConstGauge::new(booted + times.started_after_boot);
            put("process_start_time_seconds", help, &started)?;
        }
        Ok(())
    }
}

fn resident_bytes() -> Option<i64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// One of them is the folder itself, which is being read.
fn open_files() -> Option<i64> {
    let count = fs::read_dir("/proc/self/fd").ok()?.count();
    i64::try_from(count.saturating_sub(1)).ok()
}

fn booted_at() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// In seconds.
#[derive(Debug, PartialEq)]
struct Times {
    cpu_seconds: f64,
    started_after_boot: f64,
}

impl Times {
    fn read() -> Option<Times> {
        Times::parse(&fs::read_to_string("/proc/self/stat").ok()?)
    }

    /// The second field is the name of the program, in parentheses, and may contain anything.
    fn parse(stat: &str) -> Option<Times> {
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // The first of them is field 3 of proc(5).
        let seconds = |field: usize| {
            let ticks: f64 = fields.get(field - 3)?.parse().ok()?;
            Some(ticks / TICKS_PER_SECOND)
        };
        let (user, system, started) = (seconds(14)?, seconds(15)?, seconds(22)?);
        Some(Times { cpu_seconds: user + system, started_after_boot: started })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "7 (a ) 1 2) S 1 7 7 0 -1 4194560 1 0 0 0 250 150 0 0 20 0 1 0 12345 1 1";
        let times = Times::parse(stat);
        assert_eq!(times, Some(Times { cpu_seconds: 4.0, started_after_boot: 123.45 }));
        assert_eq!(Times::parse("nonsense"), None);
        assert_eq!(Times::parse("7 (x) S 1"), None);
    }
}
