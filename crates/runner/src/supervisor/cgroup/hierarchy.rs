//! Finds the cgroup hierarchies of this machine and creates a Pod's cgroup in each.

use std::fs;
use std::path::{Path, PathBuf};

/// The controllers that limits need.
const CONTROLLERS: [&str; 3] = ["memory", "cpu", "pids"];

/// The version of a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

/// The cgroup of a Pod in one hierarchy.
#[derive(Debug)]
pub(super) struct Hierarchy {
    pub(super) version: Version,
    pub(super) folder: PathBuf,
    controllers: Vec<String>,
}

/// The hierarchies of this machine, and our own cgroup in each.
#[derive(Clone, Debug)]
pub(crate) struct CgroupMounts {
    /// Version 2 comes first.
    mounted: Vec<MountedHierarchy>,
    /// The content of `/proc/self/cgroup`.
    own: String,
}

/// A hierarchy as it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MountedHierarchy {
    version: Version,
    mount_point: PathBuf,
    controllers: Vec<String>,
}

impl Hierarchy {
    pub(super) fn has_controller(&self, name: &str) -> bool {
        self.controllers.iter().any(|controller| controller == name)
    }
}

impl MountedHierarchy {
    /// Whether it may have one of these controllers. Those of version 2 are known only in each cgroup.
    fn may_have_any_of(&self, names: &[&str]) -> bool {
        match self.version {
            Version::V1 => self.controllers.iter().any(|name| names.contains(&name.as_str())),
            Version::V2 => !names.is_empty(),
        }
    }
}

impl CgroupMounts {
    /// Finds the hierarchies of this machine.
    pub(crate) fn find() -> CgroupMounts {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut mounted = find_mounted(&mounts);
        mounted.sort_by_key(|hierarchy| hierarchy.version == Version::V1);
        CgroupMounts { mounted, own }
    }

    /// Creates a Pod's cgroup in every hierarchy that it needs and in which we may, version 2 first. `limits` are
    /// the controllers of the Pod's limits. A Pod without limits needs one hierarchy, in which its processes are
    /// found.
    pub(super) fn create_all(&self, uid: &str, limits: &[&str]) -> Vec<Hierarchy> {
        let mut created: Vec<Hierarchy> = Vec::new();
        for hierarchy in &self.mounted {
            if created.is_empty() || hierarchy.may_have_any_of(limits) {
                created.extend(create(hierarchy, &self.own, uid, limits));
            }
        }
        created
    }
}

fn create(mounted: &MountedHierarchy, own: &str, uid: &str, limits: &[&str]) -> Option<Hierarchy> {
    let root = mounted.mount_point.clone();
    let own = own_cgroup(mounted, own).map(|path| root.join(path));
    let bases = match mounted.version {
        // Only the root may have processes besides children with controllers.
        Version::V2 => [Some(root), own],
        // Below our own cgroup, limits that others have set for us apply to the Pod.
        Version::V1 => [own, Some(root)],
    };
    bases.into_iter().flatten().find_map(|base| create_below(mounted, &base, uid, limits))
}

fn create_below(
    mounted: &MountedHierarchy,
    base: &Path,
    uid: &str,
    limits: &[&str],
) -> Option<Hierarchy> {
    let ours = base.join("punctual");
    let folder = ours.join(uid);
    fs::create_dir_all(&folder).ok()?;
    if !folder.join("cgroup.procs").exists() {
        return None;
    }
    let controllers = match mounted.version {
        Version::V1 => mounted.controllers.clone(),
        Version::V2 if limits.is_empty() => Vec::new(),
        Version::V2 => {
            for cgroup in [base, &ours, &folder] {
                enable_controllers(cgroup, limits);
            }
            enabled_controllers(&folder)
        }
    };
    Some(Hierarchy { version: mounted.version, folder, controllers })
}

/// Enables controllers for the children of a cgroup, as far as they exist. A write delays every fork and exit on
/// the machine, so nothing is written if they are enabled.
fn enable_controllers(cgroup: &Path, controllers: &[&str]) {
    let enabled = enabled_controllers(cgroup);
    for controller in controllers.iter().filter(|name| !enabled.iter().any(|it| it == *name)) {
        let _ = fs::write(cgroup.join("cgroup.subtree_control"), format!("+{controller}"));
    }
}

/// The controllers that the children of a cgroup have.
fn enabled_controllers(cgroup: &Path) -> Vec<String> {
    let enabled = fs::read_to_string(cgroup.join("cgroup.subtree_control")).unwrap_or_default();
    enabled.split_whitespace().map(str::to_owned).collect()
}

/// The hierarchies that are mounted: that of version 2, and those of version 1 with our controllers.
fn find_mounted(mounts: &str) -> Vec<MountedHierarchy> {
    let mut found: Vec<MountedHierarchy> = Vec::new();
    for hierarchy in mounts.lines().filter_map(parse_mount) {
        // A hierarchy may be mounted at several places.
        let is_known = found.iter().any(|other| {
            other.version == hierarchy.version && other.controllers == hierarchy.controllers
        });
        if !is_known {
            found.push(hierarchy);
        }
    }
    found
}

/// Parses a line such as `42 31 0:39 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory`.
fn parse_mount(line: &str) -> Option<MountedHierarchy> {
    let (place, file_system) = line.split_once(" - ")?;
    let mount_point = PathBuf::from(place.split(' ').nth(4)?);
    let mut fields = file_system.split(' ');
    match fields.next()? {
        "cgroup2" => {
            Some(MountedHierarchy { version: Version::V2, mount_point, controllers: Vec::new() })
        }
        "cgroup" => {
            let options = fields.nth(1)?.split(',');
            let controllers: Vec<String> =
                options.filter(|it| CONTROLLERS.contains(it)).map(str::to_owned).collect();
            let hierarchy = MountedHierarchy { version: Version::V1, mount_point, controllers };
            (!hierarchy.controllers.is_empty()).then_some(hierarchy)
        }
        _ => None,
    }
}

/// Our own cgroup in a hierarchy, relative to its root.
fn own_cgroup<'a>(mounted: &MountedHierarchy, own: &'a str) -> Option<&'a str> {
    own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers: Vec<&str> =
            fields.next()?.split(',').filter(|it| !it.is_empty()).collect();
        let is_this = match mounted.version {
            Version::V2 => controllers.is_empty(),
            Version::V1 => mounted.controllers.iter().all(|it| controllers.contains(&it.as_str())),
        };
        is_this.then(|| fields.next())?.map(|path| path.trim_start_matches('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "31 23 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n\
        33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        34 31 0:31 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n\
        35 31 0:32 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n\
        36 31 0:31 / /other/memory rw - cgroup cgroup rw,memory\n\
        42 31 0:39 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_hierarchies_are_found_at_their_mount_points() {
        let found = find_mounted(HYBRID);
        let found: Vec<(&str, Vec<&str>)> = found
            .iter()
            .map(|it| {
                let controllers = it.controllers.iter().map(String::as_str).collect();
                (it.mount_point.to_str().unwrap(), controllers)
            })
            .collect();
        assert_eq!(
            found,
            [
                ("/sys/fs/cgroup/cpu,cpuacct", vec!["cpu"]),
                ("/sys/fs/cgroup/memory", vec!["memory"]),
                ("/sys/fs/cgroup/unified", vec![]),
            ]
        );
        assert_eq!(find_mounted("31 23 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n"), []);
    }

    #[test]
    fn our_own_cgroup_is_found_in_each_hierarchy() {
        let own = "9:name=systemd:/\n4:memory:/a/b:c\n1:cpu,cpuacct:/x\n0::/unified\n";
        let found: Vec<_> = find_mounted(HYBRID).iter().map(|it| own_cgroup(it, own)).collect();
        assert_eq!(found, [Some("x"), Some("a/b:c"), Some("unified")]);
    }
}
