//! A timer: when it elapses, and the objects that replace it.

use std::collections::BTreeMap;

use super::{
    calendar, calendar_parse,
    service::{self, ServiceDraft},
    time_span,
    unit_file::{UnitFile, UnitSetting},
};
use crate::{
    ImportItem,
    calendar_fields::ConvertedSchedule,
    clock_changes,
    draft::{DEADLINE_WITHOUT_CATCH_UP_SECONDS, JobDraft},
    importer::{ImportedObject, Importer, SourceLine},
};
use jiff::SignedDuration;
use punctual_schedule::{Schedule, Zone};

const TIMER: &str = "Timer";

/// The largest jitter in percent.
const JITTER_MAX: i64 = 50;

/// Settings that start the unit at an interval after it was last started or stopped.
const REPEATING: [&str; 2] = ["OnUnitActiveSec", "OnUnitInactiveSec"];
/// Settings that start the unit once after another event.
const ONCE: [&str; 3] = ["OnActiveSec", "OnBootSec", "OnStartupSec"];

/// The settings of a timer that are imported or have no effect here.
const KNOWN: [&str; 14] = [
    "OnCalendar",
    "OnUnitActiveSec",
    "OnUnitInactiveSec",
    "OnActiveSec",
    "OnBootSec",
    "OnStartupSec",
    "Persistent",
    "RandomizedDelaySec",
    "AccuracySec",
    "Unit",
    "RemainAfterElapse",
    "FixedRandomDelay",
    "OnTimezoneChange",
    "OnClockChange",
];

/// A timer and its service.
struct TimerContext<'a> {
    timer: &'a UnitFile,
    /// The name of the objects.
    name: &'a str,
    service: ServiceDraft,
}

/// A jitter and the longest delay that it causes.
#[derive(Clone, Copy, Debug)]
struct TimerJitter {
    percent: i64,
    delay_seconds: i64,
}

/// Returns the name of the service that a timer starts.
pub(super) fn service_name(timer: &UnitFile) -> String {
    let stem = timer.name.strip_suffix(".timer").unwrap_or(&timer.name);
    timer.value(TIMER, "Unit").map_or_else(|| format!("{stem}.service"), String::from)
}

/// Finds a service, or the template of its instance.
pub(super) fn find_service<'a>(
    name: &str,
    units: &'a BTreeMap<String, UnitFile>,
) -> Option<&'a UnitFile> {
    let template = || {
        let (prefix, instance) = name.split_once('@')?;
        let (_, suffix) = instance.rsplit_once('.')?;
        units.get(&format!("{prefix}@.{suffix}"))
    };
    units.get(name).or_else(template)
}

impl Importer {
    pub(super) fn import_timer(&mut self, timer: &UnitFile, units: &BTreeMap<String, UnitFile>) {
        let unit = SourceLine { file: timer.name.clone(), line: 0, text: "timer".into() };
        let service_name = service_name(timer);
        let Some(service_unit) = find_service(&service_name, units) else {
            return self.reject(unit, format!("the service {service_name} is missing"));
        };
        let mut service = service::read(service_unit, &service_name, &self.options);
        if service.command.is_empty() {
            return self.reject(unit, format!("{service_name} has no ExecStart="));
        }
        let warnings: Vec<String> =
            service.warnings.drain(..).chain(timer_warnings(timer)).collect();
        if !warnings.is_empty() {
            self.push(ImportItem { source: unit.clone(), objects: Vec::new(), warnings });
        }
        let name = timer.name.strip_suffix(".timer").unwrap_or(&timer.name);
        let context = TimerContext { timer, name, service };
        let calendars = timer.list(TIMER, "OnCalendar");
        let intervals: Vec<&UnitSetting> =
            REPEATING.into_iter().flat_map(|key| timer.list(TIMER, key)).collect();
        for setting in &calendars {
            self.import_calendar(setting, &context);
        }
        for setting in &intervals {
            self.import_interval(setting, &context);
        }
        for setting in ONCE.into_iter().flat_map(|key| timer.list(TIMER, key)) {
            self.reject_once_setting(setting, !intervals.is_empty());
        }
        if timer.section(TIMER).all(|setting| !setting.key.starts_with("On")) {
            self.reject(unit, "the timer has no setting that says when it elapses".into());
        }
    }

    fn import_calendar(&mut self, setting: &UnitSetting, context: &TimerContext<'_>) {
        let source = setting.source.clone();
        let zones = self.options.zone.zones().clone();
        let parsed = calendar_parse::parse(&setting.value, &zones).and_then(|spec| {
            let converted = calendar::convert(&spec, &setting.value)?;
            Ok((spec, converted))
        });
        let (spec, converted) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => return self.reject(source, error.to_string()),
        };
        let zone = spec.zone.unwrap_or_else(|| self.options.zone.clone());
        let mut warnings = converted.warnings;
        let mut objects = Vec::new();
        for schedule in converted.schedules {
            warnings.extend(self.calendar_warnings(&schedule, &zone));
            let object = self.timer_object(schedule, &zone, context, &mut warnings);
            objects.push(object);
        }
        warnings.dedup();
        self.push(ImportItem { source, objects, warnings });
    }

    /// Warns about an instant that is over, and about clock changes.
    fn calendar_warnings(&self, schedule: &ConvertedSchedule, zone: &Zone) -> Vec<String> {
        let mut warnings = Vec::new();
        let parsed = Schedule::parse(&schedule.text, zone).ok();
        if parsed.is_some_and(|parsed| parsed.next_after(self.options.now).is_none()) {
            warnings.push("it has no time in the future, so nothing runs".into());
        }
        let repeated = clock_changes::first_repeated_slot(&schedule.text, zone, self.options.now);
        if let Some(date) = repeated {
            warnings.push(format!(
                "when the clocks of {zone} are set back, next on {date}, systemd runs only in the \
                 first of the two hours, here it runs in both"
            ));
        }
        warnings
    }

    fn import_interval(&mut self, setting: &UnitSetting, context: &TimerContext<'_>) {
        let source = setting.source.clone();
        let Some(seconds) = time_span::parse_seconds(&setting.value).filter(|span| *span >= 1.0)
        else {
            let reason = format!("{:?} is not a time span of a second or more", setting.value);
            return self.reject(source, reason);
        };
        let from = if setting.key == "OnUnitActiveSec" { "start" } else { "end" };
        let mut warnings = vec![format!(
            "systemd counts from the last {from} of the service; here the interval counts from the \
             slot of the last run, and first from the creation of the object"
        )];
        let schedule = ConvertedSchedule::new(format!("@every {}s", seconds as u64));
        let zone = self.options.zone.clone();
        let object = self.timer_object(schedule, &zone, context, &mut warnings);
        self.push(ImportItem { source, objects: vec![object], warnings });
    }

    fn reject_once_setting(&mut self, setting: &UnitSetting, has_interval: bool) {
        let source = setting.source.clone();
        if has_interval {
            let warning = "the first run after a start is not imported; the interval counts from the \
                           creation of the object";
            return self.warn(source, warning.into());
        }
        self.reject(source, "a CronJob cannot run once after a start of the machine".into());
    }

    fn timer_object(
        &mut self,
        schedule: ConvertedSchedule,
        zone: &Zone,
        context: &TimerContext<'_>,
        warnings: &mut Vec<String>,
    ) -> ImportedObject {
        let TimerContext { timer, name, service } = context;
        let jitter = self.jitter(timer, &schedule, zone, warnings);
        let delay = jitter.map_or(0, |jitter| jitter.delay_seconds);
        // An interval starts late after an outage, whatever Persistent= says.
        let catches_up = timer.is_on(TIMER, "Persistent") || schedule.text.starts_with("@every");
        let starting_deadline = (!catches_up).then_some(DEADLINE_WITHOUT_CATCH_UP_SECONDS + delay);
        let draft = JobDraft {
            name: (*name).into(),
            schedule,
            time_zone: zone.name().into(),
            command: service.command.clone(),
            env: service.env.clone(),
            user: service.user.clone(),
            working_dir: service.working_dir.clone(),
            concurrency_policy: "Forbid",
            starting_deadline,
            active_deadline: service.active_deadline,
            jitter: jitter.map(|jitter| jitter.percent),
        };
        self.build(draft)
    }

    /// Returns the jitter that spreads the starts about as `RandomizedDelaySec` does.
    fn jitter(
        &self,
        timer: &UnitFile,
        schedule: &ConvertedSchedule,
        zone: &Zone,
        warnings: &mut Vec<String>,
    ) -> Option<TimerJitter> {
        let value = timer.value(TIMER, "RandomizedDelaySec")?;
        let delay = time_span::parse_seconds(value).filter(|delay| *delay > 0.0)?;
        let gap = shortest_gap(&schedule.text, zone, self.options.now)?;
        let wanted = (100.0 * delay / gap.as_secs_f64()).round();
        let percent = wanted.clamp(1.0, JITTER_MAX as f64);
        let limit = if wanted > percent { ", which is the most" } else { "" };
        warnings.push(format!(
            "RandomizedDelaySec={value} becomes a jitter of {percent} percent of the time between \
             runs{limit}"
        ));
        let delay_seconds = (percent / 100.0 * gap.as_secs_f64()).ceil() as i64;
        Some(TimerJitter { percent: percent as i64, delay_seconds })
    }
}

/// Returns the shortest of the next gaps between slots.
fn shortest_gap(schedule: &str, zone: &Zone, now: jiff::Timestamp) -> Option<SignedDuration> {
    let schedule = Schedule::parse(schedule, zone).ok()?;
    let slots: Vec<_> = schedule.after(now).take(20).collect();
    slots
        .windows(2)
        .filter_map(|pair| match pair {
            [first, second] => Some(second.duration_since(*first)),
            _ => None,
        })
        .min()
}

/// Warns about settings of the timer that are not imported.
fn timer_warnings(timer: &UnitFile) -> Vec<String> {
    let mut warnings = Vec::new();
    for key in ["OnClockChange", "OnTimezoneChange"] {
        if timer.is_on(TIMER, key) {
            warnings.push(format!("{key}= is not imported"));
        }
    }
    let mut ignored: Vec<&str> = timer.section(TIMER).map(|setting| setting.key.as_str()).collect();
    ignored.retain(|key| !KNOWN.contains(key));
    ignored.sort_unstable();
    ignored.dedup();
    if !ignored.is_empty() {
        warnings.push(format!("these settings are not imported: {}", ignored.join(", ")));
    }
    warnings
}
