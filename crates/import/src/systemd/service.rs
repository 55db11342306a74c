//! The service that a timer starts: its command, user and environment.

use super::{
    exec::{self, UnitSpecifiers},
    time_span,
    unit_file::UnitFile,
};
use crate::{
    crontab,
    draft::{Variable, set_variable},
    importer::ImportOptions,
    users::UserEntry,
};

const SERVICE: &str = "Service";

/// The settings of a service that have no effect on what a run does.
const WITHOUT_EFFECT: [&str; 13] = [
    "Description",
    "Documentation",
    "SyslogIdentifier",
    "SyslogFacility",
    "SyslogLevel",
    "LogLevelMax",
    "After",
    "Before",
    "Wants",
    "WantedBy",
    "DefaultDependencies",
    "Alias",
    "Also",
];

/// The settings of a service that are imported.
const IMPORTED: [&str; 10] = [
    "ExecStart",
    "ExecStartPre",
    "User",
    "Group",
    "Environment",
    "WorkingDirectory",
    "Type",
    "TimeoutStartSec",
    "TimeoutSec",
    "RuntimeMaxSec",
];

/// What a service runs.
#[derive(Clone, Debug, Default)]
pub(super) struct ServiceDraft {
    pub(super) command: Vec<String>,
    pub(super) env: Vec<Variable>,
    pub(super) user: Option<UserEntry>,
    pub(super) working_dir: Option<String>,
    pub(super) active_deadline: Option<i64>,
    pub(super) warnings: Vec<String>,
}

/// Reads a service. `name` is its name with the instance of a template.
pub(super) fn read(service: &UnitFile, name: &str, options: &ImportOptions) -> ServiceDraft {
    let specifiers = UnitSpecifiers { unit: name };
    let mut draft = ServiceDraft::default();
    draft.read_environment(service, specifiers);
    draft.read_user(service, options);
    draft.read_command(service, specifiers);
    draft.read_working_dir(service, specifiers);
    draft.read_limits(service);
    draft.warn_about_rest(service);
    draft
}

impl ServiceDraft {
    fn read_environment(&mut self, service: &UnitFile, specifiers: UnitSpecifiers<'_>) {
        for setting in service.list(SERVICE, "Environment") {
            let text = specifiers.expand(&setting.value, &mut self.warnings);
            for assignment in exec::split_words(&text) {
                match assignment.split_once('=') {
                    Some((name, value)) if crontab::is_variable_name(name) => {
                        set_variable(&mut self.env, name, value);
                    }
                    _ => {
                        self.warnings.push(format!("Environment={assignment} is not an assignment"))
                    }
                }
            }
        }
    }

    fn read_user(&mut self, service: &UnitFile, options: &ImportOptions) {
        let Some(name) = service.value(SERVICE, "User") else {
            if let Some(group) = service.value(SERVICE, "Group") {
                self.warnings.push(format!("Group={group} is ignored without User="));
            }
            return;
        };
        self.user = options.users.find(name).cloned();
        let Some(user) = &self.user else {
            self.warnings.push(format!(
                "the user {name} is not in the passwd file, so the command runs as the user of the \
                 Pods; pass the right file with --passwd"
            ));
            return;
        };
        for (variable, value) in
            [("HOME", &user.home), ("LOGNAME", &user.name), ("USER", &user.name)]
        {
            if self.env.iter().all(|known| known.name != variable) {
                set_variable(&mut self.env, variable, value);
            }
        }
        if let Some(group) = service.value(SERVICE, "Group") {
            self.warnings.push(format!(
                "Group={group} is not imported; the command runs with the user's own group {}",
                user.gid
            ));
        }
    }

    fn read_command(&mut self, service: &UnitFile, specifiers: UnitSpecifiers<'_>) {
        let settings = service.list(SERVICE, "ExecStartPre");
        let settings = settings.into_iter().chain(service.list(SERVICE, "ExecStart"));
        let mut commands = Vec::new();
        for setting in settings {
            let value = setting.value.as_str();
            commands.extend(exec::parse(value, specifiers, &self.env, &mut self.warnings));
        }
        self.command = exec::to_container_command(&commands);
        if commands.is_empty() {
            self.command.clear();
        }
    }

    fn read_working_dir(&mut self, service: &UnitFile, specifiers: UnitSpecifiers<'_>) {
        let Some(value) = service.value(SERVICE, "WorkingDirectory") else {
            // systemd starts the services of the system there.
            self.working_dir = Some("/".into());
            return;
        };
        if value.starts_with('-') {
            self.warnings.push("the working directory must exist here".into());
        }
        let value = value.trim_start_matches('-');
        if value == "~" {
            self.working_dir = self.user.as_ref().map(|user| user.home.clone());
            return;
        }
        let path = specifiers.expand(value, &mut self.warnings);
        self.working_dir = Some(path);
    }

    fn read_limits(&mut self, service: &UnitFile) {
        let service_type = service.value(SERVICE, "Type").unwrap_or("simple");
        if !matches!(service_type, "oneshot" | "simple" | "exec" | "idle") {
            self.warnings.push(format!(
                "Type={service_type}: a run ends when the first process of the command ends"
            ));
        }
        let keys: &[&str] = if service_type == "oneshot" {
            &["TimeoutStartSec", "TimeoutSec"]
        } else {
            &["RuntimeMaxSec"]
        };
        let spans = keys.iter().filter_map(|key| service.value(SERVICE, key));
        let seconds = spans.filter_map(time_span::parse_seconds).next();
        self.active_deadline =
            seconds.filter(|seconds| *seconds > 0.0).map(|seconds| seconds.ceil() as i64);
    }

    /// Lists the settings that are not imported.
    fn warn_about_rest(&mut self, service: &UnitFile) {
        let sections = ["Unit", SERVICE].into_iter();
        let settings = sections.flat_map(|section| service.section(section));
        let mut ignored: Vec<&str> = settings.map(|setting| setting.key.as_str()).collect();
        ignored.retain(|key| !WITHOUT_EFFECT.contains(key) && !IMPORTED.contains(key));
        ignored.sort_unstable();
        ignored.dedup();
        if !ignored.is_empty() {
            self.warnings.push(format!(
                "these settings of {} are not imported: {}",
                service.name,
                ignored.join(", ")
            ));
        }
    }
}
