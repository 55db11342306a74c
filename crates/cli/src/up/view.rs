//! The live view: what is due, what runs, what came of it. A function of the model, the time and
//! the size of the window.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use punctual_schedule::Zone;

use super::lines::one_line;
use super::model::{CronJob, Job, Model, Outcome, Totals};
use super::terminal::Size;
use crate::output;
use crate::slots::distance;

/// So many CronJobs are shown at most.
const DUE_MAX: usize = 20;
/// So many running Jobs.
const RUNNING_MAX: usize = 10;
/// Longer names are cut, so that what is behind them can be seen.
const NAME_CHARS_MAX: usize = 40;

/// What does not change from one frame to the next.
pub(super) struct Look {
    pub(super) has_color: bool,
    /// Where the server is.
    pub(super) url: String,
    /// The zone in which times are shown, and of schedules that name none.
    pub(super) zone: Zone,
}

/// The whole view as lines that fit the window, with a row left for the cursor.
pub(super) fn render(model: &Model, look: &Look, now: Timestamp, size: Size) -> String {
    let view = View { model, look, now };
    let wanted = [
        model.cron_jobs.len().min(DUE_MAX),
        model.running.len().min(RUNNING_MAX),
        model.outcomes.len(),
    ];
    let [due, running, outcomes] = shares(wanted, size.rows.saturating_sub(2));
    let mut lines = vec![(Paint::Bold, view.title())];
    lines.extend(view.section(&view.due(due)));
    lines.extend(view.section(&view.running(running)));
    lines.extend(view.section(&view.outcomes(outcomes)));
    lines.truncate(size.rows.saturating_sub(1));
    let painted = lines.iter().map(|(paint, line)| {
        let line = cut(line, size.columns);
        if look.has_color { paint.on(&line) } else { line }
    });
    painted.map(|line| line + "\n").collect()
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paint {
    Plain,
    Bold,
    Dim,
    Red,
}

impl Paint {
    fn on(self, line: &str) -> String {
        let code = match self {
            Paint::Plain => return line.to_owned(),
            Paint::Bold => 1,
            Paint::Dim => 2,
            Paint::Red => 31,
        };
        if line.is_empty() { String::new() } else { format!("\x1b[{code}m{line}\x1b[0m") }
    }
}

/// Rows beside the things themselves: a blank one, the titles, and how many more there are.
const SECTION_ROWS: usize = 3;

/// How many of each there is room for: whoever wants most gives way first, down to one.
fn shares(mut wanted: [usize; 3], rows: usize) -> [usize; 3] {
    let taken = |wanted: &[usize; 3]| -> usize {
        wanted.iter().filter(|count| **count > 0).map(|count| count + SECTION_ROWS).sum()
    };
    while taken(&wanted) > rows {
        match wanted.iter_mut().max() {
            Some(most) if *most > 1 => *most -= 1,
            _ => break,
        }
    }
    wanted
}

/// A table of things, in the view.
struct Section {
    rows: Vec<(Paint, Vec<String>)>,
    /// How many there are besides.
    more: usize,
}

struct View<'a> {
    model: &'a Model,
    look: &'a Look,
    now: Timestamp,
}

impl View<'_> {
    fn title(&self) -> String {
        let Totals { succeeded, failed, missed } = self.model.totals;
        let (there, running) = (self.model.cron_jobs.len(), self.model.running.len());
        let time = self.look.zone.at(self.now).strftime("%H:%M:%S");
        let mut title = format!("punctual {time}  {}  {there} CronJobs", self.look.url);
        let _ = write!(title, "  {running} running  {succeeded} ok  {failed} failed");
        if missed > 0 {
            let _ = write!(title, " ({missed} missed)");
        }
        title
    }

    fn section(&self, section: &Section) -> Vec<(Paint, String)> {
        if section.rows.len() < 2 {
            return Vec::new();
        }
        let cells: Vec<Vec<String>> = section.rows.iter().map(|(_, row)| row.clone()).collect();
        let table = output::table(&cells);
        let paints = section.rows.iter().map(|(paint, _)| *paint);
        let mut lines = vec![(Paint::Plain, String::new())];
        lines.extend(paints.zip(table.lines().map(str::to_owned)));
        if section.more > 0 {
            lines.push((Paint::Dim, format!("and {} more", section.more)));
        }
        lines
    }

    fn due(&self, count: usize) -> Section {
        let titles = ["CRONJOB", "IN", "NEXT", "LAST", "ACTIVE", "SCHEDULE", "ZONE"];
        let shown = self.model.cron_jobs.iter().take(count);
        let rows = shown.map(|cron_job| (Paint::Plain, self.due_row(cron_job)));
        section(&titles, rows, self.model.cron_jobs.len())
    }

    fn due_row(&self, cron_job: &CronJob) -> Vec<String> {
        let (away, next) = match cron_job.next {
            _ if cron_job.is_suspended => ("-".into(), "suspended".into()),
            Some(next) => (self.until(next), self.local(next)),
            None => ("-".into(), "-".into()),
        };
        let last = cron_job.last.map_or_else(|| "-".into(), |last| self.ago(last));
        let zone = cron_job.zone.as_deref().unwrap_or(self.look.zone.name());
        vec![
            short(&cron_job.name),
            away,
            next,
            last,
            cron_job.active.to_string(),
            one_line(&cron_job.schedule),
            one_line(zone),
        ]
    }

    fn running(&self, count: usize) -> Section {
        let shown = self.model.running.iter().take(count);
        let row = |job: &Job| (Paint::Plain, vec![short(&job.name), self.since(job.since)]);
        section(&["RUNNING", "FOR"], shown.map(row), self.model.running.len())
    }

    fn outcomes(&self, count: usize) -> Section {
        let shown = self.model.outcomes.iter().take(count);
        let rows = shown.map(|outcome| self.outcome_row(outcome));
        // The older ones are of no interest.
        section(&["LATEST RESULTS", "ENDED", "TOOK", "RESULT"], rows, 0)
    }

    fn outcome_row(&self, outcome: &Outcome) -> (Paint, Vec<String>) {
        let (paint, result) = match &outcome.end.fault {
            None => (Paint::Plain, "ok".to_owned()),
            Some(fault) => (Paint::Red, format!("failed: {}", one_line(fault))),
        };
        let (ended, took) = (self.ago(outcome.end.at), distance(outcome.took));
        (paint, vec![short(&outcome.job), ended, took, result])
    }

    /// A countdown never shows that something is late by the blink of an eye.
    fn until(&self, instant: Timestamp) -> String {
        let seconds = instant.as_second() - self.now.as_second();
        if seconds <= 0 { "now".into() } else { distance(SignedDuration::from_secs(seconds)) }
    }

    fn since(&self, instant: Timestamp) -> String {
        let seconds = self.now.as_second() - instant.as_second();
        distance(SignedDuration::from_secs(seconds.max(0)))
    }

    fn ago(&self, instant: Timestamp) -> String {
        format!("{} ago", self.since(instant))
    }

    fn local(&self, instant: Timestamp) -> String {
        self.look.zone.at(instant).strftime("%Y-%m-%d %H:%M:%S").to_string()
    }
}

fn section(
    titles: &[&str],
    rows: impl Iterator<Item = (Paint, Vec<String>)>,
    there: usize,
) -> Section {
    let titles = titles.iter().map(|title| (*title).to_owned()).collect();
    let rows: Vec<_> = std::iter::once((Paint::Dim, titles)).chain(rows).collect();
    Section { more: (there + 1).saturating_sub(rows.len()), rows }
}

fn short(name: &str) -> String {
    cut(name, NAME_CHARS_MAX)
}

/// The text, or its beginning and a sign that it goes on.
fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let kept = text.chars().take(chars_max.saturating_sub(1));
    kept.chain(std::iter::once('…')).take(chars_max).collect()
}

#[cfg(test)]
mod tests;
