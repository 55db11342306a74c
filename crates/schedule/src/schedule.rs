//! The schedule as its users see it.

use std::{fmt, iter::FusedIterator};

use jiff::{SignedDuration, Timestamp};

use crate::{
    calendar_rule::CalendarRule,
    error::ParseError,
    parse::{self, ScheduleRule},
    search, utc_minute,
    zone::Zone,
};

/// A schedule in a time zone: a set of instants, its *slots*.
///
/// See the [crate's documentation](crate) for what the texts mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    text: Box<str>,
    zone: Zone,
    rule: ScheduleRule,
}

/// What sort of schedule a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleKind {
    /// Five fields or a descriptor for them: civil times in the zone.
    Calendar,
    /// `@every`: a fixed distance from the last time.
    Every(SignedDuration),
    /// `@at`: one instant.
    At(Timestamp),
}

impl Schedule {
    /// Reads a schedule. `zone` holds unless the text has a `TZ=` or `CRON_TZ=` prefix of its own.
    pub fn parse(text: &str, zone: &Zone) -> Result<Schedule, ParseError> {
        let (rule, zone) = parse::parse(text, zone)?;
        Ok(Schedule { text: text.into(), zone, rule })
    }

    /// The text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The zone in which it holds.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// What sort of schedule it is.
    pub fn kind(&self) -> ScheduleKind {
        match &self.rule {
            ScheduleRule::Calendar(_) => ScheduleKind::Calendar,
            ScheduleRule::Every(secs) => ScheduleKind::Every(SignedDuration::from_secs(*secs)),
            ScheduleRule::At(at) => ScheduleKind::At(*at),
        }
    }

    /// Whether the schedule has no slot at all, known from its fields and not by searching.
    ///
    /// ```
    /// # use punctual_schedule::{Schedule, Zones};
    /// let utc = Zones::bundled().utc();
    /// assert!(Schedule::parse("0 0 31 2,4 *", &utc)?.is_never());
    /// assert!(Schedule::parse(", * * * *", &utc)?.is_never());
    /// assert!(!Schedule::parse("0 0 29 2 *", &utc)?.is_never());
    /// // A weekday is enough: the two day fields are alternatives.
    /// assert!(!Schedule::parse("0 0 31 2 1", &utc)?.is_never());
    /// # Ok::<(), punctual_schedule::ParseError>(())
    /// ```
    pub fn is_never(&self) -> bool {
        matches!(&self.rule, ScheduleRule::Calendar(calendar) if calendar.is_never)
    }

    /// The first slot after an instant.
    ///
    /// `@every` counts from the instant given, its fraction of a second dropped. None means that
    /// there is no further slot, ever, or none that jiff can tell (after the year 9999).
    ///
    /// ```
    /// # use punctual_schedule::{Schedule, Zones};
    /// let leap_day = Schedule::parse("0 0 29 2 *", &Zones::bundled().utc())?;
    /// // 2100 is no leap year, and eight years are not too far to look.
    /// let next = leap_day.next_after("2096-03-01T00:00:00Z".parse()?);
    /// assert_eq!(next, Some("2104-02-29T00:00:00Z".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn next_after(&self, instant: Timestamp) -> Option<Timestamp> {
        match &self.rule {
            ScheduleRule::Calendar(calendar) => {
                let minute = utc_minute::floor_minute(instant) + 1;
                let zone = self.zone.segments();
                utc_minute::from_minute(search::at_or_after(calendar, zone, minute)?)
            }
            ScheduleRule::Every(secs) => {
                Timestamp::from_second(utc_minute::floor_second(instant) + secs).ok()
            }
            ScheduleRule::At(at) => (*at > instant).then_some(*at),
        }
    }

    /// The last slot at or before an instant.
    ///
    /// For `@every` that is the instant itself, its fraction of a second dropped: the slots of an
    /// interval are where they are counted from. [`latest_in`](Self::latest_in) counts them from a
    /// start.
    #[inline]
    pub fn latest_at_or_before(&self, instant: Timestamp) -> Option<Timestamp> {
        match &self.rule {
            ScheduleRule::Calendar(calendar) => {
                let minute = utc_minute::floor_minute(instant);
                let zone = self.zone.segments();
                utc_minute::from_minute(search::at_or_before(calendar, zone, minute)?)
            }
            ScheduleRule::Every(_) => {
                Timestamp::from_second(utc_minute::floor_second(instant)).ok()
            }
            ScheduleRule::At(at) => (*at <= instant).then_some(*at),
        }
    }

    /// The last slot in `(after, until]`. `@every` counts from `after`.
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

    /// How many slots lie in `(after, until]`, exactly. `@every` counts from `after`.
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
            ScheduleRule::Calendar(calendar) => {
                let (after, until) =
                    (utc_minute::floor_minute(after), utc_minute::floor_minute(until));
                search::count(calendar, self.zone.segments(), after, until)
            }
            ScheduleRule::Every(secs) => {
                let passed = utc_minute::floor_second(until) - utc_minute::floor_second(after);
                u64::try_from(passed / secs).unwrap_or_default()
            }
            ScheduleRule::At(at) => u64::from(after < *at && *at <= until),
        }
    }

    /// The slots after an instant, in order.
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
    /// // The clocks go back at 03:00 on that Sunday, so 02:30 comes twice.
    /// assert_eq!(slots, ["Sun 02:30 +02:00", "Sun 02:30 +01:00", "Mon 02:30 +01:00"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn after(&self, instant: Timestamp) -> SlotsAfter<'_> {
        SlotsAfter { schedule: self, from: Some(instant) }
    }

    /// The slots before an instant, latest first. `@every` counts back from the instant.
    pub fn before(&self, instant: Timestamp) -> SlotsBefore<'_> {
        SlotsBefore { schedule: self, from: Some(instant) }
    }

    pub(crate) fn calendar(&self) -> Option<&CalendarRule> {
        match &self.rule {
            ScheduleRule::Calendar(calendar) => Some(calendar),
            _ => None,
        }
    }

    fn latest_before(&self, instant: Timestamp) -> Option<Timestamp> {
        if let ScheduleRule::Every(secs) = &self.rule {
            return Timestamp::from_second(utc_minute::floor_second(instant) - secs).ok();
        }
        let just_before = Timestamp::from_nanosecond(instant.as_nanosecond() - 1).ok()?;
        self.latest_at_or_before(just_before)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The slots after an instant. See [`Schedule::after`].
#[derive(Clone, Debug)]
pub struct SlotsAfter<'s> {
    schedule: &'s Schedule,
    from: Option<Timestamp>,
}

impl Iterator for SlotsAfter<'_> {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        self.from = self.schedule.next_after(self.from?);
        self.from
    }
}

impl FusedIterator for SlotsAfter<'_> {}

/// The slots before an instant, latest first. See [`Schedule::before`].
#[derive(Clone, Debug)]
pub struct SlotsBefore<'s> {
    schedule: &'s Schedule,
    from: Option<Timestamp>,
}

impl Iterator for SlotsBefore<'_> {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        self.from = self.schedule.latest_before(self.from?);
        self.from
    }
}

impl FusedIterator for SlotsBefore<'_> {}
