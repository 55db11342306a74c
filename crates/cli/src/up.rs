//! `punctual up`. Server, controllers and runner do not exist yet; until then it says so and shows
//! when the manifests would run.

use anyhow::{Context, bail};
use punctual_schedule::{Schedule, Zone};

use crate::{args::Up, clock, manifest, manifest::CronJob, output, slots::Slots, tzdata};

const SHOWN: u32 = 3;

pub(crate) fn run(args: &Up, zone: &Zone) -> anyhow::Result<()> {
    let cron_jobs = manifest::read_cron_jobs(&args.paths)?;
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

fn preview(cron_job: &CronJob, default_zone: &Zone) -> anyhow::Result<String> {
    let CronJob { kind, metadata, spec } = cron_job;
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
