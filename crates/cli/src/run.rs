//! `punctual run`: creates a CronJob or ScheduledJob that runs a command.

pub(crate) mod args;
mod object;

use anyhow::{anyhow, bail};
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, PostParams};
use punctual_api::CronJobKind;
use punctual_client::resources;
use punctual_schedule::{Schedule, Zone};
use serde_json::Value;

use self::args::{ObjectFormat, RunArgs};
use crate::cluster_client::{connect, describe_error};
use crate::slots::{self, SlotList};
use crate::{clock, output, tzdata, validate};

/// The field manager of created objects.
const FIELD_MANAGER: &str = "punctual-run";
/// The version of the API server contains this if the server is ours.
const OWN_SERVER_VERSION: &str = "+punctual.";
/// The `reason` of the response to a request for an object that does not exist.
const NOT_FOUND: &str = "NotFound";

pub(crate) fn run(args: &RunArgs, zone: &Zone) -> anyhow::Result<()> {
    tzdata::require_name(zone)?;
    let schedule = slots::parse_schedule(&[args.when.schedule()], zone)?;
    let first_run = first_run(&schedule)?;
    let object = object::build(args, zone.name())?;
    for warning in validate::check_object(object.clone(), zone)? {
        output::print_error(&format!("Warning: {warning}"));
    }
    let object: DynamicObject = serde_json::from_value(object)?;
    if args.dry_run {
        return print(args, &object, &format!(" (dry run)\n{first_run}"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let created = runtime.block_on(create(args, &object))?;
    print(args, &created, &format!("\n{first_run}"))
}

/// Describes the first run. Fails if the schedule has none.
fn first_run(schedule: &Schedule) -> anyhow::Result<String> {
    let slots = SlotList::compute(schedule, clock::now(), 1);
    let Some(slot) = slots.slots.first() else {
        bail!("schedule {:?} has no time in the future, so nothing would run", schedule.text());
    };
    Ok(format!("first run: {}\n", slots::format_local(&slot.local)))
}

async fn create(args: &RunArgs, object: &DynamicObject) -> anyhow::Result<DynamicObject> {
    let cluster = connect(&args.cluster, FIELD_MANAGER).await?;
    let client = &cluster.client;
    let url = &cluster.url;
    if args.image.is_none() {
        let version = cluster.call(client.apiserver_version()).await?;
        if !version.git_version.contains(OWN_SERVER_VERSION) {
            bail!("set --image: the cluster at {url} runs commands in containers");
        }
    }
    let kind = object::kind(args);
    let resource = resources::cron_jobs_of(kind).api_resource();
    let namespace = args.namespace.as_deref().unwrap_or(client.default_namespace());
    let objects: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..Default::default() };
    match cluster.wait(objects.create(&params, object)).await? {
        Ok(created) => Ok(created),
        Err(kube::Error::Api(status)) if status.code == 409 => {
            bail!("{}; choose another name with --name", status.message)
        }
        Err(kube::Error::Api(status)) if status.code == 404 && status.reason != NOT_FOUND => {
            Err(not_served(kind, url))
        }
        Err(error) => Err(describe_error(error)),
    }
}

/// The error for a cluster that does not know the kind.
fn not_served(kind: CronJobKind, url: &str) -> anyhow::Error {
    let remedy = match kind {
        CronJobKind::ScheduledJob => {
            "; install their definition with: punctual crd | kubectl apply --server-side -f -"
        }
        CronJobKind::BatchV1 | CronJobKind::BatchV1Beta1 => "",
    };
    anyhow!("the cluster at {url} does not serve {} {}{remedy}", kind.api_version(), kind.plural())
}

/// Prints the object in the wanted format. `suffix` follows its name.
fn print(args: &RunArgs, object: &DynamicObject, suffix: &str) -> anyhow::Result<()> {
    let kind = object::kind(args);
    let mut value = serde_json::to_value(object)?;
    // Clients hide managed fields unless they are asked for.
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    match args.output {
        ObjectFormat::Yaml => output::print_yaml(&value),
        ObjectFormat::Json => output::print_json(&value),
        ObjectFormat::Name => {
            let kind_name = kind.kind().to_lowercase();
            let name = object.name_any();
            output::print(&format!("{kind_name}.{}/{name} created{suffix}", kind.group()))
        }
    }
}
