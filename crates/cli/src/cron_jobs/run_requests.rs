//! Creates RunRequests and follows them until they end.

use std::pin::pin;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use futures::{Stream, StreamExt as _};
use kube::Api;
use kube::api::DynamicObject;
use kube::runtime::{WatchStreamExt as _, watcher};
use punctual_api::meta::Condition;
use punctual_api::run_request::{RunRequestSpec, condition_reason, condition_type};
use punctual_api::{CronJob, RunRequest};
use punctual_client::resources::RUN_REQUESTS;
use punctual_views::{UntilSupport, until_support};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::run_args::CreatedFormat;
use super::session::Session;
use crate::{clock, output};

/// The exit status after Ctrl-C, as shells have it.
pub(super) const INTERRUPTED: u8 = 130;

/// How waiting for a request ended.
pub(super) enum WaitOutcome {
    Finished(Box<RunRequest>),
    /// The user pressed Ctrl-C.
    Interrupted,
}

/// Whether the controller that runs a CronJob carries out RunRequests.
pub(super) enum RequestSupport {
    Supported,
    /// The cluster does not serve RunRequests.
    NotServed,
    /// Another controller runs the CronJob.
    OtherController,
}

/// Finds out whether a RunRequest for the CronJob would be carried out.
pub(super) async fn request_support(
    session: &Session,
    cron_job: &CronJob,
) -> anyhow::Result<RequestSupport> {
    if !session.serves_run_requests() {
        return Ok(RequestSupport::NotServed);
    }
    let is_own_server = session.is_own_server().await?;
    Ok(match until_support(cron_job, is_own_server, clock::now()) {
        UntilSupport::Unsupported => RequestSupport::OtherController,
        UntilSupport::Supported | UntilSupport::Unknown => RequestSupport::Supported,
    })
}

/// Creates a RunRequest whose name begins with that of the CronJob.
pub(super) async fn create(
    session: &Session,
    cron_job: &CronJob,
    spec: &RunRequestSpec,
) -> anyhow::Result<RunRequest> {
    let metadata = &cron_job.metadata;
    let object = json!({
        "apiVersion": RunRequest::API_VERSION,
        "kind": RunRequest::KIND,
        "metadata": {
            "generateName": format!("{}-", metadata.name),
            "namespace": metadata.namespace,
        },
        "spec": spec,
    });
    Ok(session.create(&RUN_REQUESTS, &metadata.namespace, &object).await?)
}

/// Returns the name as kubectl prints it.
pub(super) fn object_name(request: &RunRequest) -> String {
    format!("runrequest.punctual.dev/{}", request.metadata.name)
}

/// Prints a created object in a format. `text` is what people see.
pub(super) fn print_created(
    format: CreatedFormat,
    object: &impl serde::Serialize,
    name: &str,
    text: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    match format {
        CreatedFormat::Text => output::print(&text()),
        CreatedFormat::Name => output::print(&format!("{name}\n")),
        CreatedFormat::Json => output::print_json(object),
        CreatedFormat::Yaml => output::print_yaml(object),
    }
}

/// Returns how to follow and stop a request, for people.
pub(super) fn follow_hint(request: &RunRequest) -> String {
    let metadata = &request.metadata;
    let name = &metadata.name;
    let namespace = &metadata.namespace;
    format!(
        "  follow it: kubectl get rr {name} -n {namespace} --watch\n  \
         stop it:   kubectl delete rr {name} -n {namespace}\n"
    )
}

/// Watches a request until it has finished, and reports each change. Fails if it is refused or deleted.
pub(super) async fn wait(
    session: &Session,
    request: &RunRequest,
    report: &mut dyn FnMut(&RunRequest),
) -> anyhow::Result<WaitOutcome> {
    let mut changes = pin!(changes(session, request));
    let mut interrupt = pin!(tokio::signal::ctrl_c());
    loop {
        let change = tokio::select! {
            biased;
            interrupted = &mut interrupt => {
                interrupted?;
                return Ok(WaitOutcome::Interrupted);
            }
            change = changes.next() => change,
        };
        let current = change.context("the watch of the request ended")??;
        check_accepted(&current)?;
        report(&current);
        if current.is_finished() {
            return Ok(WaitOutcome::Finished(Box::new(current)));
        }
    }
}

/// Watches a request until its first run has started or it has finished.
pub(super) async fn wait_for_start(
    session: &Session,
    request: &RunRequest,
) -> anyhow::Result<RunRequest> {
    let mut changes = pin!(changes(session, request));
    loop {
        let current = changes.next().await.context("the watch of the request ended")??;
        check_accepted(&current)?;
        if current.status.started > 0 || current.is_finished() {
            return Ok(current);
        }
    }
}

/// Returns each state of a request, beginning with the current one. A watch that fails is opened again, unless the user
/// has no right to it.
fn changes(
    session: &Session,
    request: &RunRequest,
) -> impl Stream<Item = anyhow::Result<RunRequest>> + use<> {
    let resource = RUN_REQUESTS.api_resource();
    let client = session.cluster.client.clone();
    let metadata = &request.metadata;
    let api: Api<DynamicObject> = Api::namespaced_with(client, &metadata.namespace, &resource);
    let config = watcher::Config::default().fields(&format!("metadata.name={}", metadata.name));
    let mut events =
        EventReader { name: object_name(request), uid: metadata.uid.clone(), is_listed: false };
    let watched = watcher(api, config).default_backoff();
    watched.filter_map(move |event| std::future::ready(events.read(event)))
}

/// Reads the events of a watch of one request.
struct EventReader {
    name: String,
    uid: String,
    /// Whether the current list has the request.
    is_listed: bool,
}

impl EventReader {
    fn read(
        &mut self,
        event: Result<watcher::Event<DynamicObject>, watcher::Error>,
    ) -> Option<anyhow::Result<RunRequest>> {
        match event {
            Ok(watcher::Event::Init) => {
                self.is_listed = false;
                None
            }
            Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) => {
                let is_same = is_same(&object, &self.uid);
                self.is_listed |= is_same;
                is_same.then(|| parse(&object))
            }
            Ok(watcher::Event::InitDone) => (!self.is_listed).then(|| Err(self.deleted())),
            Ok(watcher::Event::Delete(object)) => {
                is_same(&object, &self.uid).then(|| Err(self.deleted()))
            }
            Err(watcher::Error::InitialListFailed(kube::Error::Api(status)))
                if status.code == 403 =>
            {
                Some(Err(anyhow!("{}; you cannot wait for {}", status.message, self.name)))
            }
            Err(_) => None,
        }
    }

    fn deleted(&self) -> anyhow::Error {
        anyhow!("{} was deleted; no further run starts, and active runs go on", self.name)
    }
}

fn is_same(object: &DynamicObject, uid: &str) -> bool {
    object.metadata.uid.as_deref() == Some(uid)
}

fn parse(object: &DynamicObject) -> anyhow::Result<RunRequest> {
    let value: Value = serde_json::to_value(object)?;
    Ok(RunRequest::deserialize(value)?)
}

/// Returns a condition of a request.
pub(super) fn condition<'a>(
    request: &'a RunRequest,
    condition_type: &str,
) -> Option<&'a Condition> {
    request.status.conditions.iter().find(|condition| condition.condition_type == condition_type)
}

/// Fails if the controller refused the request. It tries again when the cause is gone, but a user who waits should know.
fn check_accepted(request: &RunRequest) -> anyhow::Result<()> {
    let refused = condition(request, condition_type::ACCEPTED).filter(|it| it.status == "False");
    if let Some(condition) = refused {
        let metadata = &request.metadata;
        bail!(
            "{} is not accepted: {} ({}); it is tried again when this has changed; delete it with `kubectl delete \
             rr {} -n {}`",
            object_name(request),
            condition.message,
            condition.reason,
            metadata.name,
            metadata.namespace
        );
    }
    Ok(())
}

/// Returns what a request waits for; `None` if it does not wait.
pub(super) fn waiting_message(request: &RunRequest) -> Option<&str> {
    let waits =
        [condition_reason::WAITING, condition_reason::SUSPENDED, condition_reason::CREATE_REJECTED];
    let condition = condition(request, condition_type::COMPLETE)?;
    waits.contains(&condition.reason.as_str()).then_some(condition.message.as_str())
}

/// Whether all runs of a finished request succeeded. Without a run there is nothing that failed.
pub(super) fn has_succeeded(request: &RunRequest) -> bool {
    let status = &request.status;
    status.failed == 0 && status.succeeded + status.skipped >= status.total
}

/// Says that Ctrl-C did not stop the runs, and returns the exit status.
pub(super) fn report_interrupt(request: &RunRequest) -> ExitCode {
    let metadata = &request.metadata;
    output::print_error(&format!(
        "{} goes on without this command; stop it with `kubectl delete rr {} -n {}`",
        object_name(request),
        metadata.name,
        metadata.namespace
    ));
    ExitCode::from(INTERRUPTED)
}
