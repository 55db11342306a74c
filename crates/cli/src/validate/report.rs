//! Formats the results of `punctual validate` as text and as JSON.

use serde::Serialize;

use super::checked_document::{CheckedDocument, FieldProblem, UpcomingRuns};
use crate::{
    output::{self, one_line},
    slots::{self, SlotRow},
};

/// Returns one line per message, followed by a table of the next runs.
pub(super) fn text(all: &[CheckedDocument]) -> String {
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

/// Returns one line per error.
pub(super) fn error_lines(checked: &CheckedDocument) -> Vec<String> {
    let subject = subject(checked);
    let line = |problem: &FieldProblem| one_line(&format!("{subject}: {problem}"));
    checked.errors.iter().map(line).collect()
}

fn lines(checked: &CheckedDocument) -> Vec<String> {
    let subject = subject(checked);
    let mut lines = error_lines(checked);
    for warning in &checked.warnings {
        lines.push(one_line(&format!("warning: {subject}: {warning}")));
    }
    if let Some(note) = &checked.note {
        lines.push(one_line(&format!("note: {subject}: {note}")));
    }
    if checked.errors.is_empty() && checked.upcoming.is_none() && checked.note.is_none() {
        lines.push(one_line(&format!("{subject}: ok")));
    }
    lines
}

/// Returns the location and name, such as `backup.yaml, document 2 (line 9), CronJob nightly`.
fn subject(checked: &CheckedDocument) -> String {
    let object = &checked.object;
    let names = [checked.location.to_string(), format!("{} {}", object.kind, object.name)];
    let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    names.collect::<Vec<_>>().join(", ")
}

impl std::fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.field.as_str() {
            "" => f.write_str(&self.message)?,
            field => write!(f, "{field}: {}", self.message)?,
        }
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// Returns one row per slot. Only the first row has the names.
fn rows(checked: &CheckedDocument) -> Vec<Vec<String>> {
    let Some(upcoming) = &checked.upcoming else {
        return Vec::new();
    };
    let object = &checked.object;
    let names = [&object.kind, &object.namespace, &object.name].map(|name| one_line(name));
    let first = [names.to_vec(), vec![upcoming.schedule_cell(), upcoming.zone_cell()]].concat();
    let blank = vec![String::new(); first.len()];
    let slots = upcoming.slot_cells().into_iter().enumerate();
    let row = |(index, slot): (usize, Vec<String>)| {
        [if index == 0 { first.clone() } else { blank.clone() }, slot].concat()
    };
    slots.map(row).collect()
}

impl UpcomingRuns {
    fn schedule_cell(&self) -> String {
        let suspended = if self.is_suspended { " (suspended)" } else { "" };
        format!("{}{suspended}", one_line(&self.schedule))
    }

    fn zone_cell(&self) -> String {
        let default = if self.is_default_zone { " (default)" } else { "" };
        format!("{}{default}", self.time_zone)
    }

    /// Returns at least one entry, so that every CronJob has a row.
    fn slot_cells(&self) -> Vec<Vec<String>> {
        let cells = |slot: &SlotRow| vec![slots::format_local(&slot.local), slot.utc.clone()];
        let mut all: Vec<_> = self.next.iter().map(cells).collect();
        if self.is_exhausted {
            all.push(vec!["no further slot".into()]);
        }
        if all.is_empty() {
            all.push(Vec::new());
        }
        all
    }
}

/// The JSON report.
#[derive(Serialize)]
pub(super) struct ValidationReport<'a> {
    documents: Vec<DocumentReport<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentReport<'a> {
    file: &'a str,
    document: Option<usize>,
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<usize>,
    kind: Option<&'a str>,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
    errors: &'a [FieldProblem],
    warnings: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    #[serde(flatten)]
    schedule: Option<ScheduleReport<'a>>,
    next: &'a [SlotRow],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScheduleReport<'a> {
    schedule: &'a str,
    time_zone: &'a str,
    suspended: bool,
}

/// Builds the JSON report.
pub(super) fn json(all: &[CheckedDocument]) -> ValidationReport<'_> {
    ValidationReport { documents: all.iter().map(DocumentReport::new).collect() }
}

impl<'a> DocumentReport<'a> {
    fn new(checked: &'a CheckedDocument) -> DocumentReport<'a> {
        let CheckedDocument { location, object, upcoming, .. } = checked;
        let given = |text: &'a str| Some(text).filter(|text| !text.is_empty());
        DocumentReport {
            file: &location.file,
            document: location.document.map(|position| position.number),
            line: location.document.map(|position| position.line),
            item: location.item,
            kind: given(&object.kind),
            namespace: given(&object.namespace),
            name: given(&object.name),
            errors: &checked.errors,
            warnings: &checked.warnings,
            note: checked.note.as_deref(),
            schedule: upcoming.as_ref().map(ScheduleReport::new),
            next: upcoming.as_ref().map_or(&[], |upcoming| &upcoming.next),
        }
    }
}

impl<'a> ScheduleReport<'a> {
    fn new(upcoming: &'a UpcomingRuns) -> ScheduleReport<'a> {
        let UpcomingRuns { schedule, time_zone, is_suspended, .. } = upcoming;
        ScheduleReport { schedule, time_zone, suspended: *is_suspended }
    }
}
