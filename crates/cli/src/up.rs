//! `punctual up`. Server, controllers and runner do not exist yet; until then it says so and shows
//! when the manifests would run.

use anyhow::{Context, anyhow, bail};
use punctual_api::CronJob;
use punctual_schedule::{Schedule, Zone};
use serde_json::Value;

use crate::{
    args::Up,
    clock,
    manifest::{self, Document},
    output,
    slots::Slots,
    tzdata,
};

const SHOWN: u32 = 3;

pub(crate) fn run(args: &Up, zone: &Zone) -> anyhow::Result<()> {
    let mut cron_jobs = Vec::new();
    for document in manifest::read(&args.paths) {
        cron_jobs.extend(cron_job(document?)?);
    }
    if cron_jobs.is_empty() {
        bail!("no CronJob in the files given");
    }
    output::print(
        "`punctual up` does not run anything yet: its server, controllers and runner are still \
         to be built.\nThis is when it would run what you gave it.\n",
    )?;
    for cron_job in &cron_jobs {
        output::print(&preview(cron_job, zone)?)?;
    }
    Ok(())
}

/// The CronJob of a document, if it is one.
fn cron_job(document: Document) -> anyhow::Result<Option<CronJob>> {
    let Document { place, value, .. } = document;
    match value.get("kind").and_then(Value::as_str) {
        Some("CronJob" | "ScheduledJob") => {
            serde_json::from_value(value).with_context(|| place.to_string())
        }
        Some(_) => Ok(None),
        None => Err(anyhow!("{place}: the document has no kind")),
    }
}

fn preview(cron_job: &CronJob, default_zone: &Zone) -> anyhow::Result<String> {
    let CronJob { kind, metadata, spec, .. } = cron_job;
    let named = |what: &str| format!("{kind} {}, {what}", metadata.name);
    let zone = match &spec.time_zone {
        Some(name) => tzdata::named(default_zone.zones(), name)
            .map_err(anyhow::Error::msg)
            .with_context(|| named("spec.timeZone"))?,
        None => default_zone.clone(),
    };
    let schedule =
        Schedule::parse(&spec.schedule, &zone).with_context(|| named("spec.schedule"))?;
    let now = clock::now();
    let slots = Slots::of(&schedule, now, SHOWN, now).table(schedule.zone());
    let (name, description) = (&metadata.name, schedule.describe());
    Ok(format!("\n{kind} {name}: {description}.\n{slots}"))
}
