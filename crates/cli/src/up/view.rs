//! The live view: what is due, what runs, what came of it. A function of the model, the time and
//! the size of the window.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use punctual_schedule::Zone;

use super::event_lines::one_line;
use super::terminal::TerminalSize;
use super::view_model::{CronJobSummary, FinishedJob, JobSummary, Totals, ViewModel};
use crate::output;
use crate::slots::distance;

/// So many CronJobs are shown at most.
const DUE_MAX: usize = 20;
/// So many running Jobs.
const RUNNING_MAX: usize = 10;
/// Longer names are cut, so that what is behind them can be seen.
const NAME_CHARS_MAX: usize = 40;

/// What does not change from one frame to the next.
pub(super) struct ViewOptions {
    pub(super) has_color: bool,
    /// Where the server is.
    pub(super) url: String,
    /// The zone in which times are shown, and of schedules that name none.
    pub(super) zone: Zone,
}

/// The whole view as lines that fit the window, with a row left for the cursor.
pub(super) fn render(
    model: &ViewModel,
    options: &ViewOptions,
    now: Timestamp,
    size: TerminalSize,
) -> String {
    let view = Renderer { model, options, now };
    let wanted = [
        model.cron_jobs.len().min(DUE_MAX),
        model.running.len().min(RUNNING_MAX),
        model.finished.len(),
    ];
    let [due, running, finished] = allot_rows(wanted, size.rows.saturating_sub(2));
    let mut lines = vec![(LineStyle::Bold, view.title())];
    lines.extend(view.section(&view.due(due)));
    lines.extend(view.section(&view.running(running)));
    lines.extend(view.section(&view.finished(finished)));
    lines.truncate(size.rows.saturating_sub(1));
    let styled = lines.iter().map(|(style, line)| {
        let line = truncate(line, size.columns);
        if options.has_color { style.on(&line) } else { line }
    });
    styled.map(|line| line + "\n").collect()
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineStyle {
    Plain,
    Bold,
    Dim,
    Red,
}

impl LineStyle {
    fn on(self, line: &str) -> String {
        let code = match self {
            LineStyle::Plain => return line.to_owned(),
            LineStyle::Bold => 1,
            LineStyle::Dim => 2,
            LineStyle::Red => 31,
        };
        if line.is_empty() { String::new() } else { format!("\x1b[{code}m{line}\x1b[0m") }
    }
}

/// Rows beside the things themselves: a blank one, the titles, and how many more there are.
const SECTION_ROWS: usize = 3;

/// How many of each there is room for: whoever wants most gives way first, down to one.
fn allot_rows(mut wanted: [usize; 3], rows: usize) -> [usize; 3] {
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
struct TableSection {
    rows: Vec<(LineStyle, Vec<String>)>,
    /// How many there are besides.
    more: usize,
}

struct Renderer<'a> {
    model: &'a ViewModel,
    options: &'a ViewOptions,
    now: Timestamp,
}

impl Renderer<'_> {
    fn title(&self) -> String {
        let Totals { succeeded, failed, missed } = self.model.totals;
        let (there, running) = (self.model.cron_jobs.len(), self.model.running.len());
        let time = self.options.zone.at(self.now).strftime("%H:%M:%S");
        let mut title = format!("punctual {time}  {}  {there} CronJobs", self.options.url);
        let _ = write!(title, "  {running} running  {succeeded} ok  {failed} failed");
        if missed > 0 {
            let _ = write!(title, " ({missed} missed)");
        }
        title
    }

    fn section(&self, section: &TableSection) -> Vec<(LineStyle, String)> {
        if section.rows.len() < 2 {
            return Vec::new();
        }
        let cells: Vec<Vec<String>> = section.rows.iter().map(|(_, row)| row.clone()).collect();
        let table = output::table(&cells);
        let styles = section.rows.iter().map(|(style, _)| *style);
        let mut lines = vec![(LineStyle::Plain, String::new())];
        lines.extend(styles.zip(table.lines().map(str::to_owned)));
        if section.more > 0 {
            lines.push((LineStyle::Dim, format!("and {} more", section.more)));
        }
        lines
    }

    fn due(&self, count: usize) -> TableSection {
        let titles = ["CRONJOB", "IN", "NEXT", "LAST", "ACTIVE", "SCHEDULE", "ZONE"];
        let shown = self.model.cron_jobs.iter().take(count);
        let rows = shown.map(|cron_job| (LineStyle::Plain, self.due_row(cron_job)));
        section(&titles, rows, self.model.cron_jobs.len())
    }

    fn due_row(&self, cron_job: &CronJobSummary) -> Vec<String> {
        let (away, next) = match cron_job.next {
            _ if cron_job.is_suspended => ("-".into(), "suspended".into()),
            Some(next) => (self.until(next), self.local(next)),
            None => ("-".into(), "-".into()),
        };
        let last = cron_job.last.map_or_else(|| "-".into(), |last| self.ago(last));
        let zone = cron_job.zone.as_deref().unwrap_or(self.options.zone.name());
        vec![
            truncate_name(&cron_job.name),
            away,
            next,
            last,
            cron_job.active.to_string(),
            one_line(&cron_job.schedule),
            one_line(zone),
        ]
    }

    fn running(&self, count: usize) -> TableSection {
        let shown = self.model.running.iter().take(count);
        let row = |job: &JobSummary| {
            (LineStyle::Plain, vec![truncate_name(&job.name), self.since(job.since)])
        };
        section(&["RUNNING", "FOR"], shown.map(row), self.model.running.len())
    }

    fn finished(&self, count: usize) -> TableSection {
        let shown = self.model.finished.iter().take(count);
        let rows = shown.map(|finished_job| self.outcome_row(finished_job));
        // The older ones are of no interest.
        section(&["LATEST RESULTS", "ENDED", "TOOK", "RESULT"], rows, 0)
    }

    fn outcome_row(&self, finished_job: &FinishedJob) -> (LineStyle, Vec<String>) {
        let (style, result) = match &finished_job.end.fault {
            None => (LineStyle::Plain, "ok".to_owned()),
            Some(fault) => (LineStyle::Red, format!("failed: {}", one_line(fault))),
        };
        let (ended, took) = (self.ago(finished_job.end.at), distance(finished_job.took));
        (style, vec![truncate_name(&finished_job.job), ended, took, result])
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
        self.options.zone.at(instant).strftime("%Y-%m-%d %H:%M:%S").to_string()
    }
}

fn section(
    titles: &[&str],
    rows: impl Iterator<Item = (LineStyle, Vec<String>)>,
    there: usize,
) -> TableSection {
    let titles = titles.iter().map(|title| (*title).to_owned()).collect();
    let rows: Vec<_> = std::iter::once((LineStyle::Dim, titles)).chain(rows).collect();
    TableSection { more: (there + 1).saturating_sub(rows.len()), rows }
}

fn truncate_name(name: &str) -> String {
    truncate(name, NAME_CHARS_MAX)
}

/// The text, or its beginning and a sign that it goes on.
fn truncate(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let kept = text.chars().take(chars_max.saturating_sub(1));
    kept.chain(std::iter::once('…')).take(chars_max).collect()
}

#[cfg(test)]
mod tests;
