//! Parses `TYPE/NAME` and finds the object that it names.

use anyhow::{anyhow, bail, ensure};
use punctual_api::{CronJob, CronJobKind, names};
use punctual_client::resources::cron_jobs_of;
pub(super) use punctual_reader::with_kind;

use super::session::Session;

/// The names of the types, as kubectl has them.
const CRON_JOB_NAMES: [&str; 4] = ["cronjob", "cronjobs", "cj", "cronjobs.batch"];
const SCHEDULED_JOB_NAMES: [&str; 4] =
    ["scheduledjob", "scheduledjobs", "sj", "scheduledjobs.punctual.dev"];

/// A CronJob that a user named.
#[derive(Debug, PartialEq, Eq)]
struct TargetName<'a> {
    /// The kind; `None` for a name alone.
    kind: Option<CronJobKind>,
    name: &'a str,
}

fn parse(text: &str) -> anyhow::Result<TargetName<'_>> {
    let Some((kind, name)) = text.split_once('/') else {
        return check(TargetName { kind: None, name: text });
    };
    let lower = kind.to_lowercase();
    let lower = lower
        .replace("cronjob.batch", "cronjob")
        .replace("scheduledjob.punctual.dev", "scheduledjob");
    let kind = if CRON_JOB_NAMES.contains(&lower.as_str()) {
        CronJobKind::BatchV1
    } else if SCHEDULED_JOB_NAMES.contains(&lower.as_str()) {
        CronJobKind::ScheduledJob
    } else {
        bail!("{kind:?} is not a type of CronJob; write cronjob/{name} or scheduledjob/{name}");
    };
    check(TargetName { kind: Some(kind), name })
}

/// A name becomes part of a path, so it must be valid.
fn check(target: TargetName<'_>) -> anyhow::Result<TargetName<'_>> {
    let reasons = names::check_dns_subdomain(target.name);
    ensure!(
        reasons.is_empty(),
        "{:?} is not the name of an object: {}",
        target.name,
        reasons.join("; ")
    );
    Ok(target)
}

/// Finds the object: a CronJob, else a ScheduledJob. A name that both have is an error.
pub(super) async fn find(session: &Session, text: &str) -> anyhow::Result<CronJob> {
    let target = parse(text)?;
    let name = target.name;
    let mut found = match target.kind {
        Some(kind) => Vec::from_iter(read(session, kind, name).await?),
        None => {
            let mut found = Vec::from_iter(read(session, CronJobKind::BatchV1, name).await?);
            if session.serves_scheduled_jobs() {
                found.extend(read(session, CronJobKind::ScheduledJob, name).await?);
            }
            found
        }
    };
    ensure!(
        found.len() < 2,
        "{name:?} is a CronJob and a ScheduledJob; write cronjob/{name} or scheduledjob/{name}"
    );
    found.pop().ok_or_else(|| not_found(session, &target))
}

fn not_found(session: &Session, target: &TargetName<'_>) -> anyhow::Error {
    let name = target.name;
    let kinds = match target.kind {
        Some(CronJobKind::ScheduledJob) => "ScheduledJob",
        Some(_) => "CronJob",
        None if session.serves_scheduled_jobs() => "CronJob or ScheduledJob",
        None => "CronJob",
    };
    anyhow!(
        "no {kinds} {name:?} in namespace {:?} of {}; choose another namespace with -n, or find it with \
         `{} list -A`",
        session.namespace,
        session.url(),
        crate::program_name::program_name()
    )
}

async fn read(session: &Session, kind: CronJobKind, name: &str) -> anyhow::Result<Option<CronJob>> {
    let path = cron_jobs_of(kind).object_path(&session.namespace, name);
    let found: Option<CronJob> = session.get_optional(&path).await?;
    Ok(found.map(|cron_job| with_kind(cron_job, kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_names_of_kubectl() {
        for (text, kind, name) in [
            ("backup", None, "backup"),
            ("cj/backup", Some(CronJobKind::BatchV1), "backup"),
            ("cronjob.batch/backup", Some(CronJobKind::BatchV1), "backup"),
            ("CronJob/backup", Some(CronJobKind::BatchV1), "backup"),
            ("sj/a.b", Some(CronJobKind::ScheduledJob), "a.b"),
            ("scheduledjob.punctual.dev/x", Some(CronJobKind::ScheduledJob), "x"),
        ] {
            assert_eq!(parse(text).unwrap(), TargetName { kind, name }, "{text}");
        }
        for text in ["job/backup", "", "cj/", "../secrets", "cj/a/b", "A b"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
