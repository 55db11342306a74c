//! Renders the live view: CronJobs by their next slot (scheduled time), running Jobs and the latest
//! results.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use punctual_schedule::Zone;

use super::event_lines::one_line;
use super::view_model::{CronJobSummary, FinishedJob, JobSummary, RunTotals, ViewModel};
use crate::output;
use crate::slots::format_duration;
use crate::terminal::TerminalSize;

/// The maximum number of CronJobs shown, those with the earliest next slot.
const UPCOMING_MAX: usize = 20;
/// The maximum number of running Jobs shown.
const RUNNING_MAX: usize = 10;
/// Longer names are truncated so that the other columns stay visible.
const NAME_CHARS_MAX: usize = 40;

/// Settings that are the same for all frames.
pub(super) struct ViewOptions {
    /// Whether to use colors.
    pub(super) use_color: bool,
    /// The URL of the API server.
    pub(super) url: String,
    /// The zone for displayed times and for schedules without a zone.
    pub(super) zone: Zone,
}

/// Renders the view as lines that fit the terminal. Leaves one row for the cursor.
pub(super) fn render(
    model: &ViewModel,
    options: &ViewOptions,
    now: Timestamp,
    size: TerminalSize,
) -> String {
    let renderer = Renderer { model, options, now };
    let wanted = [
        model.cron_jobs.len().min(UPCOMING_MAX),
        model.running.len().min(RUNNING_MAX),
        model.finished.len(),
    ];
    let [upcoming, running, finished] = allocate_rows(wanted, size.rows.saturating_sub(2));
    let mut lines = vec![(LineStyle::Bold, renderer.title())];
    lines.extend(renderer.section_lines(&renderer.upcoming(upcoming)));
    lines.extend(renderer.section_lines(&renderer.running(running)));
    lines.extend(renderer.section_lines(&renderer.finished(finished)));
    lines.truncate(size.rows.saturating_sub(1));
    let styled = lines.iter().map(|(style, line)| {
        let line = truncate(line, size.columns);
        if options.use_color { style.apply(&line) } else { line }
    });
    styled.map(|line| line + "\n").collect()
}

/// The style of a whole line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineStyle {
    Plain,
    Bold,
    Dim,
    Red,
}

impl LineStyle {
    fn apply(self, line: &str) -> String {
        let code = match self {
            LineStyle::Plain => return line.to_owned(),
            LineStyle::Bold => 1,
            LineStyle::Dim => 2,
            LineStyle::Red => 31,
        };
        if line.is_empty() { String::new() } else { format!("\x1b[{code}m{line}\x1b[0m") }
    }
}

/// The rows of a section besides its entries: a blank row, the header and the count of hidden entries.
const SECTION_ROWS: usize = 3;

/// Reduces the numbers of entries until all sections fit. Shortens the longest section first, and
/// keeps at least one entry of each.
fn allocate_rows(mut wanted: [usize; 3], rows: usize) -> [usize; 3] {
    let needed = |wanted: &[usize; 3]| -> usize {
        wanted.iter().filter(|count| **count > 0).map(|count| count + SECTION_ROWS).sum()
    };
    while needed(&wanted) > rows {
        match wanted.iter_mut().max() {
            Some(longest) if *longest > 1 => *longest -= 1,
            _ => break,
        }
    }
    wanted
}

/// One table of the view.
struct TableSection {
    rows: Vec<(LineStyle, Vec<String>)>,
    /// The number of entries that are not shown.
    hidden: usize,
}

struct Renderer<'a> {
    model: &'a ViewModel,
    options: &'a ViewOptions,
    now: Timestamp,
}

impl Renderer<'_> {
    fn title(&self) -> String {
        let RunTotals { succeeded, failed, missed } = self.model.totals;
        let cron_jobs = self.model.cron_jobs.len();
        let running = self.model.running.len();
        let time = self.options.zone.at(self.now).strftime("%H:%M:%S");
        let mut title = format!("punctual {time}  {}  {cron_jobs} CronJobs", self.options.url);
        let _ = write!(title, "  {running} running  {succeeded} ok  {failed} failed");
        if missed > 0 {
            let _ = write!(title, " ({missed} missed)");
        }
        title
    }

    fn section_lines(&self, section: &TableSection) -> Vec<(LineStyle, String)> {
        if section.rows.len() < 2 {
            return Vec::new();
        }
        let cells: Vec<Vec<String>> = section.rows.iter().map(|(_, row)| row.clone()).collect();
        let table = output::table(&cells);
        let styles = section.rows.iter().map(|(style, _)| *style);
        let mut lines = vec![(LineStyle::Plain, String::new())];
        lines.extend(styles.zip(table.lines().map(str::to_owned)));
        if section.hidden > 0 {
            lines.push((LineStyle::Dim, format!("and {} more", section.hidden)));
        }
        lines
    }

    fn upcoming(&self, count: usize) -> TableSection {
        let titles = ["CRONJOB", "IN", "NEXT", "LAST", "ACTIVE", "SCHEDULE", "ZONE"];
        let shown = self.model.cron_jobs.iter().take(count);
        let rows = shown.map(|cron_job| (LineStyle::Plain, self.upcoming_row(cron_job)));
        new_section(&titles, rows, self.model.cron_jobs.len())
    }

    fn upcoming_row(&self, cron_job: &CronJobSummary) -> Vec<String> {
        let (countdown, next) = match cron_job.next {
            _ if cron_job.is_suspended => ("-".into(), "suspended".into()),
            Some(next) => (self.until(next), self.local(next)),
            None => ("-".into(), "-".into()),
        };
        let last = cron_job.last.map_or_else(|| "-".into(), |last| self.ago(last));
        let zone = cron_job.zone.as_deref().unwrap_or(self.options.zone.name());
        vec![
            truncate_name(&cron_job.name),
            countdown,
            next,
            last,
            cron_job.active.to_string(),
            one_line(&cron_job.schedule),
            one_line(zone),
        ]
    }

    /// The running Jobs, with the problems of their Pods if there are any.
    fn running(&self, count: usize) -> TableSection {
        let shown: Vec<&JobSummary> = self.model.running.iter().take(count).collect();
        let has_problem = shown.iter().any(|job| self.model.problem(job).is_some());
        let titles: &[&str] =
            if has_problem { &["RUNNING", "FOR", "PROBLEM"] } else { &["RUNNING", "FOR"] };
        let rows = shown.into_iter().map(|job| self.running_row(job, has_problem));
        new_section(titles, rows, self.model.running.len())
    }

    fn running_row(&self, job: &JobSummary, has_problem: bool) -> (LineStyle, Vec<String>) {
        let mut cells = vec![truncate_name(&job.name), self.since(job.since)];
        let problem = self.model.problem(job);
        if has_problem {
            cells.push(one_line(problem.unwrap_or_default()));
        }
        let style = if problem.is_some() { LineStyle::Red } else { LineStyle::Plain };
        (style, cells)
    }

    fn finished(&self, count: usize) -> TableSection {
        let shown = self.model.finished.iter().take(count);
        let rows = shown.map(|finished_job| self.finished_row(finished_job));
        // The number of older results is not shown.
        new_section(&["LATEST RESULTS", "ENDED", "TOOK", "RESULT"], rows, 0)
    }

    fn finished_row(&self, finished_job: &FinishedJob) -> (LineStyle, Vec<String>) {
        let (style, result) = match &finished_job.end.error {
            None => (LineStyle::Plain, "ok".to_owned()),
            Some(error) => (LineStyle::Red, format!("failed: {}", one_line(error))),
        };
        let ended = self.ago(finished_job.end.at);
        let took = format_duration(finished_job.took);
        (style, vec![truncate_name(&finished_job.job), ended, took, result])
    }

    /// Formats a countdown. Shows `now` instead of a negative time.
    fn until(&self, instant: Timestamp) -> String {
        let seconds = instant.as_second() - self.now.as_second();
        if seconds <= 0 {
            "now".into()
        } else {
            format_duration(SignedDuration::from_secs(seconds))
        }
    }

    fn since(&self, instant: Timestamp) -> String {
        let seconds = self.now.as_second() - instant.as_second();
        format_duration(SignedDuration::from_secs(seconds.max(0)))
    }

    fn ago(&self, instant: Timestamp) -> String {
        format!("{} ago", self.since(instant))
    }

    fn local(&self, instant: Timestamp) -> String {
        self.options.zone.at(instant).strftime("%Y-%m-%d %H:%M:%S").to_string()
    }
}

fn new_section(
    titles: &[&str],
    rows: impl Iterator<Item = (LineStyle, Vec<String>)>,
    total: usize,
) -> TableSection {
    let titles = titles.iter().map(|title| (*title).to_owned()).collect();
    let rows: Vec<_> = std::iter::once((LineStyle::Dim, titles)).chain(rows).collect();
    TableSection { hidden: (total + 1).saturating_sub(rows.len()), rows }
}

fn truncate_name(name: &str) -> String {
    truncate(name, NAME_CHARS_MAX)
}

/// Shortens text to `chars_max` characters, with an ellipsis at the end.
fn truncate(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let kept = text.chars().take(chars_max.saturating_sub(1));
    kept.chain(std::iter::once('…')).take(chars_max).collect()
}

#[cfg(test)]
mod tests;
