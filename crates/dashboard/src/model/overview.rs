//! The totals of a fleet, and what needs attention.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_views::{FleetRow, FleetState};

use super::fleet_query::StateFilter;
use crate::data::{CronJobId, Entry};

/// How many problems and next starts are shown.
const ATTENTION_MAX: usize = 6;
const UP_NEXT_MAX: usize = 7;

/// The totals of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overview {
    pub(crate) cron_jobs: usize,
    pub(crate) namespaces: Vec<String>,
    /// How many runs are active.
    pub(crate) running: usize,
    /// How many CronJobs start within an hour.
    pub(crate) due_soon: usize,
    pub(crate) suspended: usize,
    pub(crate) attention: usize,
    /// How many CronJobs have a slot that should have started.
    pub(crate) overdue: usize,
    /// The CronJobs that start next.
    pub(crate) up_next: Vec<UpNext>,
}

/// A CronJob that starts soon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UpNext {
    pub(crate) id: CronJobId,
    pub(crate) at: Timestamp,
}

/// A CronJob that needs attention.
#[derive(Clone)]
pub(crate) struct Attention {
    pub(crate) entry: Arc<Entry>,
    pub(crate) row: Arc<FleetRow>,
}

/// Computes the totals.
pub(crate) fn overview(rows: &[(Arc<Entry>, Arc<FleetRow>)], now: Timestamp) -> Overview {
    let soon = now.checked_add(SignedDuration::from_hours(1)).unwrap_or(now);
    let mut namespaces = BTreeSet::new();
    let mut overview = Overview { cron_jobs: rows.len(), ..Overview::default() };
    let mut next: Vec<(Timestamp, &CronJobId)> = Vec::new();
    for (entry, row) in rows {
        namespaces.insert(row.namespace.as_str());
        overview.running += row.active;
        overview.suspended += usize::from(row.suspension.is_some());
        overview.attention += usize::from(row.state.needs_attention());
        overview.overdue += usize::from(row.state == FleetState::Overdue);
        let Some(at) = row.next else { continue };
        overview.due_soon += usize::from(at <= soon);
        next.push((at, &entry.id));
    }
    overview.namespaces = namespaces.into_iter().map(str::to_owned).collect();
    next.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.path().cmp(&b.1.path())));
    let next = next.into_iter().take(UP_NEXT_MAX);
    overview.up_next = next.map(|(at, id)| UpNext { id: id.clone(), at }).collect();
    overview
}

impl Overview {
    /// Returns how many CronJobs a filter selects.
    pub(crate) fn count(&self, state: StateFilter) -> Option<usize> {
        match state {
            StateFilter::All => Some(self.cron_jobs),
            StateFilter::Attention => Some(self.attention),
            StateFilter::Suspended => Some(self.suspended),
            StateFilter::DueSoon => Some(self.due_soon),
            StateFilter::Running => None,
        }
    }
}

/// Returns what needs attention, worst first, and how many more there are.
pub(crate) fn attention(rows: &[(Arc<Entry>, Arc<FleetRow>)]) -> (Vec<Attention>, usize) {
    let mut found: Vec<&(Arc<Entry>, Arc<FleetRow>)> =
        rows.iter().filter(|(_, row)| row.state.needs_attention()).collect();
    let total = found.len();
    found.sort_by_key(|(_, row)| {
        let failures = row.streak.map_or(0, |streak| streak.count);
        (
            row.state == FleetState::Failing,
            std::cmp::Reverse(failures),
            row.namespace.clone(),
            row.name.clone(),
        )
    });
    let shown = found.into_iter().take(ATTENTION_MAX);
    let shown: Vec<Attention> =
        shown.map(|(entry, row)| Attention { entry: entry.clone(), row: row.clone() }).collect();
    let more = total - shown.len();
    (shown, more)
}
