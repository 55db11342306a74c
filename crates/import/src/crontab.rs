//! Crontabs: the tables of users, of the system, and of anacron.

mod anacron;
mod entry;
mod environment;
pub(crate) mod fields;
pub(crate) mod folder;

use punctual_schedule::Zone;

pub(crate) use self::environment::is_variable_name;

use self::environment::Environment;
use crate::{
    importer::{Importer, SourceLine},
    users::UserEntry,
};

/// The format of a crontab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrontabFormat {
    /// The table of one user: five fields and a command.
    User,
    /// `/etc/crontab` and the files of `/etc/cron.d`: five fields, a user and a command.
    System,
    /// `/etc/anacrontab`: a period, a delay, a name and a command.
    Anacron,
}

/// The state while a crontab is read: what the lines so far have set for the lines below.
struct CrontabState<'a> {
    format: CrontabFormat,
    /// The owner of a user's table.
    owner: Option<&'a str>,
    environment: Environment,
    zone: Zone,
}

impl Importer {
    /// Imports a crontab. `owner` is the user whose table it is; it has no effect on other formats.
    pub fn import_crontab(
        &mut self,
        file: &str,
        text: &str,
        format: CrontabFormat,
        owner: Option<&str>,
    ) {
        let zone = self.options.zone.clone();
        let environment = Environment::default();
        let mut state = CrontabState { format, owner, environment, zone };
        if format == CrontabFormat::User && owner.is_none() {
            let source = SourceLine { file: file.into(), line: 0, text: "user crontab".into() };
            let warning = "the owner of the crontab is unknown, so HOME and the working directory \
                           are those of the Pod; name the owner with --user";
            self.warn(source, warning.into());
        }
        for (index, line) in text.split_inclusive('\n').enumerate() {
            self.crontab_line(file, index + 1, line, &mut state);
        }
    }

    fn crontab_line(
        &mut self,
        file: &str,
        number: usize,
        raw_line: &str,
        state: &mut CrontabState<'_>,
    ) {
        let is_complete = raw_line.ends_with('\n');
        let line = raw_line.strip_suffix('\n').unwrap_or(raw_line);
        let has_carriage_return = line.ends_with('\r');
        let line = line.strip_suffix('\r').unwrap_or(line).trim_start_matches([' ', '\t']);
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        let source = SourceLine { file: file.into(), line: number, text: line.into() };
        if let Some((name, value)) = environment::parse_assignment(line) {
            return self.set_environment(source, &name, &value, state);
        }
        let imported = match state.format {
            CrontabFormat::Anacron => self.anacron_entry(line, state),
            CrontabFormat::User | CrontabFormat::System => self.cron_entry(line, state),
        };
        match imported {
            Ok((draft, mut warnings)) => {
                if has_carriage_return {
                    warnings.push(
                        "the line ends with a carriage return, which cron passes to the command; \
                         it was removed"
                            .into(),
                    );
                }
                if !is_complete {
                    warnings.push(
                        "the line has no newline at its end; cron ignores or rejects such a line"
                            .into(),
                    );
                }
                let objects = vec![self.build(draft)];
                self.push(crate::ImportItem { source, objects, warnings });
            }
            Err(error) => self.reject(source, error.to_string()),
        }
    }

    fn set_environment(
        &mut self,
        source: SourceLine,
        name: &str,
        value: &str,
        state: &mut CrontabState<'_>,
    ) {
        match name {
            "CRON_TZ" => match state.zone.zones().get(value) {
                Ok(zone) => {
                    state.zone = zone;
                    let warning = "cronie uses CRON_TZ as the zone of the lines below it, and so \
                                   do these manifests; Debian's cron ignores it";
                    return self.warn(source, warning.into());
                }
                Err(error) => {
                    let reason = format!("{error}; the lines below keep the zone {}", state.zone);
                    return self.reject(source, reason);
                }
            },
            "MAILTO" | "MAILFROM" if value.is_empty() => return,
            "MAILTO" => {
                let warning = format!(
                    "cron mails the output of the lines below to {value}; here it goes to the \
                     logs of the Pods"
                );
                self.warn(source, warning);
            }
            "MAILFROM" | "CONTENT_TYPE" | "CONTENT_TRANSFER_ENCODING" => {
                self.warn(source, format!("{name} concerns mail, which is not sent"));
            }
            "RANDOM_DELAY" if value != "0" => {
                let warning = format!(
                    "the random delay of up to {value} minutes is not imported; set spec.jitter of \
                     a ScheduledJob or the annotation punctual.dev/jitter"
                );
                self.warn(source, warning);
            }
            _ if !environment::is_variable_name(name) => {
                let reason = format!("{name:?} is not a name of an environment variable");
                return self.reject(source, reason);
            }
            _ => {}
        }
        state.environment.set(name, value);
    }

    /// Finds the user that a line runs as.
    fn find_user(&self, name: &str, warnings: &mut Vec<String>) -> Option<UserEntry> {
        let found = self.options.users.find(name).cloned();
        if found.is_none() {
            warnings.push(format!(
                "the user {name} is not in the passwd file, so the command runs as the user of the \
                 Pods, with their HOME and working directory; pass the right file with --passwd"
            ));
        }
        found
    }
}
