//! Draws the state of the view into the cells of a screen. Only the rows that fit are computed.

use jiff::{SignedDuration, Timestamp};
use punctual_api::slot_record::RunResult;
use punctual_schedule::Zone;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

use super::clean_text::clean_line;
use super::table::{self, Cells, ViewColumn};
use super::ui::{OpenPage, Pane, RunRow, Ui, run_count, runs_from};
use crate::slots::format_duration;
use crate::up::view_model::{CronJobState, CronJobSummary, ViewModel};

/// Longer schedules are cut, so that they do not displace other columns.
const SCHEDULE_CHARS_MAX: usize = 32;
const NOTHING: &str = "-";

/// Settings that are the same for all frames.
#[derive(Clone, Debug)]
pub(super) struct FrameOptions {
    /// The zone of all displayed times.
    pub(super) zone: Zone,
    /// The URL of the API server.
    pub(super) url: String,
}

/// Draws a frame.
pub(super) fn render(
    ui: &mut Ui,
    model: &mut ViewModel,
    options: &FrameOptions,
    now: Timestamp,
    size: Rect,
) -> Buffer {
    let mut drawing = Drawing { buffer: Buffer::empty(size), options, now };
    let layout = FrameLayout::new(size);
    match &mut ui.page {
        None => drawing.lists(ui, model, &layout),
        Some(OpenPage::Messages) => drawing.text_page(ui, &layout),
        Some(OpenPage::Text(_)) => drawing.text_page(ui, &layout),
    }
    drawing.last_row(ui, model, &layout);
    drawing.buffer
}

/// Which rows of the screen show what.
struct FrameLayout {
    has_title: bool,
    has_header: bool,
    has_footer: bool,
    columns: usize,
    rows: usize,
}

impl FrameLayout {
    fn new(size: Rect) -> FrameLayout {
        let rows = usize::from(size.height);
        FrameLayout {
            has_title: rows >= 2,
            has_header: rows >= 4,
            has_footer: rows >= 5,
            columns: size.width.into(),
            rows,
        }
    }

    /// The first row below the title.
    fn body_start(&self) -> usize {
        usize::from(self.has_title)
    }

    fn body_rows(&self) -> usize {
        self.rows - usize::from(self.has_title) - usize::from(self.has_footer)
    }

    /// Divides the body between CronJobs and runs, each with its header. Returns the rows of both. Neither gets rows
    /// that the other could use.
    fn divide(&self, cron_jobs: usize, runs: usize, focus: Pane) -> (usize, usize) {
        let header = usize::from(self.has_header);
        let available = self.body_rows();
        // Too low for both: the selected one is shown.
        if available < 6 || runs == 0 {
            let rows = available.saturating_sub(header);
            return if focus == Pane::Runs { (0, rows) } else { (rows, 0) };
        }
        let available = available - 2 * header;
        let unused = available.saturating_sub(cron_jobs.max(1));
        let for_runs = runs.min(unused.max(available / 3)).max(1);
        (available - for_runs, for_runs)
    }
}

/// The part of the screen that a list has.
#[derive(Clone, Copy)]
struct ListArea {
    has_header: bool,
    columns: usize,
    /// The first row on the screen.
    start: usize,
    /// The number of rows besides the header.
    rows: usize,
}

struct Drawing<'a> {
    buffer: Buffer,
    options: &'a FrameOptions,
    now: Timestamp,
}

impl Drawing<'_> {
    fn put(&mut self, row: usize, column: usize, text: &str, style: Style) {
        let area = self.buffer.area;
        let Some(left) = usize::from(area.width).checked_sub(column) else { return };
        if row < usize::from(area.height)
            && let (Ok(x), Ok(y)) = (u16::try_from(column), u16::try_from(row))
        {
            self.buffer.set_stringn(x, y, text, left, style);
        }
    }

    /// Puts a text at the right end of a row, if it does not cover the text there.
    fn put_right(&mut self, row: usize, used: usize, text: &str, style: Style) {
        let width = text.chars().count();
        let columns = usize::from(self.buffer.area.width);
        if width > 0 && used + 2 + width <= columns {
            self.put(row, columns - width, text, style);
        }
    }

    fn fill_style(&mut self, row: usize, style: Style) {
        if let Ok(y) = u16::try_from(row) {
            let area = Rect { y, height: 1, ..self.buffer.area };
            self.buffer.set_style(area.intersection(self.buffer.area), style);
        }
    }

    fn lists(&mut self, ui: &mut Ui, model: &mut ViewModel, layout: &FrameLayout) {
        model.cron_jobs.prepare();
        if layout.has_title {
            self.title(ui, model);
        }
        if !model.is_complete() {
            self.put(layout.body_start(), 0, "reading objects…", dim());
            return;
        }
        let (cron_job_rows, run_rows) =
            layout.divide(model.cron_jobs.matching(), run_count(model), ui.pane);
        let cursor = &mut ui.cron_jobs;
        let matching = model.cron_jobs.matching();
        cursor.fit(matching, cron_job_rows, |uid| model.cron_jobs.position(uid));
        let find_run = |job: &std::sync::Arc<str>| {
            runs_from(model, 0).take(RUNS_SEARCHED_MAX).position(|run| run.job() == job)
        };
        ui.runs.fit(run_count(model), run_rows, find_run);
        ui.remember_selection(model);
        let FrameLayout { has_header, columns, .. } = *layout;
        let mut start = layout.body_start();
        if cron_job_rows > 0 {
            let area = ListArea { has_header, columns, start, rows: cron_job_rows };
            start = self.cron_jobs(ui, model, area);
        }
        if run_rows > 0 {
            let area = ListArea { has_header, columns, start, rows: run_rows };
            self.runs(ui, model, area);
        }
    }

    fn title(&mut self, ui: &Ui, model: &ViewModel) {
        let counts = model.cron_jobs.counts();
        let time = self.options.zone.at(self.now).strftime("%H:%M:%S").to_string();
        let zone = self.options.zone.name().to_owned();
        let failing = counts.needing_attention;
        let mut parts = vec![
            ("Punctual".to_owned(), bold()),
            (format!("{time} {zone}"), Style::new()),
            (count(model.cron_jobs.len(), "CronJob"), Style::new()),
        ];
        if failing > 0 {
            parts.insert(1, (format!("{failing} failing"), bold().fg(Color::Red)));
        }
        parts.push((format!("{} running", model.running.len()), Style::new()));
        if counts.suspended > 0 {
            parts.push((format!("{} suspended", counts.suspended), Style::new()));
        }
        if ui.unread_messages > 0 {
            let text = format!("{} (m)", count(ui.unread_messages, "new message"));
            parts.insert(1, (text, bold().fg(Color::Yellow)));
        }
        let mut column = 0;
        for (text, style) in parts {
            self.put(0, column, &text, style);
            column += text.chars().count() + 2;
        }
        let url = self.options.url.clone();
        self.put_right(0, column, &url, dim());
    }

    /// Returns the row below the list.
    fn cron_jobs(&mut self, ui: &Ui, model: &ViewModel, area: ListArea) -> usize {
        let top = ui.cron_jobs.top();
        let shown: Vec<&CronJobSummary> =
            model.cron_jobs.rows_from(top).take(area.rows).map(|(_, row)| row).collect();
        let cells: Vec<Cells> = shown.iter().map(|row| self.cron_job_cells(row)).collect();
        let table = table::fit(&self.cron_job_columns(), &cells, area.columns);
        let mut row = area.start;
        if area.has_header {
            self.put(row, 0, &table.header, dim());
            let position = position(top, shown.len(), model.cron_jobs.matching());
            self.put_right(row, table.header.chars().count(), &position, dim());
            row += 1;
        }
        if shown.is_empty() {
            let text = if ui.filter.is_empty() {
                "No CronJobs yet. Create one with kubectl apply, or with punctual run."
            } else {
                "No CronJob matches the filter. Esc clears it."
            };
            self.put(row, 0, text, dim());
        }
        for (index, (text, cron_job)) in table.rows.iter().zip(&shown).enumerate() {
            self.put(row + index, 0, text, Style::new());
            if let Some(Some(range)) = table.ranges.get(STATE_COLUMN) {
                let state: String = text.chars().skip(range.start).take(range.len()).collect();
                self.put(row + index, range.start, &state, state_style(cron_job.state()));
            }
            self.mark_selected(ui, Pane::CronJobs, row + index, top + index);
        }
        row + area.rows
    }

    fn mark_selected(&mut self, ui: &Ui, pane: Pane, row: usize, position: usize) {
        let selected = match pane {
            Pane::CronJobs => ui.cron_jobs.selected(),
            Pane::Runs => ui.runs.selected(),
        };
        if ui.pane == pane && selected == position {
            self.fill_style(row, Style::new().add_modifier(Modifier::REVERSED));
        }
    }

    fn cron_job_columns(&self) -> Vec<ViewColumn> {
        vec![
            ViewColumn::new("CRONJOB", 0),
            ViewColumn::new("STATE", 1),
            ViewColumn::new("IN", 2),
            ViewColumn::new(format!("NEXT ({})", self.options.zone.name()), 4),
            ViewColumn::new("LAST", 3),
            ViewColumn::new("TOOK", 6),
            ViewColumn::new("ACTIVE", 7),
            ViewColumn::new("SCHEDULE", 5).shrinking_to(12),
        ]
    }

    fn cron_job_cells(&self, row: &CronJobSummary) -> Cells {
        let next = if row.is_suspended { None } else { row.next };
        let dash = || NOTHING.to_owned();
        let schedule = match &row.zone {
            Some(zone) => format!("{} {zone}", row.schedule),
            None => row.schedule.to_string(),
        };
        let last = row.last_run.as_ref();
        let took = last.and_then(|last| last.took);
        vec![
            clean_line(&row.name),
            state_text(row),
            next.map_or_else(dash, |next| self.until(next)),
            next.map_or_else(dash, |next| self.local(next)),
            last.map_or_else(dash, |last| self.last_text(last.result, last.end)),
            took.map_or_else(dash, format_duration),
            row.active.to_string(),
            crate::output::cut_middle(&clean_line(&schedule), SCHEDULE_CHARS_MAX),
        ]
    }

    fn last_text(&self, result: RunResult, end: Option<Timestamp>) -> String {
        let word = match result.as_str() {
            "Succeeded" => "ok".to_owned(),
            other => other.to_lowercase(),
        };
        end.map_or_else(|| word.clone(), |end| format!("{word} {}", self.ago(end)))
    }

    fn runs(&mut self, ui: &Ui, model: &ViewModel, area: ListArea) {
        let top = ui.runs.top();
        let shown: Vec<RunRow<'_>> = runs_from(model, top).take(area.rows).collect();
        let cells: Vec<Cells> = shown.iter().map(|run| self.run_cells(model, *run)).collect();
        let columns = [
            ViewColumn::new("RUN", 0),
            ViewColumn::new("STATE", 1),
            ViewColumn::new("TOOK", 2),
            ViewColumn::new("ENDED", 3),
        ];
        let table = table::fit(&columns, &cells, area.columns);
        let message_start = table.ranges.iter().flatten().map(|range| range.end + 2).max();
        let mut row = area.start;
        if area.has_header {
            self.put(row, 0, &table.header, dim());
            let position = position(top, shown.len(), run_count(model));
            self.put_right(row, table.header.chars().count(), &position, dim());
            row += 1;
        }
        for (index, (text, run)) in table.rows.iter().zip(&shown).enumerate() {
            let (message, style) = run_message(model, *run);
            self.put(row + index, 0, text, style);
            self.put(row + index, message_start.unwrap_or_default(), &message, style);
            self.mark_selected(ui, Pane::Runs, row + index, top + index);
        }
    }

    fn run_cells(&self, model: &ViewModel, run: RunRow<'_>) -> Cells {
        match run {
            RunRow::Active(job) => {
                let state = if model.problem(job).is_some() { "waiting" } else { "running" };
                let took = format_duration(self.since(job.since));
                vec![clean_line(&job.name), state.to_owned(), took, NOTHING.to_owned()]
            }
            RunRow::Ended(job) => {
                let state = if job.end.error.is_some() { "failed" } else { "ok" };
                let took = format_duration(job.took);
                vec![clean_line(&job.job), state.to_owned(), took, self.ago(job.end.at)]
            }
        }
    }

    /// Draws the page that covers the lists.
    fn text_page(&mut self, ui: &mut Ui, layout: &FrameLayout) {
        let page = match &mut ui.page {
            Some(OpenPage::Text(page)) => page,
            _ => &mut ui.messages,
        };
        let start = layout.body_start();
        let rows = page.rows(layout.columns, layout.body_rows());
        if layout.has_title {
            let title = clean_line(&page.title);
            self.put(0, 0, &title, bold());
            self.put_right(0, title.chars().count(), &page.position(), dim());
        }
        if rows.is_empty() {
            self.put(start, 0, "nothing yet", dim());
        }
        for (index, text) in rows.iter().enumerate() {
            self.put(start + index, 0, text, Style::new());
        }
    }

    /// Draws the keys, or what needs attention more.
    fn last_row(&mut self, ui: &Ui, model: &ViewModel, layout: &FrameLayout) {
        let Some(row) = layout.rows.checked_sub(1) else { return };
        let (text, style) = if let Some(question) = &ui.question {
            (format!("{} [y/N]", question.text), bold().fg(Color::Yellow))
        } else if ui.is_editing_filter {
            (format!("/{}▏ Enter keeps the filter, Esc clears it", ui.filter), bold())
        } else if let Some(notice) = &ui.notice {
            let color = if notice.is_error { Color::Red } else { Color::Green };
            (clean_line(&notice.text), Style::new().fg(color))
        } else if layout.has_footer {
            (hints(ui, model, layout.columns), dim())
        } else {
            return;
        };
        self.put(row, 0, &" ".repeat(layout.columns), Style::reset());
        // The end of a long text says what to do.
        self.put(row, 0, &crate::output::cut_middle(&text, layout.columns), style);
    }

    fn until(&self, instant: Timestamp) -> String {
        let seconds = instant.as_second() - self.now.as_second();
        if seconds <= 0 {
            "now".into()
        } else {
            format_duration(SignedDuration::from_secs(seconds))
        }
    }

    fn since(&self, instant: Timestamp) -> SignedDuration {
        SignedDuration::from_secs((self.now.as_second() - instant.as_second()).max(0))
    }

    /// Returns how long ago something was, with its largest unit.
    fn ago(&self, instant: Timestamp) -> String {
        let text = format_duration(self.since(instant));
        format!("{} ago", text.split(' ').next().unwrap_or_default())
    }

    /// Formats an instant without its date if that is today's.
    fn local(&self, instant: Timestamp) -> String {
        let local = self.options.zone.at(instant);
        let is_today = local.date() == self.options.zone.at(self.now).date();
        let format = if is_today { "%H:%M:%S" } else { "%a %Y-%m-%d %H:%M" };
        local.strftime(format).to_string()
    }
}

/// The position of the column `STATE`.
const STATE_COLUMN: usize = 1;
/// A run further down is not found again when the list changes; the selection then stays on its row.
const RUNS_SEARCHED_MAX: usize = 500;

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn state_style(state: CronJobState) -> Style {
    match state {
        CronJobState::Stuck | CronJobState::Failing => bold().fg(Color::Red),
        CronJobState::Running => Style::new().fg(Color::Cyan),
        CronJobState::Ok => Style::new().fg(Color::Green),
        CronJobState::Suspended => Style::new().fg(Color::Yellow),
        CronJobState::Complete | CronJobState::New => Style::new(),
    }
}

fn state_text(row: &CronJobSummary) -> String {
    let state = row.state();
    match state {
        CronJobState::Failing if row.failures > 1 => format!("failing {}", row.failures),
        state => state.as_str().to_owned(),
    }
}

/// Returns why a run waits or failed.
fn run_message(model: &ViewModel, run: RunRow<'_>) -> (String, Style) {
    let message = match run {
        RunRow::Active(job) => model.problem(job),
        RunRow::Ended(job) => job.end.error.as_deref(),
    };
    match message {
        Some(message) => (clean_line(message), Style::new().fg(Color::Red)),
        None => (String::new(), Style::new()),
    }
}

/// Returns which rows of a list are shown, if not all.
fn position(top: usize, shown: usize, total: usize) -> String {
    if shown >= total { String::new() } else { format!("{}-{} of {total}", top + 1, top + shown) }
}

/// Returns the keys that can be used, as many as fit.
fn hints(ui: &Ui, model: &ViewModel, columns: usize) -> String {
    let filter = match ui.filter.as_str() {
        "" => "/ filter".to_owned(),
        filter => format!("filter: {filter} (Esc clears)"),
    };
    let order = format!("o order: {}", model.cron_jobs.order().as_str());
    let hints: Vec<&str> = match (&ui.page, ui.pane) {
        (Some(_), _) => vec!["Esc close", "Up Down PgUp PgDn Home End scroll"],
        (None, Pane::CronJobs) => vec![
            "? help",
            "q quit",
            &filter,
            "Enter details",
            "l log",
            "t trigger",
            "s suspend or resume",
            "Tab runs",
            &order,
            "m messages",
        ],
        (None, Pane::Runs) => {
            vec!["? help", "q quit", "Enter log", "Tab CronJobs", &filter, "m messages"]
        }
    };
    let mut text = String::new();
    for hint in hints {
        let separator = if text.is_empty() { "" } else { "  " };
        if text.chars().count() + separator.len() + hint.chars().count() > columns {
            break;
        }
        text += separator;
        text += hint;
    }
    text
}

#[cfg(test)]
mod tests;
