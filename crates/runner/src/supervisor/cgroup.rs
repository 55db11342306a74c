//! Control groups (version 2), where this machine lets us make them.
//!
//! `<group>/punctual/<uid>/<container>`, below the root of the hierarchy or, where that is not
//! ours to write, below our own group. A limit whose controller is not there cannot be set and is
//! told; ending everything in a group works even without controllers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::plan::Limits;

/// The period that shares of processors are counted in, in microseconds.
const CPU_PERIOD: u64 = 100_000;

/// The group of a Pod.
#[derive(Debug)]
pub(super) struct PodGroup(PathBuf);

/// The group of a container.
#[derive(Clone, Debug)]
pub(super) struct Group(PathBuf);

impl PodGroup {
    /// None where groups cannot be made.
    pub(super) fn create(uid: &str) -> Option<PodGroup> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let root = hierarchy(&mounts)?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own =
            own.lines().find_map(|line| line.strip_prefix("0::/")).map(|rest| root.join(rest));
        [Some(root), own].into_iter().flatten().find_map(|base| {
            let ours = base.join("punctual");
            let group = ours.join(uid);
            fs::create_dir_all(&group).ok()?;
            [base, ours, group.clone()].iter().for_each(|group| delegate(group));
            group.join("cgroup.procs").exists().then_some(PodGroup(group))
        })
    }

    /// Makes the group of a container, and tells which limits could not be set.
    pub(super) fn container(
        &self,
        name: &str,
        limits: &Limits,
    ) -> io::Result<(Group, Vec<String>)> {
        let group = Group(self.0.join(name));
        fs::create_dir_all(&group.0)?;
        let settings = [
            ("memory", "memory.max", limits.memory_bytes.map(|bytes| bytes.to_string())),
            ("memory", "memory.oom.group", limits.memory_bytes.map(|_| "1".to_owned())),
            ("cpu", "cpu.max", limits.cpu_milli.map(cpu_max)),
            ("pids", "pids.max", limits.pids.map(|count| count.to_string())),
        ];
        let mut unset = Vec::new();
        for (what, file, value) in settings {
            let Some(value) = value else { continue };
            let is_set = fs::write(group.0.join(file), value).is_ok();
            if !is_set && !unset.iter().any(|other| other == what) {
                unset.push(what.to_owned());
            }
        }
        Ok((group, unset))
    }

    /// Ends everything in all groups of the Pod.
    pub(super) fn kill(&self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
    }

    /// Removes the groups; false if one still has processes.
    pub(super) fn remove(&self) -> bool {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(entry.path());
        }
        fs::remove_dir(&self.0).is_ok() || !self.0.exists()
    }
}

impl Group {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Ends everything in the group; false where the system cannot.
    pub(super) fn kill(&self) -> bool {
        fs::write(self.0.join("cgroup.kill"), "1").is_ok()
    }

    /// How many processes the system ended because memory ran out.
    pub(super) fn oom_kills(&self) -> u64 {
        let events = fs::read_to_string(self.0.join("memory.events")).unwrap_or_default();
        let line = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    }
}

/// Puts the calling process into a group.
pub(super) fn join(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), "0")
}

/// Hands the controllers down, as far as there are any.
fn delegate(group: &Path) {
    for controller in ["+memory", "+cpu", "+pids"] {
        let _ = fs::write(group.join("cgroup.subtree_control"), controller);
    }
}

fn cpu_max(milli: u64) -> String {
    // Less than a millisecond of a period is refused.
    let quota = (milli.saturating_mul(CPU_PERIOD) / 1000).max(1000);
    format!("{quota} {CPU_PERIOD}")
}

/// Where the hierarchy of version 2 is mounted.
fn hierarchy(mounts: &str) -> Option<PathBuf> {
    let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    line.split(' ').nth(4).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_is_found_where_it_is_mounted() {
        let hybrid = "31 23 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n\
                      42 31 0:39 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw\n";
        assert_eq!(hierarchy(hybrid), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(hierarchy("31 23 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n"), None);
    }

    #[test]
    fn a_share_of_a_processor_is_a_quota_of_a_tenth_of_a_second() {
        assert_eq!(cpu_max(500), "50000 100000");
        assert_eq!(cpu_max(2500), "250000 100000");
        assert_eq!(cpu_max(1), "1000 100000");
        assert_eq!(cpu_max(u64::MAX), format!("{} 100000", u64::MAX / 1000));
    }
}
