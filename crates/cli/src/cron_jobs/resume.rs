//! `punctual resume`: lets suspended CronJobs run again, and says what starts at once.

use anyhow::ensure;
use jiff::Timestamp;
use punctual_api::{CronJob, CronJobKind};
use punctual_schedule::Zone;
use punctual_views::{
    CronJobSnapshot, ResumePreview, UntilSupport, format_duration, local_time, until_support,
};

use super::args::{DryRun, MissedChoice, ResumeArgs};
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
    check_missed(&session, &found, args.missed).await?;
    let dry_run = args.targets.dry_run.filter(|dry_run| *dry_run != DryRun::None);
    for cron_job in found {
        let query = RecordQuery::newest(RECORDS_MAX);
        let snapshot = complete_snapshot(&session, cron_job, &query, zone).await?;
        let patch = SuspensionPatch::resume(args.missed.map(Into::into));
        let is_changed = patch::write(&session, &snapshot.cron_job, &patch, dry_run).await?;
        let resumed = ResumedCronJob { snapshot: &snapshot, missed: args.missed, dry_run };
        output::print(&resumed.report(clock::now(), is_changed))?;
    }
    Ok(())
}

/// Refuses a choice that no controller of ours would apply.
async fn check_missed(
    session: &Session,
    found: &[CronJob],
    missed: Option<MissedChoice>,
) -> anyhow::Result<()> {
    if missed.and_then(MissedChoice::annotation).is_none() {
        return Ok(());
    }
    let is_own_server = session.is_own_server().await?;
    for cron_job in found {
        let support = until_support(cron_job, is_own_server, clock::now());
        ensure!(
            support != UntilSupport::Unsupported,
            "another controller than Punctual runs {}, and it starts the latest missed slot; resume it without \
             --missed, or let `punctual controller --kinds cronjobs` run it",
            cron_job.key()
        );
    }
    Ok(())
}

/// A CronJob that was resumed, or would be.
struct ResumedCronJob<'a> {
    snapshot: &'a CronJobSnapshot,
    missed: Option<MissedChoice>,
    dry_run: Option<DryRun>,
}

impl ResumedCronJob<'_> {
    fn report(&self, now: Timestamp, is_changed: bool) -> String {
        let name = name(&self.snapshot.cron_job);
        if !is_changed {
            return format!("{name} was not suspended\n");
        }
        let mark = dry_run_mark(self.dry_run);
        format!("{name} resumed{mark}\n{}", self.preview_text(now))
    }

    fn preview_text(&self, now: Timestamp) -> String {
        let preview = match self.missed {
            None => ResumePreview::new(self.snapshot, now),
            Some(missed) => ResumePreview::with_missed(self.snapshot, missed.annotation(), now),
        };
        let zone = self.snapshot.zone();
        let starts = if self.dry_run.is_some() { "would start" } else { "starts" };
        let of = self.pending_text(preview.pending);
        let mut text = String::new();
        if let Some(slot) = preview.starts_at_once {
            text += &format!("  slot {} {starts} at once{of}\n", local_time(zone, slot));
        } else if let Some(slot) = preview.starts_after_active_run {
            let slot = local_time(zone, slot);
            text += &format!("  slot {slot} {starts} when the active run ends{of}\n");
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

    /// Returns what becomes of the other pending slots.
    fn pending_text(&self, pending: u64) -> String {
        match (pending, self.missed) {
            (0 | 1, _) => String::new(),
            (_, Some(MissedChoice::All)) => {
                format!(", the first of {pending} that run one after another")
            }
            (_, _) => {
                let policy = self.snapshot.policy().as_str();
                format!(", one of {pending} pending slots (policy {policy})")
            }
        }
    }
}

fn name(cron_job: &CronJob) -> String {
    let kind = cron_job.cron_job_kind().unwrap_or(CronJobKind::BatchV1);
    object_name(kind, &cron_job.metadata.name)
}
