//! Control groups, where this machine allows us to create them: version 2, version 1, or both (hybrid).
//!
//! They are `<cgroup>/punctual/<uid>/<container>`. In version 2 they are below the root or, if we may not
//! write there, below our own cgroup. In version 1 they are below our own cgroup or, if we may not write
//! there, below the root. A container joins the version 2 cgroup, whose processes can be killed at once, and the version 1 cgroups of its
//! limits. A limit whose controller is missing cannot be set and is reported.

mod hierarchy;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

pub(super) use self::hierarchy::CgroupMounts;
use self::hierarchy::{Hierarchy, Version};
use crate::pod_plan::{PodPlan, ResourceLimits};

/// The period of CPU quotas, in microseconds.
const CPU_PERIOD: u64 = 100_000;
/// The maximum number of cgroups below that of a Pod that are looked at.
const FOLDERS_MAX: usize = 10_000;

/// The cgroups of a Pod: one in each hierarchy, never none.
#[derive(Debug)]
pub(super) struct PodCgroup(Vec<Hierarchy>);

/// The cgroups of a container: one in each hierarchy that it needs.
#[derive(Clone, Debug)]
pub(super) struct ContainerCgroup {
    folders: Vec<PathBuf>,
    /// The number of processes that had been killed for lack of memory when the run began.
    oom_kills_before: u64,
}

/// A file of a cgroup and the value that sets a limit.
struct Setting {
    controller: &'static str,
    file: &'static str,
    value: String,
    /// Whether the limit works without this setting.
    is_optional: bool,
}

impl PodCgroup {
    /// Creates the cgroups that the Pod needs; `None` where this is not possible.
    pub(super) fn create(plan: &PodPlan, mounts: &CgroupMounts) -> Option<PodCgroup> {
        let mut limits: Vec<&str> =
            plan.containers.iter().flat_map(|container| limit_names(&container.limits)).collect();
        limits.sort_unstable();
        limits.dedup();
        let found = mounts.create_all(&plan.uid, &limits);
        (!found.is_empty()).then_some(PodCgroup(found))
    }

    /// Creates the cgroups of a container. Also returns the names of limits that could not be set.
    pub(super) fn container(
        &self,
        name: &str,
        limits: &ResourceLimits,
    ) -> io::Result<(ContainerCgroup, Vec<String>)> {
        let mut unset: Vec<&str> = limit_names(limits);
        let mut folders = Vec::new();
        for hierarchy in &self.0 {
            let has_limit = unset.iter().any(|limit| hierarchy.has_controller(limit));
            // Without version 2, any hierarchy serves to find the processes.
            if hierarchy.version == Version::V1 && !has_limit && !folders.is_empty() {
                continue;
            }
            let folder = hierarchy.folder.join(name);
            fs::create_dir_all(&folder)?;
            unset.retain(|limit| !set_limit(hierarchy, &folder, limit, limits));
            folders.push(folder);
        }
        let mut cgroup = ContainerCgroup { folders, oom_kills_before: 0 };
        cgroup.oom_kills_before = cgroup.count_oom_kills();
        Ok((cgroup, unset.into_iter().map(str::to_owned).collect()))
    }

    /// Kills all processes of the Pod. Returns false if some were found that may have children by now.
    pub(super) fn kill(&self) -> bool {
        let mut is_done = true;
        for hierarchy in &self.0 {
            is_done &= kill_tree(&hierarchy.folder);
        }
        is_done
    }

    /// Removes the cgroups. Returns false if one still has processes.
    pub(super) fn remove(&self) -> bool {
        let mut is_removed = true;
        for hierarchy in &self.0 {
            is_removed &= remove_tree(&hierarchy.folder);
        }
        is_removed
    }
}

impl ContainerCgroup {
    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Kills all processes of the container. Returns false if some were found that may have children by
    /// now: the call must be repeated.
    pub(super) fn kill(&self) -> bool {
        // All processes are in each cgroup, and the first is the one that can be killed at once.
        self.folders.first().is_none_or(|folder| kill_tree(folder))
    }

    /// Whether the system killed a process of this run because memory ran out.
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.count_oom_kills() > self.oom_kills_before
    }

    /// Removes the cgroups, as far as their processes have exited. Their counters are for one run.
    pub(super) fn remove(&self) {
        for folder in &self.folders {
            remove_tree(folder);
        }
    }

    fn count_oom_kills(&self) -> u64 {
        let count = |folder: &PathBuf| {
            // Version 2, then version 1.
            let files = ["memory.events", "memory.oom_control"];
            files.iter().find_map(|file| {
                let text = fs::read_to_string(folder.join(file)).ok()?;
                let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
                line.trim().parse::<u64>().ok()
            })
        };
        self.folders.iter().filter_map(count).sum()
    }
}

/// Moves the calling process into a cgroup.
pub(super) fn join(cgroup: &Path) -> io::Result<()> {
    fs::write(cgroup.join("cgroup.procs"), "0")
}

fn limit_names(limits: &ResourceLimits) -> Vec<&'static str> {
    let mut names = Vec::new();
    names.extend(limits.memory_bytes.map(|_| "memory"));
    names.extend(limits.cpu_milli.map(|_| "cpu"));
    names.extend(limits.pids.map(|_| "pids"));
    names
}

/// Sets a limit in a cgroup. Returns false if that is not possible.
fn set_limit(hierarchy: &Hierarchy, folder: &Path, limit: &str, limits: &ResourceLimits) -> bool {
    let settings = match hierarchy.version {
        Version::V1 => settings_v1(limits),
        Version::V2 => settings_v2(limits),
    };
    hierarchy.has_controller(limit)
        && settings.iter().filter(|setting| setting.controller == limit).all(|setting| {
            fs::write(folder.join(setting.file), &setting.value).is_ok() || setting.is_optional
        })
}

fn settings_v2(limits: &ResourceLimits) -> Vec<Setting> {
    let mut settings = Vec::new();
    if let Some(bytes) = limits.memory_bytes {
        settings.push(Setting::new("memory", "memory.max", bytes.to_string()));
        settings.push(Setting::optional("memory", "memory.swap.max", "0".to_owned()));
        settings.push(Setting::new("memory", "memory.oom.group", "1".to_owned()));
    }
    if let Some(milli) = limits.cpu_milli {
        settings.push(Setting::new("cpu", "cpu.max", format!("{} {CPU_PERIOD}", quota(milli))));
    }
    if let Some(count) = limits.pids {
        settings.push(Setting::new("pids", "pids.max", count.to_string()));
    }
    settings
}

fn settings_v1(limits: &ResourceLimits) -> Vec<Setting> {
    let mut settings = Vec::new();
    if let Some(bytes) = limits.memory_bytes {
        let bytes = bytes.to_string();
        settings.push(Setting::new("memory", "memory.limit_in_bytes", bytes.clone()));
        // Memory and swap together. Absent if the kernel does not count swap.
        settings.push(Setting::optional("memory", "memory.memsw.limit_in_bytes", bytes));
    }
    if let Some(milli) = limits.cpu_milli {
        settings.push(Setting::new("cpu", "cpu.cfs_period_us", CPU_PERIOD.to_string()));
        settings.push(Setting::new("cpu", "cpu.cfs_quota_us", quota(milli).to_string()));
    }
    if let Some(count) = limits.pids {
        settings.push(Setting::new("pids", "pids.max", count.to_string()));
    }
    settings
}

impl Setting {
    fn new(controller: &'static str, file: &'static str, value: String) -> Setting {
        Setting { controller, file, value, is_optional: false }
    }

    fn optional(controller: &'static str, file: &'static str, value: String) -> Setting {
        Setting { is_optional: true, ..Setting::new(controller, file, value) }
    }
}

/// The CPU time per period, in microseconds.
fn quota(milli: u64) -> u64 {
    // The kernel refuses a quota below a millisecond.
    (milli.saturating_mul(CPU_PERIOD) / 1000).max(1000)
}

/// Kills all processes of a cgroup and of those below it. Returns false if it had to kill them one by one, so
/// that they may have had children in the meantime.
fn kill_tree(folder: &Path) -> bool {
    if fs::write(folder.join("cgroup.kill"), "1").is_ok() {
        return true;
    }
    let mut is_empty = true;
    for folder in folders_of(folder) {
        let processes = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        for pid in processes.lines().filter_map(|line| Pid::from_raw(line.trim().parse().ok()?)) {
            is_empty = false;
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    is_empty
}

/// Removes a cgroup and those below it. Returns false if one still has processes.
fn remove_tree(folder: &Path) -> bool {
    // The deepest first.
    for folder in folders_of(folder).iter().rev() {
        let _ = fs::remove_dir(folder);
    }
    !folder.exists()
}

/// A cgroup and those below it, which programs of a container may have made. Parents come first.
fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(folder) = found.get(next)
        && found.len() < FOLDERS_MAX
    {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let below: Vec<PathBuf> = entries.filter(is_folder).map(|entry| entry.path()).collect();
        found.extend(below);
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The way of version 1, and of version 2 before Linux 5.14.
    #[test]
    fn processes_of_a_cgroup_without_cgroup_kill_are_killed_one_by_one() {
        let uid = format!("test-{}", std::process::id());
        let folder = Path::new("/sys/fs/cgroup/pids/punctual").join(uid);
        if fs::create_dir_all(folder.join("below")).is_err() {
            return println!("skipped: no writable cgroup of version 1");
        }
        let mut children: Vec<_> = ["", "below"]
            .iter()
            .map(|name| {
                let child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
                fs::write(folder.join(name).join("cgroup.procs"), child.id().to_string()).unwrap();
                child
            })
            .collect();
        assert!(!folder.join("cgroup.kill").exists());
        assert!(!kill_tree(&folder), "processes were found");
        for child in &mut children {
            assert!(!child.wait().unwrap().success());
        }
        assert!(kill_tree(&folder), "no process is left");
        assert!(remove_tree(&folder));
    }

    #[test]
    fn a_cpu_limit_is_a_quota_per_period() {
        assert_eq!(quota(500), 50_000);
        assert_eq!(quota(2500), 250_000);
        assert_eq!(quota(1), 1000);
        assert_eq!(quota(u64::MAX), u64::MAX / 1000);
    }
}
