//! Every right that there is on a cluster, and whether an account has just those that it needs.
//!
//! The server itself is asked, by SubjectAccessReviews, about every verb on every resource that it
//! serves, in three places: everywhere, in the namespace of the release, and in another one.

mod reviews;

use std::{collections::BTreeSet, fmt, thread};

use anyhow::{Context, ensure};
use serde_json::Value;

use self::reviews::Reviewer;
use super::Installed;
use crate::{Client, Cluster, probe};

/// All verbs of resources, those included that only some have a meaning for.
const VERBS: [&str; 14] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "bind",
    "escalate",
    "impersonate",
    "use",
    "approve",
    "*",
];

/// What it needs where it looks after things, beside the kinds themselves: group, resource, verbs.
const WORK: [(&str, &str, &[&str]); 2] = [
    ("batch", "jobs", &["get", "list", "watch", "create", "patch", "delete"]),
    ("", "events", &["create", "patch"]),
];

/// What it needs of each kind that it looks after: the part of it, verbs.
const KIND: [(&str, &[&str]); 3] = [
    ("", &["get", "list", "watch", "patch"]),
    ("/status", &["update"]),
    ("/finalizers", &["update"]),
];

/// The CronJob by which another controller of CronJobs shows.
const PROBE: &str = "punctual-probe";

/// A namespace in which a release for one namespace has nothing to do.
const ELSEWHERE: &str = "default";

/// Questions that are asked at a time.
const REVIEWERS: usize = 4;

/// What a release is for.
pub(super) struct Scheme {
    /// The name of the release, and of its namespace.
    pub(super) release: &'static str,
    pub(super) kinds: &'static [&'static str],
    /// The only namespace that it looks after, if not all.
    pub(super) namespaces: Option<&'static str>,
    /// The name of its Lease.
    pub(super) lease: &'static str,
}

/// A right, as the server is asked about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    /// None means all of them.
    namespace: &'static str,
    group: String,
    /// With the subresource, if it is about one.
    resource: String,
    /// None means any.
    name: &'static str,
    verb: &'static str,
}

/// What was asked.
pub(super) struct Counts {
    resources: usize,
    asked: usize,
    allowed: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { resources, asked, allowed } = self;
        let denied = asked - allowed;
        write!(f, "{resources} resources, {asked} rights: {allowed} allowed, {denied} denied")
    }
}

impl Scheme {
    /// The values of the chart that ask for it.
    pub(super) fn values(&self) -> String {
        let namespaces: Vec<_> = self.namespaces.into_iter().collect();
        format!(
            "kinds: {:?}\nnamespaces: {namespaces:?}\nleaderElection: {{leaseName: {}}}\n",
            self.kinds, self.lease
        )
    }

    /// Where questions are about.
    fn places(&self) -> Vec<&'static str> {
        ["", self.release, ELSEWHERE].into_iter().chain(self.namespaces).collect()
    }

    /// Whether it needs a right.
    fn needs(&self, right: &Right) -> bool {
        let is_here = self.namespaces.is_none_or(|namespace| namespace == right.namespace);
        let is_home = right.namespace == self.release;
        is_here && self.is_of_work(right) || is_home && self.is_of_election(right)
    }

    fn is_of_work(&self, right: &Right) -> bool {
        let mut work = WORK.iter();
        let is_of_jobs = work.any(|(group, resource, verbs)| {
            right.group == *group && right.resource == *resource && verbs.contains(&right.verb)
        });
        is_of_jobs || self.kinds.iter().any(|kind| is_of_kind(kind, right))
    }

    fn is_of_election(&self, right: &Right) -> bool {
        match (right.group.as_str(), right.resource.as_str(), right.verb) {
            ("coordination.k8s.io", "leases", "create") => true,
            ("coordination.k8s.io", "leases", "get" | "update") => right.name == self.lease,
            ("", "events", "create" | "patch") => true,
            _ => self.kinds.contains(&"cronjobs") && is_of_probe(right),
        }
    }
}

/// What it needs to see whether another controller of CronJobs is at work.
fn is_of_probe(right: &Right) -> bool {
    match (right.group.as_str(), right.resource.as_str(), right.verb) {
        ("batch", "cronjobs", "create") => true,
        ("batch", "cronjobs", "get" | "delete") => right.name == PROBE,
        ("batch", "cronjobs/status", "update") => right.name == PROBE,
        _ => false,
    }
}

fn is_of_kind(kind: &str, right: &Right) -> bool {
    let group = if kind == "cronjobs" { "batch" } else { "punctual.dev" };
    let part = right.resource.strip_prefix(kind);
    let verbs = KIND.iter().find(|(of, _)| Some(*of) == part).map(|(_, verbs)| verbs);
    right.group == group && verbs.is_some_and(|verbs| verbs.contains(&right.verb))
}

/// Whether an account has the rights that its work needs, and beside those only what everybody has.
pub(super) fn check(
    cluster: &Cluster,
    installed: &Installed,
    scheme: &Scheme,
) -> anyhow::Result<Counts> {
    let mut client = Client::new(cluster)?;
    let resources = resources(&mut client)?;
    let rights = all(&resources, scheme);
    wait(cluster, installed, rights.iter().filter(|right| scheme.needs(right)))?;
    let allowed = ask(cluster, installed, &rights)?;
    let needed: BTreeSet<_> = rights.iter().filter(|right| scheme.needs(right)).collect();
    ensure!(!needed.is_empty(), "nothing is needed");
    let lacking: Vec<_> = needed.iter().filter(|right| !allowed.contains(*right)).collect();
    ensure!(lacking.is_empty(), "rights that it needs and has not: {lacking:#?}");
    let others: Vec<_> = allowed.iter().filter(|right| !needed.contains(right)).collect();
    let mut nobody = Reviewer::of_nobody(cluster)?;
    for right in others {
        ensure!(nobody.may(right)?, "a right that it does not need: {right:#?}");
    }
    beside_resources(cluster, installed)?;
    Ok(Counts { resources: resources.len(), asked: rights.len(), allowed: needed.len() })
}

/// Paths that are no resources: nothing but what everybody may see.
fn beside_resources(cluster: &Cluster, installed: &Installed) -> anyhow::Result<()> {
    let (mut account, mut nobody) =
        (Reviewer::of(cluster, installed)?, Reviewer::of_nobody(cluster)?);
    for path in ["/", "/metrics", "/logs", "/debug/pprof", "/version", "/healthz", "*"] {
        for verb in ["get", "post", "put", "delete", "*"] {
            let (ours, theirs) = (account.may_at(path, verb)?, nobody.may_at(path, verb)?);
            ensure!(ours == theirs, "{verb} {path}: {ours}, and for others {theirs}");
        }
    }
    Ok(())
}

/// Every right that can be asked about.
fn all(resources: &BTreeSet<(String, String)>, scheme: &Scheme) -> Vec<Right> {
    let mut rights = Vec::new();
    for namespace in scheme.places() {
        for (group, resource) in resources {
            // Only a Lease and the probe are known by their names.
            let names: &[_] = match resource.as_str() {
                "leases" => &["", scheme.lease, "another"],
                "cronjobs" | "cronjobs/status" => &["", PROBE, "another"],
                _ => &[""],
            };
            for (name, verb) in names.iter().flat_map(|name| VERBS.map(|verb| (*name, verb))) {
                let (group, resource) = (group.clone(), resource.clone());
                rights.push(Right { namespace, group, resource, name, verb });
            }
        }
    }
    rights
}

/// The server learns of Roles a moment after they are written.
fn wait<'a>(
    cluster: &Cluster,
    installed: &Installed,
    needed: impl Iterator<Item = &'a Right>,
) -> anyhow::Result<()> {
    let mut reviewer = Reviewer::of(cluster, installed)?;
    for right in needed {
        probe::until(&format!("{right:?}"), || Ok(reviewer.may(right)?.then_some(())))?;
    }
    Ok(())
}

/// Those rights of a list that an account has.
fn ask(
    cluster: &Cluster,
    installed: &Installed,
    rights: &[Right],
) -> anyhow::Result<BTreeSet<Right>> {
    let share = rights.len().div_ceil(REVIEWERS).max(1);
    let allowed = |rights: &[Right]| -> anyhow::Result<Vec<Right>> {
        let mut reviewer = Reviewer::of(cluster, installed)?;
        let mut allowed = Vec::new();
        for right in rights {
            if reviewer.may(right)? {
                allowed.push(right.clone());
            }
        }
        Ok(allowed)
    };
    thread::scope(|scope| {
        let tasks = rights.chunks(share).map(|rights| scope.spawn(move || allowed(rights)));
        let tasks: Vec<_> = tasks.collect();
        let mut all = BTreeSet::new();
        for task in tasks {
            all.extend(task.join().ok().context("a reviewer panicked")??);
        }
        Ok(all)
    })
}

/// Group and name of every resource and subresource; finalizers are asked for, but not listed.
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
    for group in groups.pointer("/groups").and_then(Value::as_array).into_iter().flatten() {
        let name = group.get("name").and_then(Value::as_str).context("a group without a name")?;
        for version in strings(group, "/versions", "/groupVersion") {
            add(name, &client.get(&format!("/apis/{version}"))?);
        }
    }
    ensure!(found.len() > 150, "only {} resources", found.len());
    for must in ["secrets", "pods/exec", "serviceaccounts/token", "scheduledjobs/status"] {
        ensure!(found.iter().any(|(_, name)| name == must), "{must} is not among them");
    }
    Ok(found)
}

/// A text of each item of a list.
fn strings(object: &Value, list: &str, text: &str) -> Vec<String> {
    let items = object.pointer(list).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.pointer(text)?.as_str()).map(str::to_owned).collect()
}
