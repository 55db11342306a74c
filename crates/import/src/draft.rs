//! The parts of a generated CronJob, and the manifest that they make.

use punctual_api::{CronJobKind, well_known::annotations};
use serde_json::{Map, Value, json};

use crate::{
    calendar_fields::ConvertedSchedule,
    command::{escape_expansion, on_weekdays},
    importer::ImportOptions,
    users::UserEntry,
};

/// The starting deadline of a job whose original scheduler does not run missed times later.
pub(crate) const DEADLINE_WITHOUT_CATCH_UP_SECONDS: i64 = 60;

/// A generated CronJob before it has a name.
#[derive(Clone, Debug)]
pub(crate) struct JobDraft {
    /// The wanted name, which need not be valid or unique.
    pub(crate) name: String,
    pub(crate) schedule: ConvertedSchedule,
    pub(crate) time_zone: String,
    pub(crate) command: Vec<String>,
    pub(crate) env: Vec<Variable>,
    pub(crate) user: Option<UserEntry>,
    pub(crate) working_dir: Option<String>,
    pub(crate) concurrency_policy: &'static str,
    /// `None` starts the latest missed time however late it is.
    pub(crate) starting_deadline: Option<i64>,
    pub(crate) active_deadline: Option<i64>,
    /// The jitter in percent of the time between slots.
    pub(crate) jitter: Option<i64>,
}

/// An environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Sets a variable, replacing an earlier one of the same name.
pub(crate) fn set_variable(variables: &mut Vec<Variable>, name: &str, value: &str) {
    match variables.iter_mut().find(|variable| variable.name == name) {
        Some(variable) => variable.value = value.into(),
        None => variables.push(Variable { name: name.into(), value: value.into() }),
    }
}

impl JobDraft {
    pub(crate) fn into_manifest(self, name: &str, options: &ImportOptions) -> Value {
        let mut metadata = Map::new();
        metadata.insert("name".into(), name.into());
        if let Some(namespace) = &options.namespace {
            metadata.insert("namespace".into(), namespace.as_str().into());
        }
        let is_scheduled_job = options.kind == CronJobKind::ScheduledJob;
        if let Some(jitter) = self.jitter
            && !is_scheduled_job
        {
            metadata
                .insert("annotations".into(), json!({ (annotations::JITTER): jitter.to_string() }));
        }
        let mut spec = Map::new();
        spec.insert("schedule".into(), self.schedule.text.as_str().into());
        spec.insert("timeZone".into(), self.time_zone.as_str().into());
        spec.insert("concurrencyPolicy".into(), self.concurrency_policy.into());
        insert_some(&mut spec, "startingDeadlineSeconds", self.starting_deadline);
        if is_scheduled_job {
            insert_some(&mut spec, "jitter", self.jitter);
        }
        let mut job = Map::new();
        // cron and systemd do not repeat a failed command.
        job.insert("backoffLimit".into(), 0.into());
        insert_some(&mut job, "activeDeadlineSeconds", self.active_deadline);
        job.insert("template".into(), json!({ "spec": self.pod(&options.image) }));
        spec.insert("jobTemplate".into(), json!({ "spec": job }));
        json!({
            "apiVersion": options.kind.api_version(),
            "kind": options.kind.kind(),
            "metadata": metadata,
            "spec": spec,
        })
    }

    fn pod(self, image: &str) -> Value {
        let command = match self.schedule.only_weekdays {
            Some(weekdays) => on_weekdays(weekdays, &self.time_zone, self.command),
            None => self.command,
        };
        let command: Vec<String> = command.iter().map(|word| escape_expansion(word)).collect();
        let mut container = Map::new();
        container.insert("name".into(), "main".into());
        container.insert("image".into(), image.into());
        container.insert("command".into(), command.into());
        insert_some(&mut container, "workingDir", self.working_dir);
        if !self.env.is_empty() {
            container.insert("env".into(), self.env.iter().map(Variable::to_value).collect());
        }
        let mut pod = Map::new();
        pod.insert("restartPolicy".into(), "Never".into());
        if let Some(user) = self.user {
            let context = json!({ "runAsUser": user.uid, "runAsGroup": user.gid });
            pod.insert("securityContext".into(), context);
        }
        pod.insert("containers".into(), json!([container]));
        pod.into()
    }
}

impl Variable {
    fn to_value(&self) -> Value {
        json!({ "name": self.name, "value": escape_expansion(&self.value) })
    }
}

fn insert_some(object: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object.insert(key.into(), value.into());
    }
}
