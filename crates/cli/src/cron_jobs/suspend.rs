//! `punctual suspend`: starts no further runs, perhaps until a time.

use anyhow::{Context as _, bail, ensure};
use http::Request;
use jiff::Timestamp;
use punctual_api::{CronJob, CronJobKind, Time};
use punctual_schedule::Zone;
use punctual_views::{Suspension, UntilSupport, local_time, until_support};
use serde_json::{Value, json};

use super::args::{DryRun, SuspendArgs};
use super::output_format::object_name;
use super::patch::{self, SuspensionPatch};
use super::session::Session;
use crate::{clock, output, slots};

/// The longest reason, so that it fits into an annotation and a line.
const REASON_LEN_MAX: usize = 1_000;
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

pub(super) async fn run(args: &SuspendArgs, zone: &Zone) -> anyhow::Result<()> {
    let now = clock::now();
    let until = parse_until(args, zone, now)?;
    let reason = args.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    ensure!(
        reason.is_none_or(|reason| reason.len() <= REASON_LEN_MAX),
        "the reason is longer than {REASON_LEN_MAX} bytes; shorten it"
    );
    let session = Session::connect(&args.targets.connection).await?;
    let found = patch::find_targets(&session, &args.targets).await?;
    if until.is_some() {
        check_until(&session, &found, now).await?;
    }
    let patch = SuspensionPatch {
        is_suspended: true,
        until: until.map(|until| Time::new(until).to_string()),
        reason: None,
        by: Some(user_name(&session).await),
        missed: None,
    };
    let dry_run = args.targets.dry_run.filter(|dry_run| *dry_run != DryRun::None);
    for cron_job in &found {
        let patch = SuspensionPatch { reason: kept_reason(cron_job, reason), ..patch.clone() };
        let is_changed = patch::write(&session, cron_job, &patch, dry_run).await?;
        output::print(&report(cron_job, until, zone, is_changed, dry_run))?;
    }
    Ok(())
}

/// Returns the reason to write: a CronJob that is suspended already keeps its reason unless another is given.
fn kept_reason(cron_job: &CronJob, reason: Option<&str>) -> Option<String> {
    let before = Suspension::from_cron_job(cron_job).map(|suspension| suspension.reason);
    reason.map(str::to_owned).or(before).filter(|reason| !reason.is_empty())
}

fn parse_until(
    args: &SuspendArgs,
    zone: &Zone,
    now: Timestamp,
) -> anyhow::Result<Option<Timestamp>> {
    if let Some(duration) = args.duration {
        return Ok(Some(now.checked_add(duration)?));
    }
    let Some(text) = &args.until else { return Ok(None) };
    let until = slots::parse_instant(text, zone).context("--until is invalid")?;
    ensure!(
        until > now,
        "--until {text} is {}, which has passed; choose a later time",
        local_time(zone, until)
    );
    Ok(Some(until))
}

/// Refuses a CronJob that no controller of ours would resume. Warns if that cannot be told.
async fn check_until(session: &Session, found: &[CronJob], now: Timestamp) -> anyhow::Result<()> {
    let is_own_server = session.is_own_server().await?;
    for cron_job in found {
        match until_support(cron_job, is_own_server, now) {
            UntilSupport::Supported => {}
            UntilSupport::Unknown => output::print_error(&format!(
                "warning: {} was created a moment ago, and no controller of Punctual has handled it yet; if \
                 another controller runs it, it stays suspended",
                cron_job.key()
            )),
            UntilSupport::Unsupported => bail!(
                "{} would stay suspended: it is run by the controller of the cluster, which does not resume it at \
                 a time (it has no annotation punctual.dev/schedule-since, which `punctual controller` writes); \
                 suspend it without --until and --for, or move it to Punctual",
                cron_job.key()
            ),
        }
    }
    Ok(())
}

/// Returns the name of the user: as the server knows it, else of this machine.
async fn user_name(session: &Session) -> String {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let request = Request::post(REVIEWS)
        .header("Content-Type", "application/json")
        .body(review.to_string().into_bytes());
    if let Ok(request) = request
        && let Ok(Ok(answer)) = session.send::<Value>(request).await
        && let Some(name) = answer.pointer("/status/userInfo/username").and_then(Value::as_str)
        && !name.is_empty()
    {
        return name.to_owned();
    }
    local_user_name()
}

/// Returns the name of the user on this machine.
pub(super) fn local_user_name() -> String {
    let variable = |name| std::env::var_os(name).and_then(|value| value.into_string().ok());
    let local = variable("USER").or_else(|| variable("LOGNAME"));
    local.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}

fn report(
    cron_job: &CronJob,
    until: Option<Timestamp>,
    zone: &Zone,
    is_changed: bool,
    dry_run: Option<DryRun>,
) -> String {
    let kind = cron_job.cron_job_kind().unwrap_or(CronJobKind::BatchV1);
    let name = object_name(kind, &cron_job.metadata.name);
    let until =
        until.map_or_else(String::new, |until| format!(" until {}", local_time(zone, until)));
    let mark = dry_run_mark(dry_run);
    let verb = if is_changed { "suspended" } else { "was already suspended" };
    format!("{name} {verb}{until}{mark}\n")
}

/// Returns what kubectl prints after a dry run.
pub(super) fn dry_run_mark(dry_run: Option<DryRun>) -> &'static str {
    match dry_run {
        None | Some(DryRun::None) => "",
        Some(DryRun::Client) => " (dry run)",
        Some(DryRun::Server) => " (server dry run)",
    }
}
