//! `punctual plan`: what an edit would change, or the runs of the next days.

mod changes;
mod forecast_text;

use std::process::ExitCode;

use jiff::Timestamp;
use punctual_schedule::Zone;

use super::args::PlanArgs;
use super::fleet::{self, FleetScope};
use super::session::Session;
use crate::clock;

/// How many slot records are read for the durations of runs.
const RECORDS_MAX: usize = 20_000;

pub(super) async fn run(args: &PlanArgs, zone: &Zone) -> anyhow::Result<ExitCode> {
    let session = Session::connect(&args.connection).await?;
    let now = clock::now();
    let until = now.checked_add(args.duration)?;
    if !args.files.is_empty() {
        return changes::run(args, &session, zone, PlanRange { now, until }).await;
    }
    let namespace = if args.all_namespaces { "" } else { session.namespace.as_str() };
    let selector = args.selector.as_deref();
    let scope = FleetScope { namespace, selector, records_max: RECORDS_MAX };
    let fleet = fleet::read(&session, &scope, zone).await?;
    let forecast = punctual_views::forecast(&fleet.snapshots, now, until)?;
    args.output.print(&forecast, || forecast_text::text(&forecast, zone))?;
    Ok(ExitCode::SUCCESS)
}

/// The time that a plan covers.
#[derive(Clone, Copy)]
pub(super) struct PlanRange {
    pub(super) now: Timestamp,
    pub(super) until: Timestamp,
}
