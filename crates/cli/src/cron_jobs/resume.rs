//! `punctual resume`: lets suspended CronJobs run again, and says what starts at once.

use jiff::Timestamp;
use punctual_api::{CronJob, CronJobKind};
use punctual_schedule::Zone;
use punctual_views::{CronJobSnapshot, ResumePreview, format_duration, local_time};

use super::args::{DryRun, ResumeArgs};
use super::output_format::object_name;
use super::patch::{self, SuspensionPatch};
use super::records::{RecordQuery, complete_snapshot};
use super::session::Session;
use super::suspend::dry_run_mark;
use crate::{clock, output};

/// The newest record is enough to know which slots are accounted for.
const RECORDS_MAX: usize = 50;

pub(super) async fn run(args: &ResumeArgs, zone: &Zone) -> anyhow::Result<()> {
    let session = Session::connect(&args.targets.connection).await?;
    let found = patch::find_targets(&session, &args.targets).await?;
    let dry_run = args.targets.dry_run.filter(|dry_run| *dry_run != DryRun::None);
    for cron_job in found {
        let query = RecordQuery::newest(RECORDS_MAX);
        let snapshot = complete_snapshot(&session, cron_job, &query, zone).await?;
        // The only place that decides about the slots that were due: `--missed` belongs here.
        let patch = SuspensionPatch::resume();
        let is_changed = patch::write(&session, &snapshot.cron_job, &patch, dry_run).await?;
        output::print(&report(&snapshot, clock::now(), is_changed, dry_run))?;
    }
    Ok(())
}

fn report(
    snapshot: &CronJobSnapshot,
    now: Timestamp,
    is_changed: bool,
    dry_run: Option<DryRun>,
) -> String {
    let name = name(&snapshot.cron_job);
    if !is_changed {
        return format!("{name} was not suspended\n");
    }
    let preview = ResumePreview::new(snapshot, now);
    let mark = dry_run_mark(dry_run);
    format!("{name} resumed{mark}\n{}", preview_text(&preview, snapshot, now, dry_run.is_some()))
}

fn name(cron_job: &CronJob) -> String {
    let kind = cron_job.cron_job_kind().unwrap_or(CronJobKind::BatchV1);
    object_name(kind, &cron_job.metadata.name)
}

fn preview_text(
    preview: &ResumePreview,
    snapshot: &CronJobSnapshot,
    now: Timestamp,
    is_dry_run: bool,
) -> String {
    let zone = snapshot.zone();
    let starts = if is_dry_run { "would start" } else { "starts" };
    let of = match preview.pending {
        0 | 1 => String::new(),
        pending => {
            format!(", one of {pending} pending slots (policy {})", snapshot.policy().as_str())
        }
    };
    let mut text = String::new();
    if let Some(slot) = preview.starts_at_once {
        text += &format!("  slot {} {starts} at once{of}\n", local_time(zone, slot));
    } else if let Some(slot) = preview.starts_after_active_run {
        text +=
            &format!("  slot {} {starts} when the active run ends{of}\n", local_time(zone, slot));
    } else {
        text += &format!("  no slot {starts} at once\n");
    }
    if preview.missed > 0 {
        text += &format!(
            "  {} slots are past their starting deadline and count as missed\n",
            preview.missed
        );
    }
    match preview.next {
        Some(next) => {
            let wait = format_duration(next.duration_since(now));
            text + &format!("  next run: {}, in {wait}\n", local_time(zone, next))
        }
        None => text + "  no further run\n",
    }
}
