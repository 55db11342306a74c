//! [`Schedule`]: parsing, queries (next, latest, count, matches), and its text and equality.

use std::{
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
};

use jiff::{SignedDuration, Timestamp};

use crate::{
    calendar_rule::CalendarRule,
    error::ParseError,
    parse::{self, ScheduleRule},
    search,
    slots::{SlotsAfter, SlotsBefore, SlotsBetween},
    utc_minute,
    zone::{Zone, Zones},
};

/// A schedule in a time zone: a set of instants, its *slots*.
///
/// See the [crate documentation](crate) for the grammar.
///
/// # Text
///
/// [`FromStr`] parses a text in the zone of its `CRON_TZ=` prefix, or in UTC without a prefix.
/// [`Display`](fmt::Display) writes such a text: it parses to an equal schedule if
/// [`Zones::default`] has the same data for the zone. [`text`](Self::text) is the text that was
/// parsed. The feature `serde` serializes a schedule as the text of `Display`.
///
/// ```
/// use punctual_schedule::{Schedule, Zones};
///
/// let berlin = Zones::bundled().get("Europe/Berlin")?;
/// let schedule = Schedule::parse("30 2 * * 1-5", &berlin)?;
/// assert_eq!(schedule.text(), "30 2 * * 1-5");
/// assert_eq!(schedule.to_string(), "CRON_TZ=Europe/Berlin 30 2 * * 1-5");
/// assert_eq!(schedule.to_string().parse::<Schedule>()?, schedule);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Equality
///
/// Two schedules are equal if they have equal zones and the same slots. The spelling does not
/// matter. A schedule can be the key of a map: the cache of loaded zones that it refers to, which
/// clippy's `mutable_key_type` reports, is not part of its value.
///
/// ```
/// # use punctual_schedule::Schedule;
/// let parse = |text: &str| text.parse::<Schedule>().unwrap();
/// assert_eq!(parse("0 0 * * *"), parse("@daily"));
/// assert_eq!(parse("*/20 6 * jan-dec *"), parse("0,20,40 6 1-31 * *"));
/// assert_ne!(parse("0 0 * * *"), parse("CRON_TZ=Europe/Berlin 0 0 * * *"));
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    text: Box<str>,
    zone: Zone,
    rule: ScheduleRule,
}

/// The kind of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScheduleKind {
    /// Five fields or a descriptor such as `@daily`: civil times in the zone.
    Calendar,
    /// `@every`: a fixed interval.
    Every(SignedDuration),
    /// `@at`: a single instant.
    At(Timestamp),
}

impl Schedule {
    /// Parses a schedule. A `TZ=` or `CRON_TZ=` prefix of the text overrides `zone`.
    pub fn parse(text: &str, zone: &Zone) -> Result<Schedule, ParseError> {
        let (rule, zone) = parse::parse(text, zone)?;
        Ok(Schedule { text: text.into(), zone, rule })
    }

    /// Returns the text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the zone of the schedule.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Returns the kind of the schedule.
    pub fn kind(&self) -> ScheduleKind {
        match &self.rule {
            ScheduleRule::Calendar(_) => ScheduleKind::Calendar,
            ScheduleRule::Every(secs) => ScheduleKind::Every(SignedDuration::from_secs(*secs)),
            ScheduleRule::At(at) => ScheduleKind::At(*at),
        }
    }

    /// Reports whether the schedule has no slot at all. The fields decide this; nothing is searched.
    ///
    /// ```
    /// # use punctual_schedule::{Schedule, Zones};
    /// let utc = Zones::bundled().utc();
    /// assert!(Schedule::parse("0 0 31 2,4 *", &utc)?.is_never());
    /// assert!(Schedule::parse(", * * * *", &utc)?.is_never());
    /// assert!(!Schedule::parse("0 0 29 2 *", &utc)?.is_never());
    /// // The two day fields are alternatives, so a weekday is enough.
    /// assert!(!Schedule::parse("0 0 31 2 1", &utc)?.is_never());
    /// # Ok::<(), punctual_schedule::ParseError>(())
    /// ```
    pub fn is_never(&self) -> bool {
        matches!(&self.rule, ScheduleRule::Calendar(rule) if rule.is_never)
    }

    /// Reports whether an instant is a slot.
    ///
    /// The slots of an `@every` schedule depend on the instant that it is counted from, so no
    /// instant matches it.
    ///
    /// ```
    /// # use punctual_schedule::Schedule;
    /// let schedule: Schedule = "CRON_TZ=Europe/Berlin 30 2 * * 1-5".parse()?;
    /// assert!(schedule.matches("2026-11-16T01:30:00Z".parse()?));
    /// // A slot is the start of a minute.
    /// assert!(!schedule.matches("2026-11-16T01:30:01Z".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn matches(&self, instant: Timestamp) -> bool {
        match &self.rule {
            ScheduleRule::Calendar(_) => self.latest_at_or_before(instant) == Some(instant),
            ScheduleRule::Every(_) => false,
            ScheduleRule::At(at) => *at == instant,
        }
    }

    /// Returns the first slot after an instant.
    ///
    /// `@every` counts from `instant` without its fraction of a second. None means that there is no
    /// later slot, or none that jiff represents (after the year 9999).
    ///
    /// ```
    /// # use punctual_schedule::{Schedule, Zones};
    /// let leap_day = Schedule::parse("0 0 29 2 *", &Zones::bundled().utc())?;
    /// // 2100 is not a leap year. The search has no horizon.
    /// let next = leap_day.next_after("2096-03-01T00:00:00Z".parse()?);
    /// assert_eq!(next, Some("2104-02-29T00:00:00Z".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn next_after(&self, instant: Timestamp) -> Option<Timestamp> {
        match &self.rule {
            ScheduleRule::Calendar(rule) => {
                let minute = utc_minute::floor_minute(instant) + 1;
                let zone = self.zone.offsets();
                utc_minute::to_timestamp(search::at_or_after(rule, zone, minute)?)
            }
            ScheduleRule::Every(secs) => {
                Timestamp::from_second(utc_minute::floor_second(instant) + secs).ok()
            }
            ScheduleRule::At(at) => (*at > instant).then_some(*at),
        }
    }

    /// Returns the last slot at or before an instant.
    ///
    /// For `@every` this is `instant` without its fraction of a second, because an interval counts
    /// from any instant. [`latest_in`](Self::latest_in) counts from a given start.
    #[inline]
    pub fn latest_at_or_before(&self, instant: Timestamp) -> Option<Timestamp> {
        match &self.rule {
            ScheduleRule::Calendar(rule) => {
                let minute = utc_minute::floor_minute(instant);
                let zone = self.zone.offsets();
                utc_minute::to_timestamp(search::at_or_before(rule, zone, minute)?)
            }
            ScheduleRule::Every(_) => {
                Timestamp::from_second(utc_minute::floor_second(instant)).ok()
            }
            ScheduleRule::At(at) => (*at <= instant).then_some(*at),
        }
    }

    /// Returns the last slot in `(after, until]`. `@every` counts from `after`.
    ///
    /// ```
    /// # use punctual_schedule::{Schedule, Zones};
    /// let every = Schedule::parse("@every 45m", &Zones::bundled().utc())?;
    /// let latest = every.latest_in("2026-01-01T08:10:00Z".parse()?, "2026-01-01T10:00:00Z".parse()?);
    /// assert_eq!(latest, Some("2026-01-01T09:40:00Z".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn latest_in(&self, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
        match &self.rule {
            ScheduleRule::Every(secs) => {
                let passed = i64::try_from(self.count_in(after, until)).ok().filter(|n| *n > 0)?;
                Timestamp::from_second(utc_minute::floor_second(after) + passed * secs).ok()
            }
            _ => self.latest_at_or_before(until).filter(|slot| *slot > after),
        }
    }

    /// Counts the slots in `(after, until]` exactly. `@every` counts from `after`.
    ///
    /// ```
    /// # use punctual_schedule::{Schedule, Zones};
    /// let minutely = Schedule::parse("* * * * *", &Zones::bundled().get("America/New_York")?)?;
    /// let missed = minutely.count_in("1970-01-01T00:00:00Z".parse()?, "2026-01-01T00:00:00Z".parse()?);
    /// assert_eq!(missed, 29_453_760);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count_in(&self, after: Timestamp, until: Timestamp) -> u64 {
        match &self.rule {
            ScheduleRule::Calendar(rule) => search::count(
                rule,
                self.zone.offsets(),
                utc_minute::floor_minute(after),
                utc_minute::floor_minute(until),
            ),
            ScheduleRule::Every(secs) => {
                let passed = utc_minute::floor_second(until) - utc_minute::floor_second(after);
                u64::try_from(passed / secs).unwrap_or_default()
            }
            ScheduleRule::At(at) => u64::from(after < *at && *at <= until),
        }
    }

    /// Iterates over the slots after an instant, in order.
    ///
    /// ```
    /// # use punctual_schedule::{Schedule, Zones};
    /// let zone = Zones::bundled().get("Europe/Berlin")?;
    /// let schedule = Schedule::parse("30 2 * * *", &zone)?;
    /// let slots: Vec<String> = schedule
    ///     .after("2026-10-24T12:00:00Z".parse()?)
    ///     .take(3)
    ///     .map(|slot| zone.at(slot).strftime("%a %H:%M %:z").to_string())
    ///     .collect();
    /// // The clocks are set back at 03:00 on that Sunday, so 02:30 occurs twice.
    /// assert_eq!(slots, ["Sun 02:30 +02:00", "Sun 02:30 +01:00", "Mon 02:30 +01:00"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn after(&self, instant: Timestamp) -> SlotsAfter<'_> {
        SlotsAfter::new(self, instant)
    }

    /// Iterates over the slots before an instant, latest first. `@every` counts back from `instant`.
    pub fn before(&self, instant: Timestamp) -> SlotsBefore<'_> {
        SlotsBefore::new(self, instant)
    }

    /// Iterates over the slots in `(after, until]` from both ends. `@every` counts from `after`.
    ///
    /// `count`, `last` and `size_hint` take a bounded number of steps.
    ///
    /// ```
    /// # use punctual_schedule::Schedule;
    /// let schedule: Schedule = "0 9 * * 1-5".parse()?;
    /// let mut november = schedule.between("2026-11-01T00:00:00Z".parse()?, "2026-12-01T00:00:00Z".parse()?);
    /// assert_eq!(november.next(), Some("2026-11-02T09:00:00Z".parse()?));
    /// assert_eq!(november.next_back(), Some("2026-11-30T09:00:00Z".parse()?));
    /// assert_eq!(november.count(), 19);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn between(&self, after: Timestamp, until: Timestamp) -> SlotsBetween<'_> {
        SlotsBetween::new(self, after, until)
    }

    pub(crate) fn calendar_rule(&self) -> Option<&CalendarRule> {
        match &self.rule {
            ScheduleRule::Calendar(rule) => Some(rule),
            _ => None,
        }
    }

    /// Returns the last slot before an instant. `@every` counts back from `instant`.
    pub(crate) fn latest_before(&self, instant: Timestamp) -> Option<Timestamp> {
        if let ScheduleRule::Every(secs) = &self.rule {
            return Timestamp::from_second(utc_minute::floor_second(instant) - secs).ok();
        }
        let just_before = Timestamp::from_nanosecond(instant.as_nanosecond() - 1).ok()?;
        self.latest_at_or_before(just_before)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.zone.name() != "UTC" {
            write!(f, "CRON_TZ={} ", self.zone.name())?;
        }
        f.write_str(parse::strip_zone_prefix(&self.text))
    }
}

impl FromStr for Schedule {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Schedule, ParseError> {
        Schedule::parse(text, &Zones::default().utc())
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Schedule) -> bool {
        self.rule == other.rule && self.zone == other.zone
    }
}

impl Eq for Schedule {}

impl Hash for Schedule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rule.hash(state);
        self.zone.hash(state);
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Schedule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Schedule {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Schedule, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
