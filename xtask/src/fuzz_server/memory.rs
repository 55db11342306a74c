//! What this process takes.

use anyhow::Context;

/// Memory of this process, in KiB.
pub(super) fn resident_kib() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("memory cannot be read")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).context("memory cannot be read")
}
