//! Imported timers elapse when systemd says, over ten years and against recorded answers of systemd.

use punctual_import::{ConvertedSchedule, ImportItem, UnitSource};
use punctual_schedule::{Schedule, Zones};
use punctual_testing::TestRng;

use crate::{
    civil_minutes::{CivilMinute, CivilMinutes},
    importer,
};

const RANDOM_TIMERS: u32 = 200;
const BASE: &str = "2027-01-01T00:00:00Z";

fn import(expression: &str, zone: &str) -> ImportItem {
    let text = format!(
        "# /x/t.timer\n[Timer]\nOnCalendar={expression}\n# /x/t.service\n[Service]\nExecStart=/x\n"
    );
    let mut importer = importer(zone);
    importer.import_units(&[UnitSource { file: "t".into(), text }]);
    let mut items = importer.finish();
    assert_eq!(items.len(), 1, "{items:?}");
    items.remove(0)
}

fn schedules(item: &ImportItem) -> Vec<&ConvertedSchedule> {
    item.objects.iter().map(|object| object.schedule.as_ref().unwrap()).collect()
}

/// `start`, `start..stop`, `start/repeat` or `start..stop/repeat`.
#[derive(Clone, Debug)]
struct TimerRange {
    start: i64,
    stop: Option<i64>,
    repeat: Option<i64>,
}

impl TimerRange {
    fn random(rng: &TestRng, low: i64, high: i64) -> TimerRange {
        let start = rng.between(low, high);
        let stop = rng.once_in(2).then(|| rng.between(start, high));
        // systemd rejects a repetition that leaves the field at once.
        let repeat_max = stop.unwrap_or(high) - start;
        let repeat = (repeat_max > 0 && rng.once_in(3)).then(|| rng.between(1, repeat_max));
        TimerRange { start, stop, repeat }
    }

    fn text(&self) -> String {
        let mut text = self.start.to_string();
        if let Some(stop) = self.stop {
            text.push_str(&format!("..{stop}"));
        }
        if let Some(repeat) = self.repeat {
            text.push_str(&format!("/{repeat}"));
        }
        text
    }

    fn matches(&self, value: i64) -> bool {
        self.matches_between(value, self.start, self.stop)
    }

    /// Counts from the end of a month. A range then begins with its stop.
    fn matches_from_end(&self, day: i64, month_length: i64) -> bool {
        let start = month_length + 1 - self.start;
        match self.stop.map(|stop| month_length + 1 - stop) {
            Some(stop) => self.matches_between(day, start.min(stop), Some(start.max(stop))),
            None => self.matches_between(day, start, None),
        }
    }

    fn matches_between(&self, value: i64, start: i64, stop: Option<i64>) -> bool {
        let step = self.repeat.unwrap_or(1);
        let is_open = stop.is_none() && self.repeat.is_some();
        let last = if is_open { i64::MAX } else { stop.unwrap_or(start) };
        value >= start && value <= last && (value - start) % step == 0
    }
}

/// A calendar expression. An empty list means every value.
#[derive(Clone, Debug)]
struct TimerSpec {
    weekdays: Vec<u8>,
    months: Vec<TimerRange>,
    days: Vec<TimerRange>,
    is_from_end: bool,
    hours: Vec<TimerRange>,
    minute: i64,
}

impl TimerSpec {
    fn random(rng: &TestRng) -> TimerSpec {
        let some = |low: i64, high: i64| -> Vec<TimerRange> {
            (0..rng.below(3)).map(|_| TimerRange::random(rng, low, high)).collect()
        };
        let is_from_end = rng.once_in(4);
        let mut weekdays: Vec<u8> = (0..7).collect();
        weekdays.retain(|_day| rng.once_in(4));
        TimerSpec {
            weekdays,
            months: some(1, 12),
            days: some(1, if is_from_end { 28 } else { 31 }),
            is_from_end,
            hours: some(0, 23),
            minute: rng.between(0, 59),
        }
    }

    fn text(&self) -> String {
        const NAMES: [&str; 7] = ["Sun", "mon", "Tuesday", "WED", "Thu", "Fri", "Sat"];
        let list = |ranges: &[TimerRange]| match ranges {
            [] => "*".to_owned(),
            some => some.iter().map(TimerRange::text).collect::<Vec<_>>().join(","),
        };
        let names: Vec<&str> = self.weekdays.iter().map(|day| NAMES[usize::from(*day)]).collect();
        let separator = if self.is_from_end { '~' } else { '-' };
        format!(
            "{} *-{}{separator}{} {}:{}",
            names.join(","),
            list(&self.months),
            list(&self.days),
            list(&self.hours),
            self.minute
        )
    }

    fn matches(&self, at: CivilMinute) -> bool {
        let any = |ranges: &[TimerRange], value: u8| {
            ranges.is_empty() || ranges.iter().any(|range| range.matches(value.into()))
        };
        let from_end =
            |range: &TimerRange| range.matches_from_end(at.day.into(), at.month_length.into());
        let is_day = if self.is_from_end && !self.days.is_empty() {
            self.days.iter().any(from_end)
        } else {
            any(&self.days, at.day)
        };
        is_day
            && i64::from(at.minute) == self.minute
            && any(&self.hours, at.hour)
            && any(&self.months, at.month)
            && (self.weekdays.is_empty() || self.weekdays.contains(&at.weekday))
    }
}

/// Compares a timer with its imported schedules.
fn compare(minutes: &CivilMinutes, spec: &TimerSpec) {
    let text = spec.text();
    let item = import(&text, minutes.zone);
    let mut found: Vec<u32> =
        schedules(&item).into_iter().flat_map(|schedule| minutes.slots(schedule)).collect();
    found.sort_unstable();
    // systemd leaves out repeated times, and the end of February differs in leap years. Both have
    // warnings.
    let is_leap_february = |at: CivilMinute| at.month == 2 && at.month_length == 29;
    let is_compared =
        |at: CivilMinute| !(at.is_repeated || spec.is_from_end && is_leap_february(at));
    found.retain(|slot| is_compared(minutes.at(*slot)));
    let wanted = minutes.matching(|at| is_compared(at) && spec.matches(at));
    assert!(found == wanted, "{text} became {:?} in {}", schedules(&item), minutes.zone);
    let is_february = |schedule: &ConvertedSchedule| schedule.text.split(' ').nth(3) == Some("2");
    let counts_days = spec.is_from_end && !spec.days.is_empty();
    let has_february = counts_days && schedules(&item).into_iter().any(is_february);
    let warns = item.warnings.iter().any(|warning| warning.contains("February"));
    assert_eq!(warns, has_february, "{text}");
}

#[test]
fn random_timers_elapse_when_their_rules_say() {
    for (zone, seed) in [("UTC", 21), ("Europe/Berlin", 22)] {
        let minutes = CivilMinutes::new(zone);
        let rng = TestRng::new(seed);
        (0..RANDOM_TIMERS).for_each(|_| compare(&minutes, &TimerSpec::random(&rng)));
    }
}

/// The answers of `systemd-analyze calendar --iterations=60` of systemd 252 after 2027-01-01T00:00:00Z.
#[test]
fn timers_elapse_when_systemd_says() {
    let mut compared = 0;
    for line in include_str!("../../testdata/systemd-analyze.txt").lines() {
        let (expression, times) = line.split_once('|').unwrap();
        let item = import(expression, "UTC");
        let wanted: Vec<jiff::Timestamp> =
            times.split(' ').map(|time| time.parse().unwrap()).collect();
        let found = recorded_slots(&item, *wanted.last().unwrap());
        // Both differences have warnings: repeated times, and the end of February in leap years.
        let is_warned = item
            .warnings
            .iter()
            .any(|warning| warning.contains("set back") || warning.contains("February"));
        let different: Vec<_> = found.iter().filter(|slot| !wanted.contains(slot)).collect();
        let missing: Vec<_> = wanted.iter().filter(|slot| !found.contains(slot)).collect();
        let is_equal = different.is_empty() && missing.is_empty();
        assert!(is_equal || is_warned, "{expression}: too many {different:?}, missing {missing:?}");
        compared += wanted.len();
    }
    assert!(compared > 4_000, "{compared}");
}

/// Returns the slots from the base time up to and including `until`.
fn recorded_slots(item: &ImportItem, until: jiff::Timestamp) -> Vec<jiff::Timestamp> {
    let mut slots = Vec::new();
    for object in &item.objects {
        let zone = object.manifest.pointer("/spec/timeZone").unwrap().as_str().unwrap();
        let zone = Zones::bundled().get(zone).unwrap();
        let converted = object.schedule.as_ref().unwrap();
        let schedule = Schedule::parse(&converted.text, &zone).unwrap();
        let weekday =
            |slot: &jiff::Timestamp| zone.at(*slot).weekday().to_sunday_zero_offset() as u32;
        let runs = schedule.between(BASE.parse().unwrap(), until);
        slots.extend(runs.filter(|slot| {
            converted.only_weekdays.is_none_or(|set| set >> weekday(slot) & 1 == 1)
        }));
    }
    slots.sort_unstable();
    slots
}
