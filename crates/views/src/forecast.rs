//! Predicts how many runs of a fleet start and are active in each hour, from how long their last runs took.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use punctual_api::ConcurrencyPolicy;
use serde::Serialize;

use crate::snapshot::CronJobSnapshot;

/// The most starts of a forecast, so that it fits into memory.
const STARTS_MAX: usize = 2_000_000;
const HOUR_SECONDS: i64 = 3600;

/// A forecast would have too many starts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the forecast has more than {STARTS_MAX} starts; choose a shorter time, or fewer CronJobs")]
pub struct TooManyStarts;

/// The runs of a fleet in the future.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    /// When it begins.
    pub from: Timestamp,
    /// When it ends.
    pub until: Timestamp,
    /// How many CronJobs it contains.
    pub cron_jobs: usize,
    /// Those of which no run has finished, so that their duration counts as one second.
    pub without_duration: Vec<String>,
    /// How many runs start.
    pub starts: u64,
    /// The most runs that are active at the same time.
    pub peak: u64,
    /// When that is first the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_at: Option<Timestamp>,
    /// The hours in which runs start or are active.
    pub hours: Vec<ForecastHour>,
}

/// One hour of a forecast.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForecastHour {
    /// Its beginning.
    pub hour: Timestamp,
    /// How many runs start.
    pub starts: u64,
    /// The most runs that are active at the same time.
    pub peak: u64,
    /// How many runs are active on average.
    pub average: f64,
}

/// A run that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedRun {
    /// When it starts.
    pub start: Timestamp,
    /// When it ends.
    pub end: Timestamp,
}

/// Predicts the runs of one CronJob in `(from, until]`, at most `limit`. `duration` is how long a run takes; a run of
/// which that is not known counts as one second.
pub fn expected_runs(
    snapshot: &CronJobSnapshot,
    duration: Option<SignedDuration>,
    from: Timestamp,
    until: Timestamp,
    limit: usize,
) -> Vec<ExpectedRun> {
    let slots = snapshot.planned_slots(from, until);
    let starts: Vec<Timestamp> =
        slots.map(|slot| snapshot.effective_time(slot)).take(limit).collect();
    // A run is active for a moment at least, so that it counts.
    let duration = duration.unwrap_or_default().max(SignedDuration::from_secs(1));
    apply_policy(&starts, duration, snapshot.policy())
}

/// Predicts the runs in `(from, until]`.
pub fn forecast(
    fleet: &[CronJobSnapshot],
    from: Timestamp,
    until: Timestamp,
) -> Result<Forecast, TooManyStarts> {
    let mut runs = Vec::new();
    let mut without_duration = Vec::new();
    for snapshot in fleet {
        let median = snapshot.ledger.median_duration();
        if median.is_none() {
            without_duration.push(snapshot.cron_job.key().into_owned());
        }
        let limit = STARTS_MAX + 1 - runs.len().min(STARTS_MAX);
        runs.extend(expected_runs(snapshot, median, from, until, limit));
        if runs.len() > STARTS_MAX {
            return Err(TooManyStarts);
        }
    }
    let mut forecast = summarize(&mut runs, from, until);
    forecast.cron_jobs = fleet.len();
    forecast.without_duration = without_duration;
    Ok(forecast)
}

/// Applies the concurrency policy to the runs of one CronJob.
fn apply_policy(
    starts: &[Timestamp],
    duration: SignedDuration,
    policy: ConcurrencyPolicy,
) -> Vec<ExpectedRun> {
    let mut runs: Vec<ExpectedRun> = Vec::with_capacity(starts.len());
    for due in starts {
        let active_until = runs.last().map(|run| run.end).filter(|end| end > due);
        let mut start = *due;
        match (policy, active_until) {
            (ConcurrencyPolicy::Replace, Some(_)) => {
                if let Some(active) = runs.last_mut() {
                    active.end = *due;
                }
            }
            (ConcurrencyPolicy::Forbid | ConcurrencyPolicy::CatchUp, Some(end)) => start = end,
            _ => {}
        }
        let is_waiting = runs.last().is_some_and(|run| run.start > *due);
        if policy == ConcurrencyPolicy::Forbid && is_waiting {
            // A slot waits already, and only the latest starts.
            continue;
        }
        runs.push(ExpectedRun { start, end: start.checked_add(duration).unwrap_or(start) });
    }
    runs
}

fn summarize(runs: &mut [ExpectedRun], from: Timestamp, until: Timestamp) -> Forecast {
    runs.sort_by_key(|run| run.start);
    let mut hours: BTreeMap<i64, ForecastHour> = BTreeMap::new();
    let mut ends: Vec<Timestamp> = runs.iter().map(|run| run.end).collect();
    ends.sort();
    let mut ended = ends.into_iter().peekable();
    let mut active: u64 = 0;
    let mut peak = 0;
    let mut peak_at = None;
    for run in runs.iter() {
        while ended.next_if(|end| *end <= run.start).is_some() {
            active = active.saturating_sub(1);
        }
        active += 1;
        if active > peak {
            peak = active;
            peak_at = Some(run.start);
        }
        let hour = hour_at(&mut hours, run.start);
        hour.starts += 1;
        hour.peak = hour.peak.max(active);
        add_active_time(&mut hours, run, until);
    }
    let starts = runs.len() as u64;
    let hours = hours.into_values().collect();
    Forecast {
        from,
        until,
        cron_jobs: 0,
        without_duration: Vec::new(),
        starts,
        peak,
        peak_at,
        hours,
    }
}

fn hour_at(hours: &mut BTreeMap<i64, ForecastHour>, at: Timestamp) -> &mut ForecastHour {
    let start = at.as_second().div_euclid(HOUR_SECONDS) * HOUR_SECONDS;
    hours.entry(start).or_insert_with(|| ForecastHour {
        hour: Timestamp::from_second(start).unwrap_or(at),
        starts: 0,
        peak: 0,
        average: 0.0,
    })
}

/// Adds the active time of a run to each hour in which it is active, until the end of the forecast.
fn add_active_time(hours: &mut BTreeMap<i64, ForecastHour>, run: &ExpectedRun, until: Timestamp) {
    let end = run.end.min(until);
    let mut at = run.start;
    while at < end {
        let next = (at.as_second().div_euclid(HOUR_SECONDS) + 1) * HOUR_SECONDS;
        let next = Timestamp::from_second(next).unwrap_or(end).min(end);
        let hour = hour_at(hours, at);
        hour.average += next.duration_since(at).as_secs_f64() / HOUR_SECONDS as f64;
        hour.peak = hour.peak.max(1);
        at = next;
    }
}
