//! How many runs start and are active in each hour of a week, and in each minute of an hour.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_schedule::Zone;
use punctual_views::{ExpectedRun, expected_runs};

use crate::data::Entry;

const HOURS_PER_WEEK: usize = 168;
const MINUTES_PER_HOUR: usize = 60;
/// The most runs that are counted.
const RUNS_MAX: usize = 400_000;
/// The times that are predicted, longest first: a shorter one if there are too many runs.
const HORIZONS_HOURS: [i64; 4] = [168, 24, 6, 1];

/// The expected load of a fleet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadMap {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
    /// Starts in each hour, from Monday 00:00 in the zone. Hours that are not predicted are `None`.
    pub(crate) starts: Vec<Option<u32>>,
    /// The most runs that are active at the same time, by hour.
    pub(crate) peaks: Vec<Option<u32>>,
    /// Starts in each minute of the hour.
    pub(crate) minutes: Vec<u32>,
    pub(crate) runs: usize,
    /// The most runs that are active at the same time.
    pub(crate) peak: u32,
    pub(crate) peak_at: Option<Timestamp>,
    /// How many CronJobs have no finished run, so that theirs count as one second.
    pub(crate) without_duration: usize,
    /// Whether only a part of the week is predicted, because there are too many runs.
    pub(crate) is_short: bool,
}

impl LoadMap {
    /// Returns the minutes of the hour in which nothing starts.
    pub(crate) fn free_minutes(&self) -> Vec<usize> {
        let minutes = self.minutes.iter().enumerate();
        minutes.filter(|(_, starts)| **starts == 0).map(|(minute, _)| minute).collect()
    }
}

/// Predicts the load from `now` on.
pub(crate) fn load_map(
    entries: &[Arc<Entry>],
    medians: &HashMap<String, SignedDuration>,
    zone: &Zone,
    now: Timestamp,
) -> LoadMap {
    let horizons = HORIZONS_HOURS.into_iter().map(SignedDuration::from_hours);
    let mut runs = Vec::new();
    let mut until = now;
    let mut is_short = false;
    for horizon in horizons {
        until = now.checked_add(horizon).unwrap_or(Timestamp::MAX);
        is_short = horizon.as_hours() < HORIZONS_HOURS[0];
        runs = all_runs(entries, medians, now, until);
        if runs.len() < RUNS_MAX {
            break;
        }
    }
    let without_duration =
        entries.iter().filter(|entry| !medians.contains_key(entry.uid())).count();
    let map = LoadMap {
        from: now,
        until,
        starts: hours(zone, now, until),
        peaks: hours(zone, now, until),
        minutes: vec![0; MINUTES_PER_HOUR],
        runs: runs.len(),
        peak: 0,
        peak_at: None,
        without_duration,
        is_short,
    };
    count(map, runs, zone)
}

fn all_runs(
    entries: &[Arc<Entry>],
    medians: &HashMap<String, SignedDuration>,
    from: Timestamp,
    until: Timestamp,
) -> Vec<ExpectedRun> {
    let mut runs = Vec::new();
    for entry in entries {
        let limit = RUNS_MAX - runs.len();
        if limit == 0 {
            break;
        }
        let median = medians.get(entry.uid()).copied();
        runs.extend(expected_runs(&entry.snapshot, median, from, until, limit));
    }
    runs
}

/// Returns zero for each hour of the week that is predicted.
fn hours(zone: &Zone, from: Timestamp, until: Timestamp) -> Vec<Option<u32>> {
    let mut hours = vec![None; HOURS_PER_WEEK];
    let mut at = from;
    for _ in 0..HOURS_PER_WEEK {
        if at >= until {
            break;
        }
        if let Some(hour) = hours.get_mut(hour_of_week(zone, at)) {
            *hour = Some(0);
        }
        at = at.checked_add(SignedDuration::from_hours(1)).unwrap_or(until);
    }
    hours
}

fn hour_of_week(zone: &Zone, at: Timestamp) -> usize {
    let local = zone.at(at);
    let day = usize::try_from(local.weekday().to_monday_zero_offset()).unwrap_or(0);
    day * 24 + usize::try_from(local.hour()).unwrap_or(0)
}

fn count(mut map: LoadMap, mut runs: Vec<ExpectedRun>, zone: &Zone) -> LoadMap {
    runs.sort_unstable_by_key(|run| run.start);
    let mut ends: Vec<Timestamp> = runs.iter().map(|run| run.end).collect();
    ends.sort_unstable();
    let mut ended = ends.into_iter().peekable();
    let mut active: u32 = 0;
    // Consecutive runs start in the same minute most of the time, and conversions to local time are slow.
    let mut last: Option<(i64, usize, usize)> = None;
    for run in &runs {
        while ended.next_if(|end| *end <= run.start).is_some() {
            active = active.saturating_sub(1);
        }
        active += 1;
        let utc_minute = run.start.as_second().div_euclid(60);
        let (hour, minute) = match last {
            Some((known, hour, minute)) if known == utc_minute => (hour, minute),
            _ => {
                let minute = usize::try_from(zone.at(run.start).minute()).unwrap_or(0);
                (hour_of_week(zone, run.start), minute)
            }
        };
        last = Some((utc_minute, hour, minute));
        add(&mut map, hour, minute, active);
        if active > map.peak {
            map.peak = active;
            map.peak_at = Some(run.start);
        }
    }
    map
}

fn add(map: &mut LoadMap, hour: usize, minute: usize, active: u32) {
    if let Some(starts) = map.starts.get_mut(hour) {
        *starts = Some(starts.unwrap_or(0) + 1);
    }
    if let Some(peak) = map.peaks.get_mut(hour) {
        *peak = Some(peak.unwrap_or(0).max(active));
    }
    if let Some(starts) = map.minutes.get_mut(minute) {
        *starts += 1;
    }
}
