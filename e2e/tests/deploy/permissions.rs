//! Checks that an account has the permissions that it needs and no others.
//!
//! SubjectAccessReviews ask the server about every verb on every resource: cluster-wide, in the
//! namespace of the release, and in another namespace.

mod access_review;

use std::{collections::BTreeSet, fmt, thread};

use anyhow::{Context, ensure};
use punctual_e2e::{Client, Cluster, json, probe};
use serde_json::Value;

use self::access_review::AccessReviewer;
use super::InstalledChart;

/// All verbs, including those that only some resources have.
#[rustfmt::skip]
const VERBS: [&str; 14] = [
    "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "bind",
    "escalate", "impersonate", "use", "approve", "*",
];

/// The permissions that the controller needs in its namespaces for all its kinds: group, resource, verbs.
const SHARED_PERMISSIONS: [(&str, &str, &[&str]); 4] = [
    ("batch", "jobs", &["get", "list", "watch", "create", "patch", "delete"]),
    ("", "events", &["create", "patch"]),
    ("punctual.dev", "runrequests", &["get", "list", "watch", "patch", "delete"]),
    ("punctual.dev", "runrequests/status", &["update"]),
];

/// The permissions that the controller needs for each of its kinds: subresource, verbs.
const KIND_PERMISSIONS: [(&str, &[&str]); 3] = [
    ("", &["get", "list", "watch", "patch"]),
    ("/status", &["update"]),
    ("/finalizers", &["update"]),
];

/// The CronJob that detects a competing controller.
const PROBE: &str = "punctual-probe";

/// A namespace that a release for one namespace must not access.
const OTHER_NAMESPACE: &str = "default";

/// The number of parallel requests.
const REVIEWERS: usize = 4;

/// The settings of a release that determine its permissions.
pub(super) struct ReleasePlan {
    /// The name of the release, and of its namespace.
    pub(super) release: &'static str,
    pub(super) kinds: &'static [&'static str],
    /// The only namespace that it reconciles; `None` for all.
    pub(super) namespace: Option<&'static str>,
    /// The name of its Lease.
    pub(super) lease: &'static str,
}

/// A permission, as in a SubjectAccessReview.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Permission {
    /// Empty for all namespaces.
    namespace: &'static str,
    group: String,
    /// With the subresource, if any.
    resource: String,
    /// Empty for any name.
    name: &'static str,
    verb: &'static str,
}

/// The numbers of resources and permissions.
pub(super) struct PermissionCounts {
    resources: usize,
    asked: usize,
    allowed: usize,
}

impl fmt::Display for PermissionCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PermissionCounts { resources, asked, allowed } = self;
        let denied = asked - allowed;
        write!(f, "{resources} resources, {asked} permissions: {allowed} allowed, {denied} denied")
    }
}

impl ReleasePlan {
    /// The values of the chart.
    pub(super) fn values(&self) -> String {
        let namespaces: Vec<_> = self.namespace.into_iter().collect();
        format!(
            "kinds: {:?}\nnamespaces: {namespaces:?}\nleaderElection: {{leaseName: {}}}\n",
            self.kinds, self.lease
        )
    }

    /// The namespaces to check; empty for cluster-wide access.
    fn checked_namespaces(&self) -> Vec<&'static str> {
        ["", self.release, OTHER_NAMESPACE].into_iter().chain(self.namespace).collect()
    }

    /// Whether the controller needs a permission.
    fn needs(&self, permission: &Permission) -> bool {
        let is_reconciled =
            self.namespace.is_none_or(|namespace| namespace == permission.namespace);
        let is_own = permission.namespace == self.release;
        is_reconciled && self.is_for_reconciling(permission)
            || is_own && self.is_for_election(permission)
    }

    fn is_for_reconciling(&self, permission: &Permission) -> bool {
        let is_shared = SHARED_PERMISSIONS.iter().any(|(group, resource, verbs)| {
            permission.group == *group
                && permission.resource == *resource
                && verbs.contains(&permission.verb)
        });
        is_shared || self.kinds.iter().any(|kind| is_for_kind(kind, permission))
    }

    fn is_for_election(&self, permission: &Permission) -> bool {
        match (permission.group.as_str(), permission.resource.as_str(), permission.verb) {
            ("coordination.k8s.io", "leases", "create") => true,
            ("coordination.k8s.io", "leases", "get" | "update") => permission.name == self.lease,
            ("", "events", "create" | "patch") => true,
            _ => self.kinds.contains(&"cronjobs") && is_for_probe(permission),
        }
    }
}

/// Whether the controller needs a permission to detect a competing controller.
fn is_for_probe(permission: &Permission) -> bool {
    match (permission.group.as_str(), permission.resource.as_str(), permission.verb) {
        ("batch", "cronjobs", "create") => true,
        ("batch", "cronjobs", "get" | "delete") => permission.name == PROBE,
        ("batch", "cronjobs/status", "update") => permission.name == PROBE,
        _ => false,
    }
}

fn is_for_kind(kind: &str, permission: &Permission) -> bool {
    let group = if kind == "cronjobs" { "batch" } else { "punctual.dev" };
    let subresource = permission.resource.strip_prefix(kind);
    let verbs =
        KIND_PERMISSIONS.iter().find(|(it, _)| Some(*it) == subresource).map(|(_, verbs)| verbs);
    permission.group == group && verbs.is_some_and(|verbs| verbs.contains(&permission.verb))
}

/// Checks that an account has the permissions that it needs, and otherwise only those of every account.
pub(super) fn check(
    cluster: &Cluster,
    installed: &InstalledChart,
    plan: &ReleasePlan,
) -> anyhow::Result<PermissionCounts> {
    let mut client = Client::new(cluster)?;
    let resources = resources(&mut client)?;
    let permissions = all_permissions(&resources, plan);
    wait_for_permissions(
        cluster,
        installed,
        permissions.iter().filter(|permission| plan.needs(permission)),
    )?;
    let allowed = granted(cluster, installed, &permissions)?;
    let needed: BTreeSet<_> =
        permissions.iter().filter(|permission| plan.needs(permission)).collect();
    ensure!(!needed.is_empty(), "no permission is needed");
    let missing: Vec<_> =
        needed.iter().filter(|permission| !allowed.contains(*permission)).collect();
    ensure!(missing.is_empty(), "missing permissions: {missing:#?}");
    let others: Vec<_> = allowed.iter().filter(|permission| !needed.contains(permission)).collect();
    let mut unprivileged = AccessReviewer::unprivileged(cluster)?;
    for permission in others {
        ensure!(unprivileged.is_allowed(permission)?, "unneeded permission: {permission:#?}");
    }
    check_paths(cluster, installed)?;
    Ok(PermissionCounts {
        resources: resources.len(),
        asked: permissions.len(),
        allowed: needed.len(),
    })
}

/// Checks that the account has no more access to other paths than every account.
fn check_paths(cluster: &Cluster, installed: &InstalledChart) -> anyhow::Result<()> {
    let mut account = AccessReviewer::for_chart(cluster, installed)?;
    let mut unprivileged = AccessReviewer::unprivileged(cluster)?;
    for path in ["/", "/metrics", "/logs", "/debug/pprof", "/version", "/healthz", "*"] {
        for verb in ["get", "post", "put", "delete", "*"] {
            let ours = account.is_path_allowed(path, verb)?;
            let theirs = unprivileged.is_path_allowed(path, verb)?;
            ensure!(ours == theirs, "{verb} {path}: {ours}, for other accounts {theirs}");
        }
    }
    Ok(())
}

/// All permissions to check.
fn all_permissions(resources: &BTreeSet<(String, String)>, plan: &ReleasePlan) -> Vec<Permission> {
    let mut permissions = Vec::new();
    for namespace in plan.checked_namespaces() {
        for (group, resource) in resources {
            // Roles restrict the names of the Lease and of the probe only.
            let names: &[_] = match resource.as_str() {
                "leases" => &["", plan.lease, "another"],
                "cronjobs" | "cronjobs/status" => &["", PROBE, "another"],
                _ => &[""],
            };
            for (name, verb) in names.iter().flat_map(|name| VERBS.map(|verb| (*name, verb))) {
                permissions.push(Permission {
                    namespace,
                    group: group.clone(),
                    resource: resource.clone(),
                    name,
                    verb,
                });
            }
        }
    }
    permissions
}

/// Waits until the server has loaded the roles, shortly after they are written.
fn wait_for_permissions<'a>(
    cluster: &Cluster,
    installed: &InstalledChart,
    needed: impl Iterator<Item = &'a Permission>,
) -> anyhow::Result<()> {
    let mut reviewer = AccessReviewer::for_chart(cluster, installed)?;
    for permission in needed {
        probe::wait_for(&format!("{permission:?}"), || reviewer.is_allowed(permission))?;
    }
    Ok(())
}

/// The permissions of a list that an account has.
fn granted(
    cluster: &Cluster,
    installed: &InstalledChart,
    permissions: &[Permission],
) -> anyhow::Result<BTreeSet<Permission>> {
    let share = permissions.len().div_ceil(REVIEWERS).max(1);
    let allowed = |permissions: &[Permission]| -> anyhow::Result<Vec<Permission>> {
        let mut reviewer = AccessReviewer::for_chart(cluster, installed)?;
        let mut allowed = Vec::new();
        for permission in permissions {
            if reviewer.is_allowed(permission)? {
                allowed.push(permission.clone());
            }
        }
        Ok(allowed)
    };
    thread::scope(|scope| {
        let tasks =
            permissions.chunks(share).map(|permissions| scope.spawn(move || allowed(permissions)));
        let tasks: Vec<_> = tasks.collect();
        let mut all = BTreeSet::new();
        for task in tasks {
            all.extend(task.join().ok().context("a reviewer panicked")??);
        }
        Ok(all)
    })
}

/// The group and name of every resource and subresource. Discovery does not list `finalizers`, so they
/// are added.
fn resources(client: &mut Client) -> anyhow::Result<BTreeSet<(String, String)>> {
    let mut found = BTreeSet::from([("*".to_owned(), "*".to_owned())]);
    let mut add = |group: &str, list: &Value| {
        for name in strings(list, "/resources", "/name") {
            if !name.contains('/') {
                found.insert((group.to_owned(), format!("{name}/finalizers")));
            }
            found.insert((group.to_owned(), name));
        }
    };
    add("", &client.get("/api/v1")?);
    let groups = client.get("/apis")?;
    for group in json::items(&groups, "/groups") {
        let name = group.get("name").and_then(Value::as_str).context("a group without a name")?;
        for version in strings(group, "/versions", "/groupVersion") {
            add(name, &client.get(&format!("/apis/{version}"))?);
        }
    }
    ensure!(found.len() > 150, "only {} resources", found.len());
    for must in ["secrets", "pods/exec", "serviceaccounts/token", "scheduledjobs/status"] {
        ensure!(found.iter().any(|(_, name)| name == must), "{must} is missing");
    }
    Ok(found)
}

/// The text at a pointer of each item of a list.
fn strings(object: &Value, list: &str, pointer: &str) -> Vec<String> {
    let items = json::items(object, list).iter();
    items.filter_map(|item| item.pointer(pointer)?.as_str()).map(str::to_owned).collect()
}
