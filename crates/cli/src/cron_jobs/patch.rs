//! Finds the CronJobs that a command changes, and writes their suspension.

use anyhow::bail;
use punctual_api::CronJob;
pub(super) use punctual_reader::SuspensionPatch;
use punctual_reader::{MissedSlots, WriteMode, write_suspension};

use super::args::{ChangeTargets, DryRun, MissedChoice};
use super::session::Session;
use super::target;

/// Finds the CronJobs that the command names.
pub(super) async fn find_targets(
    session: &Session,
    args: &ChangeTargets,
) -> anyhow::Result<Vec<CronJob>> {
    let mut found = Vec::new();
    for name in &args.targets {
        found.push(target::find(session, name).await?);
    }
    if let Some(selector) = args.selector.as_deref() {
        for kind in session.kinds() {
            let listed = session.list_cron_jobs(kind, &session.namespace, Some(selector)).await?;
            found.extend(listed.items);
        }
        if found.is_empty() {
            bail!("no CronJob in namespace {:?} has the labels {selector}", session.namespace);
        }
    }
    Ok(found)
}

impl From<MissedChoice> for MissedSlots {
    fn from(choice: MissedChoice) -> MissedSlots {
        match choice {
            MissedChoice::Drop => MissedSlots::Drop,
            MissedChoice::Latest => MissedSlots::Latest,
            MissedChoice::All => MissedSlots::All,
        }
    }
}

/// Writes a suspension. Returns whether it changed the CronJob.
pub(super) async fn write(
    session: &Session,
    cron_job: &CronJob,
    patch: &SuspensionPatch,
    dry_run: Option<DryRun>,
) -> anyhow::Result<bool> {
    let mode = match dry_run {
        None | Some(DryRun::None) => WriteMode::Commit,
        Some(DryRun::Client) => WriteMode::ClientDryRun,
        Some(DryRun::Server) => WriteMode::ServerDryRun,
    };
    Ok(write_suspension(&session.reader, cron_job, patch, mode).await?)
}
