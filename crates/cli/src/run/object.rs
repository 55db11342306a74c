//! Builds the CronJob or ScheduledJob that the command line of `punctual run` describes.

use anyhow::Context as _;
use punctual_api::{ConcurrencyPolicy, CronJobKind};
use punctual_import::to_object_name;
use serde_json::{Value, json};

use super::args::RunArgs;

/// The image of a container without one. `punctual up` ignores images, but the API requires one.
const NO_IMAGE: &str = "none";

/// The kind of the object: a kind that every cluster accepts with these arguments.
pub(super) fn kind(args: &RunArgs) -> CronJobKind {
    if let Some(choice) = args.kind {
        return choice.kind();
    }
    let is_catch_up =
        args.concurrency_policy.as_deref() == Some(ConcurrencyPolicy::CatchUp.as_str());
    let needs_extension = args.when.at.is_some() || is_catch_up;
    if needs_extension { CronJobKind::ScheduledJob } else { CronJobKind::BatchV1 }
}

/// Builds the object. Its schedule is in the named zone.
pub(super) fn build(args: &RunArgs, time_zone: &str) -> anyhow::Result<Value> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => default_name(&args.command)?,
    };
    let variables = args.env.iter();
    let variables: Vec<Value> =
        variables.map(|variable| json!({"name": variable.name, "value": variable.value})).collect();
    let container = without_unset(json!({
        "name": "main",
        "image": args.image.as_deref().unwrap_or(NO_IMAGE),
        "command": args.command,
        "env": (!variables.is_empty()).then_some(variables),
    }));
    let pod = json!({"restartPolicy": args.restart, "containers": [container]});
    let spec = without_unset(json!({
        "schedule": args.when.schedule(),
        "timeZone": time_zone,
        "concurrencyPolicy": args.concurrency_policy,
        "jobTemplate": {"spec": {"template": {"spec": pod}}},
    }));
    let kind = kind(args);
    Ok(json!({
        "apiVersion": kind.api_version(),
        "kind": kind.kind(),
        "metadata": without_unset(json!({"name": name, "namespace": args.namespace})),
        "spec": spec,
    }))
}

/// Removes the fields of an object that are null: they stand for options that are not set.
fn without_unset(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

/// Derives a name from the program's file name.
fn default_name(command: &[String]) -> anyhow::Result<String> {
    let program = command.first().map(String::as_str).unwrap_or_default();
    let file_name = program.rsplit('/').next().unwrap_or_default();
    to_object_name(file_name).with_context(|| {
        format!("could not derive a name from the program {program:?}; set --name")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_name_is_a_valid_name_derived_from_the_program() {
        for (program, wanted) in [
            ("date", "date"),
            ("/usr/local/bin/Backup_DB.sh", "backup-db-sh"),
            ("./-x-", "x"),
            (&"a".repeat(60), &"a".repeat(52)),
            (&format!("{}.{}", "a".repeat(51), "b"), &"a".repeat(51)),
        ] {
            assert_eq!(default_name(&[program.to_owned()]).unwrap(), wanted);
        }
        for program in ["", "/", "..", "ä"] {
            let error = default_name(&[program.to_owned()]).unwrap_err().to_string();
            assert!(error.ends_with("; set --name"), "{error}");
        }
    }
}
