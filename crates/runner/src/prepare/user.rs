//! Finds the user of a container, its groups and its login variables.
//!
//! Users and groups come from `/etc/passwd` and `/etc/group`, as container runtimes take them from the files
//! of an image. A user that they do not have gets a group without rights, because the group 0 may read files
//! of root.

use std::fs::File;
use std::io::Read as _;

use punctual_api::Pod;
use punctual_api::pod::Container;
use punctual_api::well_known::annotations;

use super::PrepareError;
use crate::pod_plan::UserPlan;

/// The group of users that the machine does not know: `nogroup`.
const UNKNOWN_USER_GROUP: u32 = 65_534;
/// The part of a database that is read.
const DATABASE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The users and groups of this machine.
#[derive(Debug, Default)]
pub(super) struct UserDatabase {
    passwd: String,
    group: String,
}

/// A user of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserEntry {
    pub(super) name: String,
    pub(super) user: u32,
    pub(super) group: u32,
    pub(super) home: String,
}

/// The user that a container runs as.
#[derive(Clone, Debug)]
pub(super) struct ContainerUser {
    pub(super) plan: UserPlan,
    /// The entry in the database; `None` if it has none.
    pub(super) entry: Option<UserEntry>,
    /// Whether it is another user than that of this process.
    pub(super) is_other: bool,
}

impl UserDatabase {
    /// Reads the database of this machine. A file that cannot be read has no entries.
    pub(super) fn read() -> UserDatabase {
        UserDatabase { passwd: read_text("/etc/passwd"), group: read_text("/etc/group") }
    }

    fn find(&self, is_match: impl Fn(&UserEntry) -> bool) -> Option<UserEntry> {
        self.passwd.lines().filter_map(parse_user).find(is_match)
    }

    /// The groups that list a user as a member.
    fn groups_of(&self, name: &str) -> Vec<u32> {
        let group = |line: &str| {
            let fields: Vec<&str> = line.split(':').collect();
            let [_, _, id, members] = fields.as_slice() else { return None };
            members.split(',').any(|member| member.trim() == name).then(|| id.parse().ok())?
        };
        self.group.lines().filter_map(group).collect()
    }
}

fn read_text(path: &str) -> String {
    let mut bytes = Vec::new();
    let file = File::open(path);
    let _ = file.and_then(|file| file.take(DATABASE_BYTES_MAX).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Parses `name:password:user:group:comment:home:shell`.
fn parse_user(line: &str) -> Option<UserEntry> {
    let fields: Vec<&str> = line.split(':').collect();
    let [name, _, user, group, _, home, _] = fields.as_slice() else { return None };
    Some(UserEntry {
        name: (*name).to_owned(),
        user: user.parse().ok()?,
        group: group.parse().ok()?,
        home: (*home).to_owned(),
    })
}

/// The user that a container runs as. `own_user` is the user of this process.
pub(super) fn container_user(
    pod: &Pod,
    container: &Container,
    database: &UserDatabase,
    own_user: u32,
) -> Result<ContainerUser, PrepareError> {
    let pod_context = pod.spec.security_context.clone().unwrap_or_default();
    let own = container.security_context.clone().unwrap_or_default();
    let id = |id: Option<i64>| id.and_then(|id| u32::try_from(id).ok());
    let number = id(own.run_as_user.or(pod_context.run_as_user));
    let user = match named_user(pod, database)? {
        Some(named) if number.is_some_and(|number| number != named.user) => {
            let key = annotations::RUN_AS_USER;
            let message = format!("the annotation {key} and runAsUser name different users");
            return Err(PrepareError::Unsupported(message));
        }
        Some(named) => Some(named.user),
        None => number,
    };
    let is_other = user.is_some_and(|user| user != own_user);
    let entry = database.find(|entry| entry.user == user.unwrap_or(own_user));
    let database_group = entry.as_ref().map_or(UNKNOWN_USER_GROUP, |entry| entry.group);
    let group = id(own.run_as_group.or(pod_context.run_as_group));
    let groups = pod_context.supplemental_groups.iter().chain(&pod_context.fs_group);
    let mut groups: Vec<u32> = groups.filter_map(|group| id(Some(*group))).collect();
    let policy = pod_context.extra.get("supplementalGroupsPolicy").and_then(|it| it.as_str());
    if is_other
        && policy != Some("Strict")
        && let Some(entry) = &entry
    {
        groups.extend(database.groups_of(&entry.name));
    }
    groups.sort_unstable();
    groups.dedup();
    let plan = UserPlan {
        user,
        group: group.or(is_other.then_some(database_group)),
        groups,
        must_not_be_root: own.run_as_non_root.or(pod_context.run_as_non_root) == Some(true),
        no_new_privileges: own.allow_privilege_escalation == Some(false),
    };
    Ok(ContainerUser { plan, entry, is_other })
}

/// The user that the Pod's annotation names.
fn named_user(pod: &Pod, database: &UserDatabase) -> Result<Option<UserEntry>, PrepareError> {
    let Some(name) = pod.metadata.annotation(annotations::RUN_AS_USER) else { return Ok(None) };
    let missing = || {
        let key = annotations::RUN_AS_USER;
        let message = format!("the annotation {key} names {name:?}, who is not in /etc/passwd");
        PrepareError::Unsupported(message)
    };
    database.find(|entry| entry.name == name).map(Some).ok_or_else(missing)
}

impl ContainerUser {
    /// The variables that cron sets for a user, with the home directory for users that have none.
    pub(super) fn login_variables(&self, no_home: String) -> Vec<(&'static str, String)> {
        let home = self.entry.as_ref().map(|entry| entry.home.clone());
        let home = home.filter(|home| !home.is_empty()).unwrap_or(no_home);
        let mut variables = vec![("HOME", home), ("SHELL", "/bin/sh".to_owned())];
        if let Some(entry) = &self.entry {
            variables.push(("USER", entry.name.clone()));
            variables.push(("LOGNAME", entry.name.clone()));
        }
        variables
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn database() -> UserDatabase {
        UserDatabase {
            passwd: "root:x:0:0:root:/root:/bin/bash\nbroken\n\
                     amy:x:1000:1001:Amy,,,:/home/amy:/bin/zsh\n"
                .to_owned(),
            group: "root:x:0:\namy:x:1001:\ndocker:x:99:bob,amy\nadm:x:4:amy\nx:x:y:amy\n"
                .to_owned(),
        }
    }

    fn user(annotation: Option<&str>, context: Value) -> Result<ContainerUser, PrepareError> {
        let mut pod = json!({"metadata": {"name": "p"}, "spec": {
            "securityContext": context, "containers": [{"name": "c"}]}});
        if let Some(name) = annotation {
            pod["metadata"]["annotations"] = json!({(annotations::RUN_AS_USER): name});
        }
        let pod: Pod = serde_json::from_value(pod).unwrap();
        container_user(&pod, &pod.spec.containers[0], &database(), 0)
    }

    #[test]
    fn the_groups_of_a_user_come_from_the_database() {
        let found = user(None, json!({"runAsUser": 1000, "supplementalGroups": [7]})).unwrap();
        assert_eq!((found.plan.user, found.plan.group), (Some(1000), Some(1001)));
        assert_eq!(found.plan.groups, [4, 7, 99]);
        let strict = json!({"runAsUser": 1000, "supplementalGroupsPolicy": "Strict"});
        assert_eq!(user(None, strict).unwrap().plan.groups, [0; 0]);
        let chosen = user(None, json!({"runAsUser": 1000, "runAsGroup": 5})).unwrap();
        assert_eq!(chosen.plan.group, Some(5));
    }

    #[test]
    fn an_unknown_user_does_not_have_the_group_of_root() {
        let found = user(None, json!({"runAsUser": 77})).unwrap();
        assert_eq!((found.plan.group, found.plan.groups), (Some(65_534), vec![]));
    }

    #[test]
    fn a_container_without_a_user_keeps_the_user_and_groups_of_this_process() {
        let found = user(None, json!({})).unwrap();
        assert_eq!((found.plan.user, found.plan.group), (None, None));
        assert!(!found.is_other);
        assert_eq!(found.entry.unwrap().name, "root");
    }

    #[test]
    fn an_annotation_names_the_user() {
        let found = user(Some("amy"), json!({})).unwrap();
        assert_eq!((found.plan.user, found.plan.group), (Some(1000), Some(1001)));
        assert!(user(Some("amy"), json!({"runAsUser": 1000})).is_ok());
        for (name, context) in [("amy", json!({"runAsUser": 1})), ("zoe", json!({}))] {
            let error = user(Some(name), context).unwrap_err().to_string();
            assert!(error.contains("punctual.dev/run-as-user"), "{error}");
        }
    }

    #[test]
    fn login_variables_are_those_of_cron() {
        let found = user(Some("amy"), json!({})).unwrap();
        let text = |(name, value): (&str, String)| format!("{name}={value}");
        let variables: Vec<String> =
            found.login_variables("/".into()).into_iter().map(text).collect();
        assert_eq!(variables, ["HOME=/home/amy", "SHELL=/bin/sh", "USER=amy", "LOGNAME=amy"]);
        let unknown = user(None, json!({"runAsUser": 77})).unwrap();
        let variables: Vec<String> =
            unknown.login_variables("/".into()).into_iter().map(text).collect();
        assert_eq!(variables, ["HOME=/", "SHELL=/bin/sh"]);
    }
}
