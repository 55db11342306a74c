//! `punctual trigger`: asks for one run of a CronJob.

use std::process::ExitCode;

use anyhow::{bail, ensure};
use jiff::Timestamp;
use punctual_api::job::condition;
use punctual_api::run_request::{RunRequestSpec, RunSelection, RunTarget};
use punctual_api::{CronJob, Job, RunRequest, Time, names};
use punctual_schedule::Zone;
use punctual_views::{ChosenSlot, choose_slot};

use super::logs::{self, RunJob};
use super::output_format;
use super::plain_job;
use super::records::{RecordQuery, complete_snapshot};
use super::run_args::{CreatedFormat, TriggerArgs, TriggerPolicy};
use super::run_requests::{self, RequestSupport, WaitOutcome};
use super::session::Session;
use super::target;
use crate::{clock, output};

/// How many records are read to find a slot by the name of its Job.
const RECORDS_MAX: usize = 1_000;

pub(super) async fn run(args: &TriggerArgs, zone: &Zone) -> anyhow::Result<ExitCode> {
    let session = Session::connect(&args.target.connection).await?;
    let cron_job = target::find(&session, &args.target.target).await?;
    match run_requests::request_support(&session, &cron_job).await? {
        RequestSupport::Supported => {
            let slot = find_slot(&session, &cron_job, args, zone).await?;
            let spec = request_spec(&cron_job, slot, args.policy);
            let request = run_requests::create(&session, &cron_job, &spec).await?;
            follow_request(&session, &cron_job, request, args).await
        }
        RequestSupport::NotServed => {
            create_job(&session, &cron_job, args, "the cluster does not serve RunRequests").await
        }
        RequestSupport::OtherController => {
            let why = "another controller than Punctual runs this CronJob";
            create_job(&session, &cron_job, args, why).await
        }
    }
}

async fn find_slot(
    session: &Session,
    cron_job: &CronJob,
    args: &TriggerArgs,
    zone: &Zone,
) -> anyhow::Result<Option<Timestamp>> {
    let Some(text) = &args.slot else { return Ok(None) };
    let query = RecordQuery::newest(RECORDS_MAX);
    let snapshot = complete_snapshot(session, cron_job.clone(), &query, zone).await?;
    let now = clock::now();
    match choose_slot(&snapshot, text, now)? {
        ChosenSlot::At(slot) if slot > now => {
            bail!("the slot {text} is in the future; the schedule starts it")
        }
        ChosenSlot::At(slot) => Ok(Some(slot)),
        ChosenSlot::Skipped(civil) => bail!("{civil} did not exist: the clocks went forward"),
    }
}

fn request_spec(
    cron_job: &CronJob,
    slot: Option<Timestamp>,
    policy: TriggerPolicy,
) -> RunRequestSpec {
    let target = RunTarget { kind: cron_job.kind.clone(), name: cron_job.metadata.name.clone() };
    let spec = RunRequestSpec {
        target,
        concurrency_policy: policy.as_str().unwrap_or_default().to_owned(),
        ..RunRequestSpec::default()
    };
    match slot {
        None => RunRequestSpec { now: true, ..spec },
        Some(slot) => RunRequestSpec {
            slots: vec![Time::new(slot)],
            runs: RunSelection::All.as_str().to_owned(),
            ..spec
        },
    }
}

/// Prints the request, and waits for its run if the user asked for that.
async fn follow_request(
    session: &Session,
    cron_job: &CronJob,
    request: RunRequest,
    args: &TriggerArgs,
) -> anyhow::Result<ExitCode> {
    let name = run_requests::object_name(&request);
    if !args.wait && !args.follow {
        let text = || format!("{name} created\n{}", run_requests::follow_hint(&request));
        run_requests::print_created(args.output, &request, &name, text)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print_error(&format!("{name} created"));
    if args.follow {
        let log = follow_log(session, cron_job, &request);
        tokio::select! {
            biased;
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                return Ok(run_requests::report_interrupt(&request));
            }
            log = log => log?,
        }
    }
    let mut shown = String::new();
    let mut report = |current: &RunRequest| {
        if let Some(message) = run_requests::waiting_message(current)
            && shown != message
        {
            message.clone_into(&mut shown);
            output::print_error(&format!("waiting: {}", output::one_line(message)));
        }
    };
    match run_requests::wait(session, &request, &mut report).await? {
        WaitOutcome::Interrupted => Ok(run_requests::report_interrupt(&request)),
        WaitOutcome::Finished(finished) => print_result(&finished, args),
    }
}

/// Prints the log of the run, whose Job name follows from the request.
async fn follow_log(
    session: &Session,
    cron_job: &CronJob,
    request: &RunRequest,
) -> anyhow::Result<()> {
    let started = run_requests::wait_for_start(session, request).await?;
    if started.status.started == 0 {
        return Ok(());
    }
    let run = RunJob {
        namespace: request.metadata.namespace.clone(),
        name: names::requested_job_name(&cron_job.metadata.name, &request.metadata.uid, 0),
        run: run_requests::object_name(request),
    };
    logs::follow_job(session, &run).await
}

fn print_result(finished: &RunRequest, args: &TriggerArgs) -> anyhow::Result<ExitCode> {
    let status = &finished.status;
    let result = if status.succeeded > 0 {
        "succeeded"
    } else if status.failed > 0 {
        "failed"
    } else {
        "was not started"
    };
    let name = run_requests::object_name(finished);
    if args.follow {
        output::print_error(&format!("the run of {name} {result}"));
    } else {
        let text = || format!("the run of {name} {result}\n");
        run_requests::print_created(args.output, finished, &name, text)?;
    }
    Ok(if status.succeeded > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Creates the Job without the controller, and says so.
async fn create_job(
    session: &Session,
    cron_job: &CronJob,
    args: &TriggerArgs,
    why: &str,
) -> anyhow::Result<ExitCode> {
    ensure!(
        args.slot.is_none() && args.policy != TriggerPolicy::Replace,
        "{why}, so --slot and --policy replace are not possible"
    );
    let job = plain_job::create(session, cron_job).await?;
    output::print_error(&format!(
        "note: {why}; created the Job as `kubectl create job --from` does, whatever the concurrency policy"
    ));
    let name = format!("job.batch/{}", job.metadata.name);
    if !args.wait && !args.follow {
        let text = || format!("{name} created\n");
        run_requests::print_created(args.output, &job, &name, text)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print_error(&format!("{name} created"));
    let run_to_end = async {
        if args.follow {
            let run = RunJob {
                namespace: job.metadata.namespace.clone(),
                name: job.metadata.name.clone(),
                run: output_format::object_name(
                    cron_job.cron_job_kind().unwrap_or(punctual_api::CronJobKind::BatchV1),
                    &cron_job.metadata.name,
                ),
            };
            logs::follow_job(session, &run).await?;
        }
        plain_job::wait(session, &job).await
    };
    tokio::select! {
        biased;
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            output::print_error(&format!("{name} goes on without this command"));
            Ok(ExitCode::from(run_requests::INTERRUPTED))
        }
        finished = run_to_end => print_job_result(&finished?, &name, args.output),
    }
}

fn print_job_result(job: &Job, name: &str, format: CreatedFormat) -> anyhow::Result<ExitCode> {
    let has_succeeded = job.status.is_true(condition::COMPLETE);
    let result = if has_succeeded { "succeeded" } else { "failed" };
    run_requests::print_created(format, job, name, || format!("{name} {result}\n"))?;
    Ok(if has_succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
