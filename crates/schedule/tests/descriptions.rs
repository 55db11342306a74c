//! Tests of descriptions and lints.

#![cfg(feature = "bundled-tzdata")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use punctual_schedule::{Schedule, Zones};

fn schedule(text: &str, zone: &str) -> Schedule {
    Schedule::parse(text, &Zones::bundled().get(zone).unwrap()).unwrap()
}

#[test]
fn calendar_schedules_are_described_in_english() {
    let cases = [
        ("* * * * *", "Every minute"),
        ("*/5 * * * *", "Every 5 minutes"),
        ("*/40 * * * *", "At minutes 0 and 40 of every hour"),
        ("0 * * * *", "Every hour, on the hour"),
        ("15 * * * *", "Every hour at minute 15"),
        ("0,15,40 * * * *", "At minutes 0, 15 and 40 of every hour"),
        ("30 2 * * *", "At 02:30"),
        ("30 2 * * 1-5", "At 02:30 on Monday through Friday"),
        ("30 6-16/4 * * 1-5", "At 06:30, 10:30 and 14:30 on Monday through Friday"),
        ("0 9-17 * * *", "Every hour from 09:00 through 17:00"),
        ("0 */2 * * *", "Every 2 hours from 00:00 through 22:00"),
        ("*/15 9-17 * * 1-5", "Every 15 minutes from 09:00 through 17:45 on Monday through Friday"),
        ("* 9 * * *", "Every minute from 09:00 through 09:59"),
        ("* 9,12 * * *", "Every minute of the hours 9 and 12"),
        (
            "*/30 */2 * * *",
            "At minutes 0 and 30 of the hours 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 and 22",
        ),
        ("0 0 29 2 *", "At 00:00 on day 29 of the month in February"),
        ("0 0 1,15 * *", "At 00:00 on days 1 and 15 of the month"),
        ("0 0 13 * 5", "At 00:00 on day 13 of the month and on every Friday"),
        ("0 0 1-31 * 1", "At 00:00"),
        ("0 0 */2 * 0-6", "At 00:00"),
        ("0 3 * * 0,6", "At 03:00 on Sunday and Saturday"),
        (
            "0 0 1 1,3-5,12 *",
            "At 00:00 on day 1 of the month in January, March through May and December",
        ),
        ("0 0 31 2 *", "Never"),
        (", * * * *", "Never"),
        ("@daily", "At 00:00"),
        ("@weekly", "At 00:00 on Sunday"),
        ("@yearly", "At 00:00 on day 1 of the month in January"),
        ("CRON_TZ=UTC 5 4 * * *", "At 04:05"),
    ];
    for (text, expected) in cases {
        assert_eq!(schedule(text, "UTC").describe(), format!("{expected}, in UTC"), "{text}");
    }
}

#[test]
fn intervals_and_instants_are_described_in_english() {
    let cases = [
        ("@every 90m", "Every 1 hour 30 minutes, counted from the last time"),
        ("@every 10s", "Every 10 seconds, counted from the last time"),
        ("@at 2026-12-31T23:59", "Once, at 2026-12-31 23:59:00, in Europe/Berlin"),
        ("@at 2026-12-31T23:59:00Z", "Once, at 2027-01-01 00:59:00, in Europe/Berlin"),
    ];
    for (text, expected) in cases {
        assert_eq!(schedule(text, "Europe/Berlin").describe(), expected, "{text}");
    }
}

#[test]
fn lints_have_the_expected_codes() {
    let cases: [(&str, &str, &[&str]); 23] = [
        ("0 4 * * *", "America/New_York", &[]),
        ("30 2 * * *", "America/New_York", &["skipped-by-dst"]),
        ("30 1 * * *", "America/New_York", &["repeated-by-dst"]),
        ("30 1,2 * * *", "America/New_York", &["skipped-by-dst", "repeated-by-dst"]),
        ("30 2 * * *", "UTC", &[]),
        ("30 2 * * 1-5", "America/New_York", &[]),
        ("* * * * *", "America/New_York", &[]),
        ("0 * * * *", "America/New_York", &[]),
        ("15 * * * *", "Australia/Lord_Howe", &["skipped-by-dst"]),
        ("0 0 * * *", "Africa/Cairo", &["skipped-by-dst"]),
        ("0 0 13 * 5", "UTC", &["either-day"]),
        ("0 0 */2 * 1", "UTC", &["either-day", "uneven-step"]),
        ("0 0 */1 * 1", "UTC", &[]),
        ("0 0 31 2 *", "UTC", &["never-matches"]),
        ("0 0 , * *", "UTC", &["never-matches"]),
        ("*/40 * * * *", "UTC", &["uneven-step"]),
        ("*/15 */5 * * *", "UTC", &["uneven-step"]),
        ("*/90 * * * *", "UTC", &["step-beyond-field"]),
        ("10-50/40 * * * *", "UTC", &[]),
        ("@every 30s", "UTC", &["sub-minute"]),
        ("@every 1m", "UTC", &[]),
        ("@at 2026-03-08T02:30", "America/New_York", &["ambiguous-time"]),
        ("@at 2026-03-08T02:30:00Z", "America/New_York", &[]),
    ];
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    for (text, zone, expected) in cases {
        let lints = schedule(text, zone).lints(now);
        let codes: Vec<&str> = lints.iter().map(|lint| lint.code()).collect();
        assert_eq!(codes, expected, "{text} in {zone}");
        assert!(lints.iter().all(|lint| !lint.to_string().is_empty()));
    }
}

#[test]
fn lints_explain_dates_and_reasons() {
    let now = "2026-04-01T00:00:00Z".parse().unwrap();
    let cases = [
        (
            "30 2 * * *",
            "does not run at 02:30 on 2027-03-14 because the clocks of America/New_York are set \
             forward to 03:00 then; choose a time outside the transition, or UTC, to run every day",
        ),
        (
            "30 1 * * *",
            "runs twice at 01:30 on 2026-11-01 because the clocks of America/New_York are set \
             back then; choose a time outside the transition, or UTC, to run once",
        ),
        (
            "*/40 3 * * *",
            "*/40 in the minute field is uneven: values are 40 apart, but the last gap is 20",
        ),
        (
            "*/90 3 * * *",
            "*/90 in the minute field matches only 0: the step is larger than the field",
        ),
        ("0 4 30 2 *", "never runs: none of its months has any of its days"),
        ("0 4 * , *", "never runs: the month field has no value"),
        (
            "@at 2026-11-01T01:30",
            "01:30 on 2026-11-01 occurs twice in America/New_York and runs the first time; add an \
             offset to choose",
        ),
        (
            "@at 2027-03-14T02:30",
            "02:30 on 2027-03-14 does not exist in America/New_York, where the clocks are set \
             forward then; runs at 03:30",
        ),
    ];
    for (text, expected) in cases {
        let lints = schedule(text, "America/New_York").lints(now);
        assert_eq!(lints[0].to_string(), expected, "{text}");
    }
}
