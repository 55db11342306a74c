//! Imported crontab lines run at the times at which cron runs them, over ten years.

use punctual_import::CrontabFormat;
use punctual_testing::TestRng;

use crate::{civil_minutes::CivilMinutes, importer, vixie_oracle::VixieEntry};

const RANDOM_LINES: u32 = 200;

const LINES: [&str; 48] = [
    "* * * * *",
    "*/5 * * * *",
    "0 0 * * 7",
    "0 0 * * 5-7",
    "0 0 */2 * 1",
    "0 0 1 * */2",
    "0 0 1,15 * 5",
    "0 0 1,* * 1",
    "0 0 *,1 * 1",
    "0 0 1-31 * 1",
    "0 0 1 * 0-6",
    "0 0 1 * 0-7",
    "0 0 1 * 1-7",
    "0 12 1-7 * *",
    "0 9-17/2 * jan-mar,DEC mon-fri",
    "15,45 */3 * * sun,Sat",
    "0 0 29 2 *",
    "0 0 31 2 *",
    "0 0 31 2 1",
    "5/10 * * * *",
    "0 22-2 * * *",
    "0 0 * * Monday",
    "60 * * * *",
    "0 24 * * *",
    "0 0 0 * *",
    "0 0 * 13 *",
    "0 0 * * 8",
    "0 0 * * 0,7",
    "0 0 * * */7",
    "0 0 * * */3",
    "0 0 * * 1-7/2",
    "0 0 */31 * 1",
    "0 0 */1 * 1",
    "*/7 */5 * * *",
    "30 2 * * *",
    "30 1,2,3 * 3,10 0",
    "0 0 ? * 1",
    "0 0 * * 6-0",
    "0 0 1-7,15-21 */3 mon",
    "0 0 */10 * */2",
    "1-59/2 0-23/6 * * *",
    "*/61 * * * *",
    "*/0 * * * *",
    "59 23 31 12 *",
    "0 0 10-20/5 * 3-3",
    "00 007 01 01 *",
    "0 0 * feb fri",
    "* * 13 * 5",
];

/// Compares one line with its imported schedule.
fn compare(minutes: &CivilMinutes, fields: &str) {
    let mut importer = importer(minutes.zone);
    importer.import_crontab("t", &format!("{fields} cmd\n"), CrontabFormat::User, Some("alice"));
    let items = importer.finish();
    let entry = VixieEntry::parse(fields);
    let object = items[0].objects.first();
    assert_eq!(object.is_some(), entry.is_some(), "{fields}: {:?}", items[0].warnings);
    let (Some(object), Some(entry)) = (object, entry) else {
        return assert!(!items[0].warnings.is_empty(), "{fields} is rejected without a reason");
    };
    let converted = object.schedule.as_ref().unwrap();
    let wanted = minutes.matching(|minute| entry.matches(minute));
    let found = minutes.slots(converted);
    assert!(found == wanted, "{fields} became {converted:?} in {}", minutes.zone);
    let has_warning = items[0].warnings.iter().any(|text| text.contains("both day fields"));
    assert_eq!(has_warning, converted.only_weekdays.is_some(), "{fields}");
}

fn random_field(rng: &TestRng, low: i64, high: i64, names: &[&str]) -> String {
    let mut items = Vec::new();
    for _ in 0..=rng.below(3).saturating_sub(1) {
        let first = rng.between(low, high);
        let last = rng.between(first, high);
        let step = rng.between(1, high);
        items.push(match rng.below(9) {
            0..3 => "*".to_owned(),
            3 => format!("*/{step}"),
            4 => first.to_string(),
            5 => format!("{first}-{last}"),
            6 => format!("{first}-{last}/{step}"),
            7 if !names.is_empty() => rng.pick_or_default(names).to_owned(),
            _ => last.to_string(),
        });
    }
    items.join(",")
}

fn random_line(rng: &TestRng) -> String {
    let months = ["jan", "Feb", "DEC"];
    let weekdays = ["sun", "Mon", "SAT", "7"];
    let days = random_field(rng, 1, 31, &[]);
    let month = random_field(rng, 1, 12, &months);
    // Sparse times keep the comparison quick.
    let minute = rng.between(0, 59);
    let hour = random_field(rng, 0, 23, &[]);
    format!("{minute} {hour} {days} {month} {}", random_field(rng, 0, 7, &weekdays))
}

#[test]
fn lines_run_when_cron_runs_them_in_utc() {
    let minutes = CivilMinutes::new("UTC");
    LINES.iter().for_each(|line| compare(&minutes, line));
    let rng = TestRng::new(17);
    (0..RANDOM_LINES).for_each(|_| compare(&minutes, &random_line(&rng)));
}

/// cron's own rule for clock changes differs between programs; this is the rule of matching minutes.
#[test]
fn lines_run_when_their_civil_time_matches_in_a_zone_with_clock_changes() {
    let minutes = CivilMinutes::new("Europe/Berlin");
    LINES.iter().for_each(|line| compare(&minutes, line));
    let rng = TestRng::new(18);
    (0..RANDOM_LINES).for_each(|_| compare(&minutes, &random_line(&rng)));
}
