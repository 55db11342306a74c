//! Control groups (version 2), where this machine allows us to create them.
//!
//! They are `<cgroup>/punctual/<uid>/<container>`, below the root of the hierarchy or, if we may not
//! write there, below our own cgroup. A limit whose controller is missing cannot be set and is reported.
//! Killing all processes of a cgroup works without controllers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::pod_plan::ResourceLimits;

/// The period of CPU quotas, in microseconds.
const CPU_PERIOD: u64 = 100_000;

/// The cgroup of a Pod.
#[derive(Debug)]
pub(super) struct PodCgroup(PathBuf);

/// The cgroup of a container.
#[derive(Clone, Debug)]
pub(super) struct ContainerCgroup(PathBuf);

impl PodCgroup {
    /// Creates the cgroup; `None` where this is not possible.
    pub(super) fn create(uid: &str) -> Option<PodCgroup> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let root = find_hierarchy(&mounts)?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own =
            own.lines().find_map(|line| line.strip_prefix("0::/")).map(|rest| root.join(rest));
        [Some(root), own].into_iter().flatten().find_map(|base| {
            let ours = base.join("punctual");
            let cgroup = ours.join(uid);
            fs::create_dir_all(&cgroup).ok()?;
            for cgroup in [&base, &ours, &cgroup] {
                enable_controllers(cgroup);
            }
            cgroup.join("cgroup.procs").exists().then_some(PodCgroup(cgroup))
        })
    }

    /// Creates the cgroup of a container. Also returns the names of limits that could not be set.
    pub(super) fn container(
        &self,
        name: &str,
        limits: &ResourceLimits,
    ) -> io::Result<(ContainerCgroup, Vec<String>)> {
        let cgroup = ContainerCgroup(self.0.join(name));
        fs::create_dir_all(&cgroup.0)?;
        let settings = [
            ("memory", "memory.max", limits.memory_bytes.map(|bytes| bytes.to_string())),
            ("memory", "memory.oom.group", limits.memory_bytes.map(|_| "1".to_owned())),
            ("cpu", "cpu.max", limits.cpu_milli.map(cpu_max)),
            ("pids", "pids.max", limits.pids.map(|count| count.to_string())),
        ];
        let mut unset = Vec::new();
        for (limit, file, value) in settings {
            let Some(value) = value else { continue };
            let is_set = fs::write(cgroup.0.join(file), value).is_ok();
            if !is_set && !unset.iter().any(|other| other == limit) {
                unset.push(limit.to_owned());
            }
        }
        Ok((cgroup, unset))
    }

    /// Kills all processes of the Pod.
    pub(super) fn kill(&self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
    }

    /// Removes the cgroups. Returns false if one still has processes.
    pub(super) fn remove(&self) -> bool {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(entry.path());
        }
        fs::remove_dir(&self.0).is_ok() || !self.0.exists()
    }
}

impl ContainerCgroup {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Kills all processes of the container. Returns false if the system does not support that.
    pub(super) fn kill(&self) -> bool {
        fs::write(self.0.join("cgroup.kill"), "1").is_ok()
    }

    /// The number of processes that the system killed because memory ran out.
    pub(super) fn oom_kills(&self) -> u64 {
        let events = fs::read_to_string(self.0.join("memory.events")).unwrap_or_default();
        let line = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    }
}

/// Moves the calling process into a cgroup.
pub(super) fn join(cgroup: &Path) -> io::Result<()> {
    fs::write(cgroup.join("cgroup.procs"), "0")
}

/// Enables the controllers for the children of a cgroup, as far as they exist.
fn enable_controllers(cgroup: &Path) {
    for controller in ["+memory", "+cpu", "+pids"] {
        let _ = fs::write(cgroup.join("cgroup.subtree_control"), controller);
    }
}

fn cpu_max(milli: u64) -> String {
    // The kernel refuses a quota below a millisecond.
    let quota = (milli.saturating_mul(CPU_PERIOD) / 1000).max(1000);
    format!("{quota} {CPU_PERIOD}")
}

/// The mount point of the version 2 hierarchy.
fn find_hierarchy(mounts: &str) -> Option<PathBuf> {
    let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    line.split(' ').nth(4).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_is_found_at_its_mount_point() {
        let hybrid = "31 23 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n\
                      42 31 0:39 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw\n";
        assert_eq!(find_hierarchy(hybrid), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(find_hierarchy("31 23 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n"), None);
    }

    #[test]
    fn a_cpu_limit_is_a_quota_per_period() {
        assert_eq!(cpu_max(500), "50000 100000");
        assert_eq!(cpu_max(2500), "250000 100000");
        assert_eq!(cpu_max(1), "1000 100000");
        assert_eq!(cpu_max(u64::MAX), format!("{} 100000", u64::MAX / 1000));
    }
}
