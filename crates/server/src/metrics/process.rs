//! Process metrics under their standard Prometheus names. They are read from `/proc` at every
//! scrape and left out where it does not exist.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Linux reports CPU times to user space in hundredths of a second (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// Collects the process metrics.
#[derive(Debug)]
pub(super) struct ProcessCollector;

impl Collector for ProcessCollector {
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
        let Some(times) = ProcessTimes::read() else {
            return Ok(());
        };
        let help = "Total user and system CPU time spent in seconds";
        put("process_cpu_seconds", help, &ConstCounter::new(times.cpu_seconds))?;
        if let Some(boot_time) = boot_time() {
            let help = "Start time of the process since unix epoch in seconds";
            let start_time = ConstGauge::new(boot_time + times.started_after_boot);
            put("process_start_time_seconds", help, &start_time)?;
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

/// Returns the number of open files, without the one for the folder that is being read.
fn open_files() -> Option<i64> {
    let count = fs::read_dir("/proc/self/fd").ok()?.count();
    i64::try_from(count.saturating_sub(1)).ok()
}

/// Returns the boot time in seconds since the epoch.
fn boot_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// CPU time and start time of the process, in seconds.
#[derive(Debug, PartialEq)]
struct ProcessTimes {
    cpu_seconds: f64,
    started_after_boot: f64,
}

impl ProcessTimes {
    fn read() -> Option<ProcessTimes> {
        ProcessTimes::parse(&fs::read_to_string("/proc/self/stat").ok()?)
    }

    /// Parses `/proc/self/stat`. Its second field is the program's name in parentheses, which may
    /// itself contain parentheses and spaces.
    fn parse(stat: &str) -> Option<ProcessTimes> {
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // The first element is field 3 of proc(5).
        let seconds = |field: usize| {
            let ticks: f64 = fields.get(field - 3)?.parse().ok()?;
            Some(ticks / TICKS_PER_SECOND)
        };
        let cpu_seconds = seconds(14)? + seconds(15)?;
        Some(ProcessTimes { cpu_seconds, started_after_boot: seconds(22)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed_after_any_program_name() {
        let stat = "7 (a ) 1 2) S 1 7 7 0 -1 4194560 1 0 0 0 250 150 0 0 20 0 1 0 12345 1 1";
        let times = ProcessTimes::parse(stat);
        assert_eq!(times, Some(ProcessTimes { cpu_seconds: 4.0, started_after_boot: 123.45 }));
        assert_eq!(ProcessTimes::parse("nonsense"), None);
        assert_eq!(ProcessTimes::parse("7 (x) S 1"), None);
    }
}
