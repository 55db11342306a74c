//! Cron schedules in time zones: the next slot, the previous slot and exact counts at bounded cost.
//!
//! The grammar is that of robfig/cron v3's `ParseStandard`, which Kubernetes CronJobs use, with the
//! same special cases and error messages. The instants of a schedule are its *slots*. Those of a cron
//! expression follow one rule:
//!
//! > **The slots are all whole UTC minutes whose civil time in the zone matches the fields.**
//!
//! [`Schedule::next_after`] returns the first slot after an instant,
//! [`Schedule::latest_at_or_before`] the last slot at or before it, and [`Schedule::count_in`] the
//! exact number of slots between two instants. None of them iterates over the distance it covers,
//! allocates, or stops at a search horizon. A schedule without any slot is detected when it is
//! parsed.
//!
//! ```
//! use punctual_schedule::{Schedule, Zones};
//!
//! let berlin = Zones::bundled().get("Europe/Berlin")?;
//! let schedule = Schedule::parse("30 2 * * 1-5", &berlin)?;
//! let now = "2026-11-15T12:00:00Z".parse()?;
//!
//! assert_eq!(schedule.describe(), "At 02:30 on Monday through Friday, in Europe/Berlin");
//! assert_eq!(schedule.next_after(now), Some("2026-11-16T01:30:00Z".parse()?));
//! assert_eq!(schedule.latest_at_or_before(now), Some("2026-11-13T01:30:00Z".parse()?));
//! assert_eq!(schedule.count_in("2026-01-01T00:00:00Z".parse()?, now), 227);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Daylight saving time
//!
//! The rule decides. A skipped civil time has no slot on that day, and a repeated civil time has two.
//! Schedules that run every few minutes or every hour keep their interval.
//!
//! ```
//! # use punctual_schedule::{Schedule, Zones};
//! # fn slots(text: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
//! #     let zone = Zones::bundled().get(zone).unwrap();
//! #     let schedule = Schedule::parse(text, &zone).unwrap();
//! #     let slots = schedule.after(after.parse().unwrap()).take(count);
//! #     slots.map(|slot| zone.at(slot).strftime("%F %H:%M %:z").to_string()).collect()
//! # }
//! // New York, 2026-03-08: 02:00 to 03:00 is skipped.
//! assert_eq!(
//!     slots("30 2 * * *", "America/New_York", "2026-03-07T00:00:00Z", 2),
//!     ["2026-03-07 02:30 -05:00", "2026-03-09 02:30 -04:00"]
//! );
//! // New York, 2026-11-01: 01:00 to 02:00 is repeated.
//! assert_eq!(
//!     slots("30 1 * * *", "America/New_York", "2026-11-01T00:00:00Z", 2),
//!     ["2026-11-01 01:30 -04:00", "2026-11-01 01:30 -05:00"]
//! );
//! // Lord Howe, 2026-10-04: the clocks move from 02:00 to 02:30, so 02:15 is skipped.
//! assert_eq!(
//!     slots("15 2,3 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", 2),
//!     ["2026-10-04 03:15 +11:00", "2026-10-05 02:15 +11:00"]
//! );
//! // Samoa moved across the date line and skipped 2011-12-30.
//! assert_eq!(
//!     slots("0 12 30 12 *", "Pacific/Apia", "2011-01-01T00:00:00Z", 1),
//!     ["2012-12-30 12:00 +14:00"]
//! );
//! ```
//!
//! # Grammar
//!
//! ```text
//! schedule   := [ ("TZ=" | "CRON_TZ=") zone " " ] ( descriptor | minute hour day month weekday )
//! field      := range { "," range }
//! range      := ( "*" | "?" | value [ "-" value ] ) [ "/" step ]
//! descriptor := "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight"
//!             | "@hourly" | "@every " duration | "@at " time
//! ```
//!
//! Minutes are 0-59, hours 0-23, days of the month 1-31, months 1-12 or `jan`-`dec`, weekdays 0-6
//! or `sun`-`sat`. There is no `L`, `W` or `#`, no seconds field, and no 7 for Sunday. Special cases:
//!
//! ```
//! # use punctual_schedule::{Schedule, Zones};
//! # let utc = Zones::bundled().utc();
//! # let describe = |text: &str| {
//! #     let text = Schedule::parse(text, &utc).unwrap().describe();
//! #     text.trim_end_matches(", in UTC").to_string()
//! # };
//! # let error = |text: &str| Schedule::parse(text, &utc).unwrap_err().to_string();
//! // A single value with a step extends to the end of the field.
//! assert_eq!(describe("50/5 0 * * *"), "At 00:50 and 00:55");
//! // A step larger than the field leaves its first value.
//! assert_eq!(describe("*/60 0 * * *"), "At 00:00");
//! // The text after the hyphen of a star is ignored.
//! assert_eq!(describe("*-5 0 * * *"), "Every minute from 00:00 through 00:59");
//! // Empty items of a list are ignored, and a field can be empty.
//! assert_eq!(describe("5,,7 0 * * *"), "At 00:05 and 00:07");
//! assert_eq!(describe(", 0 * * *"), "Never");
//! // Numbers may have a sign and leading zeros.
//! assert_eq!(describe("+5 007 * * *"), "At 07:05");
//! // Two restricted day fields are alternatives: the 13th, and every Friday.
//! assert_eq!(describe("0 0 13 * 5"), "At 00:00 on day 13 of the month and on every Friday");
//! // A star in one day field restricts days by the other field alone, even with a step of 1 ...
//! assert_eq!(describe("0 0 */1 * 5"), "At 00:00 on Friday");
//! // ... but not with a larger step, nor if the field lists all values.
//! assert_eq!(describe("0 0 1-31 * 5"), "At 00:00");
//! // Ranges do not wrap around.
//! assert_eq!(error("0 0 * * fri-mon"), "beginning of range (5) beyond end of range (1): fri-mon");
//! assert_eq!(error("0 0 * * 7"), "end of range (7) above maximum (6): 7");
//! ```
//!
//! # Intervals and single instants
//!
//! `@every` counts from the instant that the caller passes, usually the last run. The interval is
//! truncated to whole seconds and is at least one second. `@at` is an extension of this crate: one
//! slot, given as an instant or as a civil time in the zone.
//!
//! ```
//! # use punctual_schedule::{Schedule, Zones};
//! # let berlin = Zones::bundled().get("Europe/Berlin").unwrap();
//! # let next = |text: &str, after: &str| {
//! #     let schedule = Schedule::parse(text, &berlin).unwrap();
//! #     schedule.next_after(after.parse().unwrap()).map(|slot| slot.to_string())
//! # };
//! assert_eq!(next("@every 1h30m", "2026-01-01T00:00:20.5Z").unwrap(), "2026-01-01T01:30:20Z");
//! assert_eq!(next("@every 1ms", "2026-01-01T00:00:20.5Z").unwrap(), "2026-01-01T00:00:21Z");
//! assert_eq!(next("@at 2026-07-01T08:00", "2026-01-01T00:00:00Z").unwrap(), "2026-07-01T06:00:00Z");
//! assert_eq!(next("@at 2026-07-01T08:00", "2026-07-01T06:00:00Z"), None);
//! // A skipped civil time moves forward by the length of the gap.
//! assert_eq!(next("@at 2026-03-29T02:30", "2026-01-01T00:00:00Z").unwrap(), "2026-03-29T01:30:00Z");
//! ```
//!
//! # Zones
//!
//! [`Zones::bundled`] contains the whole tz database, [`Zones::system`] reads the database of the
//! machine, and [`Zones::new`] wraps any other. Names are case-sensitive, and `Local` is an error. A
//! prefix in the text overrides the zone passed to [`Schedule::parse`]; in a prefix an empty name is
//! UTC and `Local` is the zone passed.
//!
//! # Features
//!
//! - `bundled-tzdata` (default): compiles the tz database into the program. Without it,
//!   [`Zones::default`], and with it [`FromStr`](std::str::FromStr), uses the system's database.
//! - `serde`: serializes a [`Schedule`] as its text.
//!
//! # Cost of counting
//!
//! A count visits each DST transition in the range if the days are restricted and the hours include
//! those of the transitions: two a year, and at most one cycle of 400 years.
//!
//! # Differences from robfig/cron
//!
//! robfig/cron advances hour by hour and day by day. Where DST transitions happen at midnight or by
//! half an hour, it skips a whole day, runs on a day that does not match, or never returns. Its
//! search ends after five years. This crate follows the rule in all these cases.

mod calendar_rule;
mod day_set;
mod describe;
mod error;
mod go_compat;
mod gregorian;
mod lint;
mod offset_table;
mod parse;
mod schedule;
mod search;
mod slots;
mod suggest;
mod time_set;
mod utc_minute;
mod zone;

pub use error::{CronField, ParseError, ZoneError};
pub use lint::Lint;
pub use schedule::{Schedule, ScheduleKind};
pub use slots::{SlotsAfter, SlotsBefore, SlotsBetween};
pub use zone::{Zone, Zones};
