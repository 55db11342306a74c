//! `punctual backfill`: shows what the slots of an interval would do, and runs them.

use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use jiff::Timestamp;
use punctual_api::run_request::{RunOrder, RunRequestSpec, RunTarget};
use punctual_api::{CronJob, RunRequest, Time};
use punctual_schedule::Zone;
use punctual_views::{
    CronJobSnapshot, RecordSource, RunPreview, SlotPreview, local_time, preview_runs,
};
use serde::Serialize;

use super::columns::{self, TerminalColumn};
use super::progress::ProgressReporter;
use super::records::complete_snapshot_between;
use super::run_args::{BackfillArgs, CreatedFormat};
use super::run_requests::{self, RequestSupport, WaitOutcome};
use super::session::Session;
use super::target;
use crate::{clock, output, slots};

/// What `--dry-run -o json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BackfillOutput<'a> {
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
    time_zone: String,
    record_source: RecordSource,
    /// How many slots would run.
    runs: usize,
    items: &'a [SlotPreview],
}

pub(super) async fn run(args: &BackfillArgs, zone: &Zone) -> anyhow::Result<ExitCode> {
    let session = Session::connect(&args.target.connection).await?;
    let cron_job = target::find(&session, &args.target.target).await?;
    require_support(&session, &cron_job).await?;
    let (from, to) = parse_interval(args, &cron_job, zone)?;
    let snapshot = complete_snapshot_between(&session, cron_job, from..to, zone).await?;
    let spec = request_spec(&snapshot.cron_job, from, to, args);
    let preview = preview_runs(&snapshot, &spec, clock::now());
    if let Some(refusal) = preview.refusal {
        bail!("{} ({})", refusal.message, refusal.reason);
    }
    if args.dry_run {
        print_preview(&preview, &snapshot, args.output)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.output == CreatedFormat::Text {
        output::print(&preview_text(&preview, &snapshot))?;
    }
    if preview.run_count() == 0 {
        output::print_error("no slot has to run; nothing was created");
        return Ok(ExitCode::SUCCESS);
    }
    let request = run_requests::create(&session, &snapshot.cron_job, &spec).await?;
    follow(&session, &request, args).await
}

/// Refuses a CronJob whose controller does not carry out requests.
async fn require_support(session: &Session, cron_job: &CronJob) -> anyhow::Result<()> {
    match run_requests::request_support(session, cron_job).await? {
        RequestSupport::Supported => Ok(()),
        RequestSupport::NotServed => bail!(
            "the cluster at {} does not serve RunRequests; install their definition with `punctual crd | kubectl apply \
             --server-side -f -`, and the controller of Punctual",
            session.url()
        ),
        RequestSupport::OtherController => bail!(
            "another controller than Punctual runs {}, and it cannot run slots again; use a ScheduledJob, or let \
             `punctual controller --kinds cronjobs` run it",
            cron_job.key()
        ),
    }
}

/// Parses the interval. Local times are in the zone of the CronJob.
fn parse_interval(
    args: &BackfillArgs,
    cron_job: &CronJob,
    zone: &Zone,
) -> anyhow::Result<(Timestamp, Timestamp)> {
    let snapshot = CronJobSnapshot::new(cron_job.clone(), zone);
    let from = slots::parse_instant(&args.from, snapshot.zone()).context("--from is invalid")?;
    let to = slots::parse_instant(&args.to, snapshot.zone()).context("--to is invalid")?;
    ensure!(
        Time::new(from) < Time::new(to),
        "--to {} is not later than --from {}",
        local_time(snapshot.zone(), to),
        local_time(snapshot.zone(), from)
    );
    Ok((from, to))
}

fn request_spec(
    cron_job: &CronJob,
    from: Timestamp,
    to: Timestamp,
    args: &BackfillArgs,
) -> RunRequestSpec {
    let order = if args.newest_first { RunOrder::NewestFirst } else { RunOrder::OldestFirst };
    RunRequestSpec {
        target: RunTarget { kind: cron_job.kind.clone(), name: cron_job.metadata.name.clone() },
        from: Some(Time::new(from)),
        to: Some(Time::new(to)),
        runs: args.runs.selection().as_str().to_owned(),
        parallelism: Some(args.parallel),
        order: order.as_str().to_owned(),
        ..RunRequestSpec::default()
    }
}

fn print_preview(
    preview: &RunPreview,
    snapshot: &CronJobSnapshot,
    format: CreatedFormat,
) -> anyhow::Result<()> {
    let metadata = &snapshot.cron_job.metadata;
    let shown = BackfillOutput {
        kind: snapshot.kind().kind(),
        namespace: &metadata.namespace,
        name: &metadata.name,
        time_zone: snapshot.zone().name().to_owned(),
        record_source: snapshot.ledger.source(),
        runs: preview.run_count(),
        items: &preview.slots,
    };
    match format {
        CreatedFormat::Text => output::print(&preview_text(preview, snapshot)),
        CreatedFormat::Json => output::print_json(&shown),
        CreatedFormat::Yaml => output::print_yaml(&shown),
        CreatedFormat::Name => bail!("-o name prints the created object; --dry-run creates none"),
    }
}

fn preview_text(preview: &RunPreview, snapshot: &CronJobSnapshot) -> String {
    let zone = snapshot.zone();
    let columns = [
        TerminalColumn::fixed(&format!("SLOT ({})", zone.name())),
        TerminalColumn::flexible("NOW"),
        TerminalColumn::fixed("WOULD"),
    ];
    let rows: Vec<Vec<String>> = preview
        .slots
        .iter()
        .map(|slot| {
            let state = slot.state.as_str();
            let state = match slot.reason.as_str() {
                "" => state.to_owned(),
                reason => format!("{state} ({reason})"),
            };
            let would = if slot.would_run { "run" } else { "keep" };
            vec![local_time(zone, slot.slot), state, would.to_owned()]
        })
        .collect();
    let mut text = String::new();
    if !rows.is_empty() {
        text += &columns::table(&columns, &rows, columns::width_limit());
    }
    text += &format!("{} of {} slots would run\n", preview.run_count(), preview.slots.len());
    if let Some(note) = snapshot.ledger.source().note() {
        text += &format!("{note}\n");
    }
    text
}

/// Prints the request, and waits for its runs if the user asked for that.
async fn follow(
    session: &Session,
    request: &RunRequest,
    args: &BackfillArgs,
) -> anyhow::Result<ExitCode> {
    let name = run_requests::object_name(request);
    if !args.wait {
        let text = || format!("{name} created\n{}", run_requests::follow_hint(request));
        run_requests::print_created(args.output, request, &name, text)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print_error(&format!("{name} created"));
    let mut progress = ProgressReporter::new();
    let waited = run_requests::wait(session, request, &mut |current| progress.show(current)).await;
    progress.finish();
    match waited? {
        WaitOutcome::Interrupted => Ok(run_requests::report_interrupt(request)),
        WaitOutcome::Finished(finished) => {
            let status = &finished.status;
            let text = || {
                format!(
                    "{} runs succeeded, {} failed, {} were skipped\n",
                    status.succeeded, status.failed, status.skipped
                )
            };
            run_requests::print_created(args.output, &*finished, &name, text)?;
            let is_success = run_requests::has_succeeded(&finished);
            Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}
