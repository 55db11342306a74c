//! `punctual describe`: everything about one CronJob.

use punctual_schedule::Zone;
use punctual_views::{
    Description, HistoryRow, Suspension, UpcomingSlot, describe, format_duration, local_time,
};

use super::args::DescribeArgs;
use super::history;
use super::records::{RecordQuery, read_snapshot};
use super::session::Session;
use crate::{clock, output};

/// How many records are read: enough for the problems of the last days.
const RECORDS_MAX: usize = 500;

pub(super) async fn run(args: &DescribeArgs, zone: &Zone) -> anyhow::Result<()> {
    let session = Session::connect(&args.target.connection).await?;
    let query = RecordQuery::newest(RECORDS_MAX);
    let snapshot = read_snapshot(&session, &args.target.target, &query, zone).await?;
    let now = clock::now();
    let description = describe(&snapshot, args.count as usize, now);
    args.output.print(&description, || text(&description, snapshot.zone(), now))
}

pub(super) fn text(description: &Description, zone: &Zone, now: jiff::Timestamp) -> String {
    let row = &description.row;
    let mut text = format!("{} {}/{}\n\n", row.kind, row.namespace, row.name);
    let mut field = |name: &str, value: &str| {
        text += &format!("{name:<12}{}\n", output::one_line(value));
    };
    field("Schedule", &format!("{}   {}", row.schedule, description.schedule_text));
    let zone_text = if row.is_default_zone {
        format!(
            "{} (the CronJob names none, so that of the controller applies; set --time-zone if it differs)",
            row.time_zone
        )
    } else {
        row.time_zone.clone()
    };
    field("Time zone", &zone_text);
    let state = match row.detail.as_str() {
        "" => row.state.as_str().to_owned(),
        detail => format!("{}: {detail}", row.state.as_str()),
    };
    field("State", &state);
    match row.next {
        Some(next) => {
            let wait = format_duration(next.duration_since(now));
            field("Next run", &format!("{}, in {wait}", local_time(zone, next)));
        }
        None if description.suspension.is_some() => field("Next run", "none while it is suspended"),
        None => field("Next run", "none"),
    }
    field("Active", &row.active.to_string());
    let counters = description.counters;
    field(
        "Counters",
        &format!(
            "{} succeeded, {} failed (of these {} missed), {} skipped",
            counters.successful_runs,
            counters.failed_runs,
            counters.missed_runs,
            counters.skipped_runs
        ),
    );
    for note in &description.schedule_notes {
        text += &format!("\nnote: {}\n", output::one_line(note));
    }
    if let Some(suspension) = &description.suspension {
        text += &suspension_text(suspension, zone);
    }
    text += "\nPolicy:\n";
    text.extend(description.policy.iter().map(|sentence| format!("  {sentence}\n")));
    if !description.problems.is_empty() {
        text += "\nProblems:\n";
        let problems = description.problems.iter();
        text.extend(problems.map(|problem| format!("  {}\n", output::one_line(problem))));
    }
    text += &upcoming_text(&description.upcoming, zone);
    text + &records_text(description, zone)
}

fn suspension_text(suspension: &Suspension, zone: &Zone) -> String {
    let mut text = "\nSuspended:\n".to_owned();
    let since = suspension.since.map(|since| local_time(zone, since));
    let until = suspension.until.map(|until| local_time(zone, until));
    let until = until.unwrap_or_else(|| "resumed by a user".to_owned());
    let values = [
        ("since", since.unwrap_or_default()),
        ("until", until),
        ("reason", suspension.reason.clone()),
        ("by", suspension.by.clone()),
    ];
    for (name, value) in values.into_iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("  {name:<10}{}\n", output::one_line(&value));
    }
    text
}

fn upcoming_text(upcoming: &[UpcomingSlot], zone: &Zone) -> String {
    if upcoming.is_empty() {
        return "\nNext slots: none\n".to_owned();
    }
    let mut text = format!("\nNext slots ({}):\n", zone.name());
    for slot in upcoming {
        text += &format!("  {}", local_time(zone, slot.slot));
        if let Some(effective) = slot.effective_time {
            text += &format!(", starts {} (jitter)", zone.at(effective).strftime("%H:%M:%S"));
        }
        if let Some(note) = &slot.note {
            text += &format!("  [{note}]");
        }
        text.push('\n');
    }
    text
}

fn records_text(description: &Description, zone: &Zone) -> String {
    let rows: Vec<&HistoryRow> = description.records.iter().collect();
    if rows.is_empty() {
        return "\nLast slots: no record\n".to_owned();
    }
    let table = history::table(&rows, zone, false);
    let indented: String = table.lines().map(|line| format!("  {line}\n")).collect();
    let note = description.record_source.note();
    let note = note.map_or_else(String::new, |note| format!("  {note}\n"));
    format!("\nLast slots:\n{indented}{note}")
}
