//! Follows the changes of CronJobs and prints the rows that change.

use std::collections::HashMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Api;
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use punctual_api::{CronJob, CronJobKind};
use punctual_client::resources::cron_jobs_of;
use punctual_views::{CronJobSnapshot, FleetRow};
use serde::Deserialize as _;

use super::fleet::{Fleet, FleetScope};
use super::list::RowPrinter;
use super::session::Session;
use super::target::with_kind;
use crate::{clock, output};

/// Identifies a row.
type RowKey = (&'static str, String, String);

/// The rows as they were printed last.
struct ShownRows<'a> {
    printer: &'a RowPrinter<'a>,
    widths: &'a [usize],
    fleet: &'a Fleet,
    keys: HashMap<RowKey, String>,
}

/// Prints rows as they change, until the program is stopped.
pub(super) async fn follow(
    session: &Session,
    scope: &FleetScope<'_>,
    fleet: Fleet,
    printer: &RowPrinter<'_>,
    widths: &[usize],
) -> anyhow::Result<()> {
    let now = clock::now();
    let rows = fleet.snapshots.iter().map(|snapshot| FleetRow::new(snapshot, now));
    let keys = rows.map(|row| (row_key(&row), row.changes_key())).collect();
    let mut shown = ShownRows { printer, widths, fleet: &fleet, keys };
    let watches = session.kinds().into_iter().map(|kind| watch_kind(session, scope, kind).boxed());
    let mut events = stream::select_all(watches);
    let mut is_failing = false;
    while let Some((kind, event)) = events.next().await {
        match event {
            Ok(event) => {
                is_failing = false;
                shown.apply(kind, event)?;
            }
            Err(error) if !is_failing => {
                is_failing = true;
                output::print_error(&format!(
                    "warning: the watch failed and is opened again: {error}"
                ));
            }
            Err(_) => {}
        }
    }
    Ok(())
}

/// Watches a kind. A watch that ends is opened again, with backoff after failures.
fn watch_kind(
    session: &Session,
    scope: &FleetScope<'_>,
    kind: CronJobKind,
) -> impl stream::Stream<Item = (CronJobKind, Result<Event<DynamicObject>, watcher::Error>)> + use<>
{
    let resource = cron_jobs_of(kind).api_resource();
    let client = session.cluster.client.clone();
    let api: Api<DynamicObject> = match scope.namespace {
        "" => Api::all_with(client, &resource),
        namespace => Api::namespaced_with(client, namespace, &resource),
    };
    let mut config = watcher::Config::default();
    if let Some(selector) = scope.selector {
        config = config.labels(selector);
    }
    watch(api, config).default_backoff().into_stream().map(move |event| (kind, event))
}

impl ShownRows<'_> {
    fn apply(&mut self, kind: CronJobKind, event: Event<DynamicObject>) -> anyhow::Result<()> {
        let (object, is_deleted) = match event {
            Event::Apply(object) | Event::InitApply(object) => (object, false),
            Event::Delete(object) => (object, true),
            Event::Init | Event::InitDone => return Ok(()),
        };
        let cron_job = CronJob::deserialize(serde_json::to_value(&object)?)?;
        let mut snapshot = CronJobSnapshot::new(with_kind(cron_job, kind), self.printer.zone);
        snapshot.ledger = self.fleet.records.ledger(&snapshot.cron_job);
        let now = clock::now();
        let row = FleetRow::new(&snapshot, now);
        if is_deleted {
            self.keys.remove(&row_key(&row));
            return Ok(());
        }
        let state = row.changes_key();
        if self.keys.insert(row_key(&row), state.clone()) == Some(state) {
            return Ok(());
        }
        self.printer.print_changed(&row, now, self.widths)
    }
}

fn row_key(row: &FleetRow) -> RowKey {
    (row.kind, row.namespace.clone(), row.name.clone())
}
