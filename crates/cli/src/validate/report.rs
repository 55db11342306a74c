//! What was found out, for people and for programs.

use serde::Serialize;

use super::findings::{Checked, Finding, Timetable};
use crate::{
    output,
    slots::{self, Slot},
};

/// A line for everything there is to say, then a table of what runs when.
pub(super) fn text(all: &[Checked]) -> String {
    let mut text: String = all.iter().flat_map(lines).map(|line| line + "\n").collect();
    let rows: Vec<_> = all.iter().flat_map(rows).collect();
    if rows.is_empty() {
        return text;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let titles = ["KIND", "NAMESPACE", "NAME", "SCHEDULE", "TIME ZONE", "NEXT", "UTC"];
    let titles = vec![titles.map(String::from).to_vec()];
    text + &output::table(&[titles, rows].concat())
}

/// A line for each thing that is wrong.
pub(super) fn faults(checked: &Checked) -> Vec<String> {
    let subject = subject(checked);
    let line = |finding: &Finding| one_line(&format!("{subject}: {finding}"));
    checked.errors.iter().map(line).collect()
}

fn lines(checked: &Checked) -> Vec<String> {
    let subject = subject(checked);
    let mut lines = faults(checked);
    let mut add = |line: String| lines.push(one_line(&line));
    checked.warnings.iter().for_each(|warning| add(format!("warning: {subject}: {warning}")));
    checked.note.iter().for_each(|note| add(format!("note: {subject}: {note}")));
    let is_plain = checked.timetable.is_none() && checked.note.is_none();
    if checked.errors.is_empty() && is_plain {
        add(format!("{subject}: ok"));
    }
    lines
}

/// `backup.yaml, document 2 (line 9), CronJob nightly`
fn subject(checked: &Checked) -> String {
    let identity = &checked.identity;
    let names = [checked.place.to_string(), format!("{} {}", identity.kind, identity.name)];
    let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    names.collect::<Vec<_>>().join(", ")
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.field.as_str() {
            "" => f.write_str(&self.message),
            field => write!(f, "{field}: {}", self.message),
        }
    }
}

/// A manifest's own words must neither break a line nor reach the terminal as commands.
fn one_line(text: &str) -> String {
    let shown = |letter: char| match letter.is_control() {
        true => letter.escape_default().collect(),
        false => String::from(letter),
    };
    text.chars().map(shown).collect()
}

/// A row for each slot, the names in the first only.
fn rows(checked: &Checked) -> Vec<Vec<String>> {
    let Some(timetable) = &checked.timetable else {
        return Vec::new();
    };
    let identity = &checked.identity;
    let names = [&identity.kind, &identity.namespace, &identity.name].map(|name| one_line(name));
    let first = [names.to_vec(), vec![timetable.schedule_cell(), timetable.zone_cell()]].concat();
    let blank = vec![String::new(); first.len()];
    let slots = timetable.slot_cells().into_iter().enumerate();
    let row = |(index, slot): (usize, Vec<String>)| {
        [if index == 0 { first.clone() } else { blank.clone() }, slot].concat()
    };
    slots.map(row).collect()
}

impl Timetable {
    fn schedule_cell(&self) -> String {
        let suspended = if self.is_suspended { " (suspended)" } else { "" };
        format!("{}{suspended}", one_line(&self.schedule))
    }

    fn zone_cell(&self) -> String {
        let default = if self.is_default_zone { " (default)" } else { "" };
        format!("{}{default}", self.time_zone)
    }

    /// There is always one, so that the CronJob has a row.
    fn slot_cells(&self) -> Vec<Vec<String>> {
        let cells = |slot: &Slot| vec![slots::weekday_first(&slot.local), slot.utc.clone()];
        let mut all: Vec<_> = self.next.iter().map(cells).collect();
        if self.is_ended {
            all.push(vec!["no further slot".into()]);
        }
        if all.is_empty() {
            all.push(Vec::new());
        }
        all
    }
}

/// The report for programs.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    documents: Vec<Entry<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    file: &'a str,
    document: Option<usize>,
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<usize>,
    kind: Option<&'a str>,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
    errors: &'a [Finding],
    warnings: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    #[serde(flatten)]
    when: Option<When<'a>>,
    next: &'a [Slot],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct When<'a> {
    schedule: &'a str,
    time_zone: &'a str,
    suspended: bool,
}

/// The report for programs.
pub(super) fn json(all: &[Checked]) -> Report<'_> {
    Report { documents: all.iter().map(Entry::of).collect() }
}

impl<'a> Entry<'a> {
    fn of(checked: &'a Checked) -> Entry<'a> {
        let Checked { place, identity, timetable, .. } = checked;
        let given = |text: &'a str| Some(text).filter(|text| !text.is_empty());
        Entry {
            file: &place.file,
            document: place.document.map(|position| position.number),
            line: place.document.map(|position| position.line),
            item: place.item,
            kind: given(&identity.kind),
            namespace: given(&identity.namespace),
            name: given(&identity.name),
            errors: &checked.errors,
            warnings: &checked.warnings,
            note: checked.note.as_deref(),
            when: timetable.as_ref().map(When::of),
            next: timetable.as_ref().map_or(&[], |timetable| &timetable.next),
        }
    }
}

impl<'a> When<'a> {
    fn of(timetable: &'a Timetable) -> When<'a> {
        let Timetable { schedule, time_zone, is_suspended, .. } = timetable;
        When { schedule, time_zone, suspended: *is_suspended }
    }
}
