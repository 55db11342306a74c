//! Which slots wait to be started, and which have waited too long.

use jiff::{SignedDuration, Timestamp};
use punctual_api::{Time, cronjob::CronJobStatus};

use super::{Observed, Timetable, active, plan::Plan, reasons};
use crate::Note;

/// The slots that wait: those in effect, not yet started, and not too late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unmet {
    /// The first of them.
    pub(crate) oldest: Option<Timestamp>,
    /// The last of them.
    pub(crate) latest: Option<Timestamp>,
    /// How many there are, exactly.
    pub(crate) count: u64,
    /// Slots after this one count; for an interval, this is where it counts from.
    pub(crate) anchor: Timestamp,
}

/// Finds the slots that wait, and books the ones that are too late as misses.
pub(crate) fn find(
    seen: &Observed<'_>,
    timetable: &Timetable,
    plan: &mut Plan,
    now: Timestamp,
) -> Unmet {
    let anchor = anchor(seen, plan, plan.status.last_schedule_time, now);
    let deadline = seen.cron_job.spec.starting_deadline_seconds;
    let Some(deadline) = deadline else {
        return between(timetable, anchor, anchor, now);
    };
    let late = now.checked_sub(SignedDuration::from_secs(deadline)).unwrap_or(Timestamp::MIN);
    book_forgotten(seen, timetable, plan, (deadline, now));
    let missed = between(timetable, anchor, anchor, late);
    book_misses(&missed, plan);
    let earliest = match (timetable.interval(), missed.latest) {
        // Kubernetes counts an interval from the deadline once its first slot was missed. Where that is
        // longer than the deadline nothing waits then; the next look counts from the miss, and must come
        // at once.
        (Some(_), Some(_)) => late,
        _ => missed.latest.unwrap_or(anchor).max(anchor),
    };
    between(timetable, anchor, earliest, now)
}

/// Books what was too late when slots were started that nobody wrote down: whoever started them died, and
/// only their Jobs tell of them now.
fn book_forgotten(
    seen: &Observed<'_>,
    timetable: &Timetable,
    plan: &mut Plan,
    (deadline, now): (i64, Timestamp),
) {
    let recorded = plan.status_seen.last_schedule_time;
    let mut before = anchor(seen, plan, recorded, now);
    for started in active::forgotten_slots(seen, recorded) {
        let late = started.checked_sub(SignedDuration::from_secs(deadline));
        let missed = between(timetable, before, before, late.unwrap_or(Timestamp::MIN));
        book_misses(&missed, plan);
        before = before.max(started);
    }
}

/// The moment after which slots count: the last start, or the last miss, or the creation; and not
/// before the schedule took effect.
fn anchor(seen: &Observed<'_>, plan: &Plan, last: Option<Time>, now: Timestamp) -> Timestamp {
    let created = seen.cron_job.metadata.creation_timestamp.map_or(now, Time::timestamp);
    let last = last.map_or(created, Time::timestamp);
    let missed = plan.status.last_missed_time.map_or(last, Time::timestamp);
    let since = plan.schedule_since.unwrap_or(last);
    last.max(missed).max(since)
}

/// The slots in effect in `(after, until]`.
fn between(timetable: &Timetable, anchor: Timestamp, after: Timestamp, until: Timestamp) -> Unmet {
    let schedule = timetable.schedule();
    let latest = match timetable.interval() {
        Some(_) => latest_of_interval(timetable, after, until),
        None => timetable.latest_effective(until).filter(|slot| *slot > after),
    };
    let Some(latest) = latest else { return Unmet { oldest: None, latest, count: 0, anchor } };
    let count = schedule.count_in(after, latest);
    Unmet { oldest: schedule.next_after(after), latest: Some(latest), count, anchor }
}

/// An interval's slots are counted from `after`; jitter may hold the last one back.
fn latest_of_interval(
    timetable: &Timetable,
    after: Timestamp,
    until: Timestamp,
) -> Option<Timestamp> {
    let latest = timetable.schedule().latest_in(after, until)?;
    if timetable.effective(latest) <= until {
        return Some(latest);
    }
    timetable.schedule().before(latest).next().filter(|slot| *slot > after)
}

/// A miss is told once and counts as a failed run.
fn book_misses(missed: &Unmet, plan: &mut Plan) {
    let Some(latest) = missed.latest else { return };
    count_missed(&mut plan.status, latest, missed.count);
    let at = latest.strftime("%a, %d %b %Y %H:%M:%S +0000");
    let message = format!("Missed scheduled time to start a job: {at}");
    plan.notes.push(Note::warning(reasons::MISS_SCHEDULE, message));
}

/// Counts misses, of which this is the latest, as failed runs.
pub(crate) fn count_missed(status: &mut CronJobStatus, latest: Timestamp, count: u64) {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    status.last_missed_time = status.last_missed_time.max(Some(Time::new(latest)));
    for counter in
        [&mut status.missed_runs, &mut status.failed_runs, &mut status.failures_since_success]
    {
        *counter = counter.saturating_add(count);
    }
}
