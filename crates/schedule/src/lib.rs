//! Cron schedules with time zones: which instants a text like `30 2 * * 1-5` in Europe/Berlin means.
//!
//! The texts are those of Kubernetes CronJobs, that is, of robfig/cron v3's `ParseStandard`, odd
//! cases and error texts included. The instants follow one rule without exception:
//!
//! > **A slot is every whole minute (of UTC) whose civil time in the zone matches the fields.**
//!
//! Three questions can be asked, and none walks the distance it covers: the first slot after an
//! instant ([`Schedule::next_after`]), the last one at or before it
//! ([`Schedule::latest_at_or_before`]), and exactly how many lie between two instants
//! ([`Schedule::count_in`]). There is no horizon beyond which the search gives up, nothing is
//! allocated to answer, and a schedule that can never match is known as such when it is parsed. (A
//! count looks at each change of the clocks in between if the days are restricted and the hours are
//! those of the changes: two a year, and never more than one cycle of 400 years.)
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
//! It follows from the rule. A time that the clocks skip does not come that day, and a time that
//! they repeat comes twice. What runs every few minutes or every hour just goes on.
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
//! // New York, 2026-11-01: 01:00 to 02:00 comes twice.
//! assert_eq!(
//!     slots("30 1 * * *", "America/New_York", "2026-11-01T00:00:00Z", 2),
//!     ["2026-11-01 01:30 -04:00", "2026-11-01 01:30 -05:00"]
//! );
//! // Lord Howe, 2026-10-04: the clocks go from 02:00 to 02:30, so there is a 03:00 but no 02:15.
//! assert_eq!(
//!     slots("15 2,3 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", 2),
//!     ["2026-10-04 03:15 +11:00", "2026-10-05 02:15 +11:00"]
//! );
//! // Samoa went over the date line and had no 2011-12-30 at all.
//! assert_eq!(
//!     slots("0 12 30 12 *", "Pacific/Apia", "2011-01-01T00:00:00Z", 1),
//!     ["2012-12-30 12:00 +14:00"]
//! );
//! ```
//!
//! # The grammar
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
//! or `sun`-`sat`. There is no `L`, `W`, `#`, no seconds field and no 7 for Sunday. What else is odd:
//!
//! ```
//! # use punctual_schedule::{Schedule, Zones};
//! # let utc = Zones::bundled().utc();
//! # let describe = |text: &str| {
//! #     let text = Schedule::parse(text, &utc).unwrap().describe();
//! #     text.trim_end_matches(", in UTC").to_string()
//! # };
//! # let refuse = |text: &str| Schedule::parse(text, &utc).unwrap_err().to_string();
//! // A value with a step goes on to the end of the field.
//! assert_eq!(describe("50/5 0 * * *"), "At 00:50 and 00:55");
//! // A step beyond the field leaves its first value.
//! assert_eq!(describe("*/60 0 * * *"), "At 00:00");
//! // What follows the hyphen of a star is not looked at.
//! assert_eq!(describe("*-5 0 * * *"), "Every minute from 00:00 through 00:59");
//! // Empty items of a list are dropped, and a field can be empty.
//! assert_eq!(describe("5,,7 0 * * *"), "At 00:05 and 00:07");
//! assert_eq!(describe(", 0 * * *"), "Never");
//! // Numbers are Go's: a sign and leading zeros are welcome.
//! assert_eq!(describe("+5 007 * * *"), "At 07:05");
//! // Two restricted day fields are alternatives: the 13th, and every Friday.
//! assert_eq!(describe("0 0 13 * 5"), "At 00:00 on day 13 of the month and on every Friday");
//! // A star in one of them leaves it to the other, also with a step of 1 ...
//! assert_eq!(describe("0 0 */1 * 5"), "At 00:00 on Friday");
//! // ... but not with a larger step, nor if all values are written out.
//! assert_eq!(describe("0 0 1-31 * 5"), "At 00:00");
//! // Ranges do not wrap around.
//! assert_eq!(refuse("0 0 * * fri-mon"), "beginning of range (5) beyond end of range (1): fri-mon");
//! assert_eq!(refuse("0 0 * * 7"), "end of range (7) above maximum (6): 7");
//! ```
//!
//! # Intervals and single instants
//!
//! `@every` counts from wherever it is asked, which for a CronJob is its last time. It is cut to
//! whole seconds and is at least one. `@at` is ours: one slot, as an instant or as a civil time in
//! the zone.
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
//! // A civil time that is skipped is as much later as the clocks are put forward.
//! assert_eq!(next("@at 2026-03-29T02:30", "2026-01-01T00:00:00Z").unwrap(), "2026-03-29T01:30:00Z");
//! ```
//!
//! # Zones
//!
//! [`Zones::bundled`] has the whole tz database compiled in; [`Zones::new`] takes another one.
//! Names are exact to the case, and `Local` is refused. A prefix in the text wins over the zone that
//! the schedule is parsed with; there an empty name is UTC, and `Local` is the zone given.
//!
//! # Where it differs from robfig/cron
//!
//! robfig/cron steps through hours and days and goes astray where the clocks change at midnight or
//! by half an hour: it loses the whole day, runs on a day that does not match, or loops for ever on a
//! day that a zone skipped. It gives up after five years. Here the rule holds.

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
mod time_set;
mod utc_minute;
mod zone;

pub use error::{CronField, ParseError, ZoneError};
pub use lint::Lint;
pub use schedule::{Schedule, ScheduleKind, SlotsAfter, SlotsBefore};
pub use zone::{Zone, Zones};
