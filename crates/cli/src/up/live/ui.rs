//! What the view shows and what keys do. Pure: actions are returned to the caller, who executes them.

use std::sync::Arc;

use super::cursor::ListCursor;
use super::keys::Key;
use super::text_page::TextPage;
use crate::up::view_model::{
    CronJobState, CronJobSummary, FinishedJob, JobSummary, ObjectUid, ViewModel, WatchedKind,
};

/// The longest filter.
const FILTER_LEN_MAX: usize = 100;

/// A CronJob or ScheduledJob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CronJobTarget {
    pub(super) kind: WatchedKind,
    /// The namespace and name.
    pub(super) name: Arc<str>,
}

/// What the view asks its caller to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ViewAction {
    Quit,
    Redraw,
    ShowDetails(CronJobTarget),
    /// The log of the latest run of a CronJob.
    ShowLatestLog(CronJobTarget),
    /// The log of a Job, by its namespace and name.
    ShowJobLog(Arc<str>),
    /// The page was closed: what fills it is no longer needed.
    ClosePage,
    Trigger(CronJobTarget),
    Suspend(CronJobTarget),
    Resume(CronJobTarget),
    IssueDashboardLink,
}

/// A list of the main page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pane {
    #[default]
    CronJobs,
    Runs,
}

/// A page that covers the lists.
#[derive(Debug)]
pub(super) enum OpenPage {
    Text(TextPage),
    Messages,
}

/// A question that must be answered with `y` before an action is executed.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) text: String,
    action: ViewAction,
}

/// A short text in the last row until the next key.
#[derive(Debug)]
pub(super) struct Notice {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// The state of the view that does not come from objects.
#[derive(Debug)]
pub(super) struct Ui {
    pub(super) page: Option<OpenPage>,
    pub(super) pane: Pane,
    pub(super) cron_jobs: ListCursor<ObjectUid>,
    pub(super) runs: ListCursor<Arc<str>>,
    pub(super) filter: String,
    pub(super) is_editing_filter: bool,
    pub(super) question: Option<Question>,
    pub(super) notice: Option<Notice>,
    /// The lines that the daemon logged or printed.
    pub(super) messages: TextPage,
    pub(super) unread_messages: usize,
}

impl Default for Ui {
    fn default() -> Self {
        Ui {
            page: None,
            pane: Pane::default(),
            cron_jobs: ListCursor::default(),
            runs: ListCursor::default(),
            filter: String::new(),
            is_editing_filter: false,
            question: None,
            notice: None,
            messages: TextPage::tail("Messages"),
            unread_messages: 0,
        }
    }
}

/// A run that is shown: an active one or one that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum RunRow<'a> {
    Active(&'a JobSummary),
    Ended(&'a FinishedJob),
}

impl RunRow<'_> {
    pub(super) fn job(&self) -> &Arc<str> {
        match self {
            RunRow::Active(job) => &job.name,
            RunRow::Ended(job) => &job.job,
        }
    }
}

/// Returns the runs from a position on: active ones first, the latest results after them.
pub(super) fn runs_from(model: &ViewModel, position: usize) -> impl Iterator<Item = RunRow<'_>> {
    let active = model.running.iter().map(RunRow::Active);
    active.chain(model.finished.iter().map(RunRow::Ended)).skip(position)
}

pub(super) fn run_count(model: &ViewModel) -> usize {
    model.running.len() + model.finished.len()
}

impl Ui {
    /// Handles a key. Returns what the caller has to do.
    pub(super) fn handle_key(&mut self, key: Key, model: &mut ViewModel) -> Option<ViewAction> {
        self.notice = None;
        if let Some(question) = self.question.take() {
            return matches!(key, Key::Char('y' | 'Y')).then_some(question.action);
        }
        if key == Key::Control('l') {
            return Some(ViewAction::Redraw);
        }
        if self.is_editing_filter {
            self.edit_filter(key, model);
            return None;
        }
        if self.page.is_some() {
            return self.handle_page_key(key);
        }
        model.cron_jobs.prepare();
        let has_moved = match self.pane {
            Pane::CronJobs => {
                let length = model.cron_jobs.matching();
                self.cron_jobs.handle_key(key, length)
            }
            Pane::Runs => self.runs.handle_key(key, run_count(model)),
        };
        if has_moved {
            self.remember_selection(model);
            return None;
        }
        self.handle_list_key(key, model)
    }

    /// Remembers the objects of the selected rows. Must be called after the lists changed.
    pub(super) fn remember_selection(&mut self, model: &ViewModel) {
        let selected = model.cron_jobs.rows_from(self.cron_jobs.selected()).next();
        self.cron_jobs.set_key(selected.map(|(uid, _)| uid.clone()));
        let run = runs_from(model, self.runs.selected()).next();
        self.runs.set_key(run.map(|run| run.job().clone()));
    }

    fn handle_page_key(&mut self, key: Key) -> Option<ViewAction> {
        let handled = match &mut self.page {
            Some(OpenPage::Text(page)) => page.handle_key(key),
            Some(OpenPage::Messages) => self.messages.handle_key(key),
            None => false,
        };
        let closes = matches!(key, Key::Escape | Key::Char('q') | Key::Backspace | Key::Enter);
        if handled || !closes {
            return None;
        }
        self.page = None;
        Some(ViewAction::ClosePage)
    }

    fn handle_list_key(&mut self, key: Key, model: &mut ViewModel) -> Option<ViewAction> {
        match key {
            Key::Tab => {
                self.pane = if self.pane == Pane::CronJobs { Pane::Runs } else { Pane::CronJobs };
            }
            Key::Char('/') => {
                self.is_editing_filter = true;
                self.pane = Pane::CronJobs;
            }
            Key::Escape => self.set_filter(String::new(), model),
            Key::Char('o') => {
                let order = model.cron_jobs.order().following();
                model.cron_jobs.set_order(order);
                self.cron_jobs.reset();
                self.inform(&format!("order: {}", order.as_str()));
            }
            Key::Char('m') => {
                self.unread_messages = 0;
                self.page = Some(OpenPage::Messages);
            }
            Key::Char('?' | 'h') => self.page = Some(OpenPage::Text(TextPage::text("Help", HELP))),
            Key::Char('d') => return Some(ViewAction::IssueDashboardLink),
            Key::Char('q') => self.ask(
                "Stop Punctual? Pods keep running, and no further run starts.".to_owned(),
                ViewAction::Quit,
            ),
            key => return self.handle_object_key(key, model),
        }
        None
    }

    /// Handles the keys that concern the selected CronJob or run.
    fn handle_object_key(&mut self, key: Key, model: &ViewModel) -> Option<ViewAction> {
        if self.pane == Pane::Runs {
            let job = self.runs.key()?.clone();
            return matches!(key, Key::Enter | Key::Char('l'))
                .then_some(ViewAction::ShowJobLog(job));
        }
        let selected = self.cron_jobs.key().and_then(|uid| model.cron_jobs.get(uid));
        let target = selected.map(target_of);
        match (key, target, selected) {
            (Key::Enter, Some(target), _) => return Some(ViewAction::ShowDetails(target)),
            (Key::Char('l'), Some(target), _) => return Some(ViewAction::ShowLatestLog(target)),
            (Key::Char('t'), Some(target), _) => {
                self.ask(
                    format!("Start a run of {} now?", target.name),
                    ViewAction::Trigger(target),
                );
            }
            (Key::Char('s'), Some(target), Some(row)) => {
                if row.state() == CronJobState::Suspended {
                    let text = format!("Resume {}? A pending run may start at once.", target.name);
                    self.ask(text, ViewAction::Resume(target));
                } else {
                    let text = format!(
                        "Suspend {}? No further run starts until you resume it.",
                        target.name
                    );
                    self.ask(text, ViewAction::Suspend(target));
                }
            }
            (Key::Enter | Key::Char('l' | 't' | 's'), None, _) => {
                self.warn("no CronJob is selected")
            }
            _ => {}
        }
        None
    }

    fn edit_filter(&mut self, key: Key, model: &mut ViewModel) {
        let mut filter = self.filter.clone();
        match key {
            Key::Enter | Key::Tab | Key::Down => self.is_editing_filter = false,
            Key::Escape => {
                self.is_editing_filter = false;
                filter.clear();
            }
            Key::Backspace => {
                filter.pop();
            }
            Key::Control('u') => filter.clear(),
            Key::Char(letter) if filter.len() < FILTER_LEN_MAX => filter.push(letter),
            _ => {}
        }
        self.set_filter(filter, model);
    }

    fn set_filter(&mut self, filter: String, model: &mut ViewModel) {
        if filter != self.filter {
            model.cron_jobs.set_filter(&filter);
            model.cron_jobs.prepare();
            self.filter = filter;
            self.cron_jobs.reset();
            self.remember_selection(model);
        }
    }

    fn ask(&mut self, text: String, action: ViewAction) {
        self.question = Some(Question { text, action });
    }

    pub(super) fn inform(&mut self, text: &str) {
        self.notice = Some(Notice { text: text.to_owned(), is_error: false });
    }

    pub(super) fn warn(&mut self, text: &str) {
        self.notice = Some(Notice { text: text.to_owned(), is_error: true });
    }

    pub(super) fn add_message(&mut self, line: &str) {
        self.messages.push(super::clean_text::clean_line(line));
        if !matches!(self.page, Some(OpenPage::Messages)) {
            self.unread_messages += 1;
        }
    }
}

fn target_of(row: &CronJobSummary) -> CronJobTarget {
    CronJobTarget { kind: row.kind, name: row.name.clone() }
}

/// The text of the help page.
const HELP: &str = "\
Lists
  Up Down j k    select a row        PgUp PgDn Home End g G   move further
  Tab            switch between CronJobs and runs
  /              filter by name, schedule or state; Enter keeps the filter, Esc clears it
  o              change the order: failing first, next run, name, last result

The selected CronJob
  Enter          details: policy, next slots, last slots, and why nothing runs now
  l              log of its latest run
  t              start a run now
  s              suspend it, or resume it

The selected run
  Enter, l       its log, which is followed while the run is active

Everywhere
  m              messages of Punctual, such as errors in manifests
  d              link to the dashboard
  Ctrl-L         draw the screen again
  q, Esc         close a page; q in the lists stops Punctual
  Ctrl-C         stops Punctual; Pods keep running
  Ctrl-Z         pauses Punctual: nothing starts until you continue it with fg

All times are in the time zone that the header names. A schedule with a time zone of its own shows it.
States: stuck (its controller cannot proceed: see the details), failing (the last run failed or was missed),
running, ok, new (nothing has run yet), suspended, complete (its schedule has no further time).
";

#[cfg(test)]
mod tests;
