//! The live view: a full screen that shows CronJobs and runs, and acts on them.
//!
//! ```text
//!  watches ─▶ ViewModel (shared) ─┐
//!  keys (thread) ─────────────────┼─▶ view thread ─▶ terminal
//!  results of actions ────────────┘        └─▶ actions (tasks of the daemon's runtime)
//! ```
//!
//! The view has a thread of its own, because writing to a terminal may block. The daemon never waits for it. The screen
//! is drawn when something changes, at most ten times a second, and once a second because it shows countdowns.

mod clean_text;
mod cursor;
mod input;
mod keys;
mod painter;
mod render;
mod table;
mod text_page;
mod ui;

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use punctual_api::CronJobKind;
use punctual_schedule::Zone;
use ratatui_core::layout::Rect;
use rustix::process::{Signal, getpid, kill_process};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use self::input::InputGate;
pub(super) use self::input::open_terminal;
use self::keys::Key;
use self::painter::Painter;
use self::render::FrameOptions;
use self::text_page::TextPage;
use self::ui::{CronJobTarget, OpenPage, Ui, ViewAction};
use super::view_model::{ViewModel, WatchedKind};
use crate::console::Console;
use crate::cron_jobs::{CronJobName, LiveActions};
use crate::{clock, terminal};

/// The screen is drawn at least this often, because it shows countdowns.
const REDRAW_INTERVAL: Duration = Duration::from_secs(1);
/// The minimum time between a frame and the next one after a change.
const REDRAW_DELAY_MIN: Duration = Duration::from_millis(100);
/// How many results of actions and parts of logs wait for the view. A log is read as fast as it is shown.
const RESULTS_MAX: usize = 16;
/// How long the end of the process may wait for a view whose terminal accepts no output.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(1);

/// Issues a new login link of the dashboard. It is called on the view's thread and must not wait long.
pub(super) type DashboardLink = Arc<dyn Fn() -> anyhow::Result<String> + Send + Sync>;

/// What the live view needs.
pub(super) struct LiveOptions {
    pub(super) use_color: bool,
    /// The URL of the API server.
    pub(super) url: String,
    /// The zone of all displayed times.
    pub(super) zone: Zone,
    pub(super) actions: LiveActions,
    /// The lines that are printed while the view has the screen.
    pub(super) console: Console,
    /// `None` if no dashboard is served.
    pub(super) dashboard: Option<DashboardLink>,
    /// Stops the daemon.
    pub(super) stop: CancellationToken,
}

/// The objects that the view shows, which the watches update.
#[derive(Clone, Default)]
pub(super) struct SharedModel {
    model: Arc<Mutex<ViewModel>>,
    changed: Arc<Notify>,
}

impl SharedModel {
    /// Changes the model and lets the view draw it.
    pub(super) fn update<T>(&self, change: impl FnOnce(&mut ViewModel) -> T) -> T {
        let result = self.with(change);
        self.changed.notify_one();
        result
    }

    fn with<T>(&self, read: impl FnOnce(&mut ViewModel) -> T) -> T {
        read(&mut self.model.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A running view.
pub(super) struct LiveView {
    leave: CancellationToken,
    ended: oneshot::Receiver<()>,
    console: Console,
}

impl LiveView {
    /// Takes the terminal over and starts the view's thread.
    pub(super) fn start(options: LiveOptions, model: SharedModel) -> anyhow::Result<LiveView> {
        let input = open_terminal().ok_or_else(|| anyhow::anyhow!("there is no keyboard"))?;
        let (key_sender, keys) = mpsc::unbounded_channel();
        let gate = Arc::new(InputGate::default());
        input::start(input, gate.clone(), key_sender)?;
        let out = std::os::fd::AsFd::as_fd(&std::io::stdout()).try_clone_to_owned()?;
        let leave = CancellationToken::new();
        let (end_sender, ended) = oneshot::channel();
        let (result_sender, results) = mpsc::channel(RESULTS_MAX);
        let console = options.console.clone();
        let view = ViewThread {
            ui: Ui::default(),
            painter: Painter::new(options.use_color),
            frame_options: FrameOptions { zone: options.zone.clone(), url: options.url.clone() },
            out: out.into(),
            gate,
            model,
            results: result_sender,
            page: PageTask::default(),
            is_visible: true,
            daemon: Handle::current(),
            options,
        };
        console.take_over();
        terminal::enter_screen()?;
        install_panic_hook();
        let leaving = leave.clone();
        std::thread::Builder::new().name(THREAD_NAME.to_owned()).spawn(move || {
            // Dropped when the thread ends, also by a panic.
            let _ended: oneshot::Sender<()> = end_sender;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(view.run(keys, results, leaving)),
                Err(error) => tracing::error!("could not start the live view: {error}"),
            }
        })?;
        Ok(LiveView { leave, ended, console })
    }

    /// Waits until the view has ended by itself, which only a failure causes.
    pub(super) async fn wait_for_failure(&mut self) {
        let _ = (&mut self.ended).await;
    }

    /// Gives the terminal back. Returns the lines that were printed meanwhile.
    pub(super) async fn leave(self) -> Vec<Arc<str>> {
        self.leave.cancel();
        let _ = tokio::time::timeout(LEAVE_TIMEOUT, self.ended).await;
        terminal::restore();
        self.console.give_back()
    }
}

/// The name of the view's thread.
const THREAD_NAME: &str = "live-view";

/// Lets a panic of the view restore the terminal, and logs the panics of other threads, which must not be written over
/// the screen.
fn install_panic_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() == Some(THREAD_NAME) {
            terminal::restore();
            default(panic);
        } else {
            tracing::error!("{panic}");
        }
    }));
}

/// What a task of an action reports.
#[derive(Debug)]
enum ActionResult {
    Done(String),
    Failed(String),
    /// The text of the page that was opened as the given number.
    Text(u64, String),
    Log(u64, Vec<u8>),
    /// The log is complete, or why there is none.
    LogEnd(u64, Option<String>),
}

/// The task that fills the open page.
#[derive(Default)]
struct PageTask {
    /// The number of the page. Results for earlier pages are ignored.
    number: u64,
    task: Option<JoinHandle<()>>,
    /// The end of a log that is not a complete line yet.
    incomplete_line: Vec<u8>,
}

impl PageTask {
    /// Ends the task and returns the number of the next page.
    fn restart(&mut self) -> u64 {
        if let Some(task) = self.task.take() {
            task.abort();
        }
        self.incomplete_line.clear();
        self.number += 1;
        self.number
    }
}

/// The state of the view's thread.
struct ViewThread {
    ui: Ui,
    painter: Painter,
    frame_options: FrameOptions,
    out: std::fs::File,
    gate: Arc<InputGate>,
    model: SharedModel,
    results: mpsc::Sender<ActionResult>,
    page: PageTask,
    /// Whether the terminal shows the view: this process is not in the background.
    is_visible: bool,
    /// The runtime of the daemon, which executes actions.
    daemon: Handle,
    options: LiveOptions,
}

impl ViewThread {
    async fn run(
        mut self,
        mut keys: mpsc::UnboundedReceiver<Key>,
        mut results: mpsc::Receiver<ActionResult>,
        leave: CancellationToken,
    ) {
        let signals = [SignalKind::window_change(), SIGTSTP, SIGCONT].map(signal);
        let [Ok(mut resized), Ok(mut paused), Ok(mut continued)] = signals else { return };
        let mut ticks = interval(REDRAW_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.gate.set(true);
        let mut drawn_at = Instant::now() - REDRAW_DELAY_MIN;
        let mut has_changed = true;
        let console = self.options.console.clone();
        let changed = self.model.changed.clone();
        loop {
            tokio::select! {
                biased;
                () = leave.cancelled() => return,
                _ = paused.recv() => self.pause(),
                _ = continued.recv() => self.resume(),
                Some(key) = keys.recv() => {
                    self.handle_key(key);
                    while let Ok(key) = keys.try_recv() {
                        self.handle_key(key);
                    }
                    // A user must see at once what a key does.
                    drawn_at = Instant::now() - REDRAW_DELAY_MIN;
                }
                _ = resized.recv() => {}
                () = sleep_until(drawn_at + REDRAW_DELAY_MIN), if has_changed => {
                    self.draw();
                    drawn_at = Instant::now();
                    has_changed = false;
                    continue;
                }
                Some(result) = results.recv() => self.handle_result(result),
                () = console.changed() => {}
                () = changed.notified() => {}
                _ = ticks.tick() => {}
            }
            has_changed = true;
        }
    }

    fn draw(&mut self) {
        for line in self.options.console.read() {
            self.ui.add_message(&line);
        }
        if !self.is_visible {
            return;
        }
        let size = terminal::size();
        let width = u16::try_from(size.columns).unwrap_or(u16::MAX);
        let height = u16::try_from(size.rows).unwrap_or(u16::MAX);
        let area = Rect::new(0, 0, width, height);
        let ViewThread { ui, frame_options, model, .. } = self;
        let frame =
            model.with(|model| render::render(ui, model, frame_options, clock::now(), area));
        let bytes = self.painter.paint(frame);
        // A failure means that the terminal was closed, which a signal reports.
        let _ = self.out.write_all(bytes.as_bytes());
    }

    fn handle_key(&mut self, key: Key) {
        let ViewThread { ui, model, .. } = self;
        if let Some(action) = model.with(|model| ui.handle_key(key, model)) {
            self.execute(action);
        }
    }

    fn execute(&mut self, action: ViewAction) {
        match action {
            ViewAction::Quit => self.options.stop.cancel(),
            ViewAction::Redraw => self.painter.invalidate(),
            ViewAction::ClosePage => drop(self.page.restart()),
            ViewAction::ShowDetails(target) => self.show_details(&target),
            ViewAction::ShowLatestLog(target) => {
                let actions = self.options.actions.clone();
                let name = cron_job_name(&target);
                let title = format!("Log of the latest run of {}", target.name);
                self.show_log(
                    &title,
                    |log| async move { actions.follow_latest_log(&name, log).await },
                );
            }
            ViewAction::ShowJobLog(job) => {
                let actions = self.options.actions.clone();
                self.show_log(&format!("Log of {job}"), |log| async move {
                    let (namespace, name) = job.split_once('/').unwrap_or_default();
                    actions.follow_job_log(namespace, name, log).await
                });
            }
            ViewAction::Trigger(target) => {
                self.change(&target, |actions, name| async move { actions.trigger(&name).await });
            }
            ViewAction::Suspend(target) => {
                self.change(&target, |actions, name| async move { actions.suspend(&name).await });
            }
            ViewAction::Resume(target) => {
                self.change(&target, |actions, name| async move { actions.resume(&name).await });
            }
            ViewAction::IssueDashboardLink => self.show_dashboard_link(),
        }
    }

    fn show_details(&mut self, target: &CronJobTarget) {
        let number = self.page.restart();
        let mut page = TextPage::text(&target.name, "");
        page.push("reading…".to_owned());
        self.ui.page = Some(OpenPage::Text(page));
        let actions = self.options.actions.clone();
        let name = cron_job_name(target);
        let results = self.results.clone();
        self.page.task = Some(self.daemon.spawn(async move {
            let text = match actions.details(&name).await {
                Ok(text) => text,
                Err(error) => format!("could not read the details: {error:#}"),
            };
            let _ = results.send(ActionResult::Text(number, text)).await;
        }));
    }

    fn show_log<F>(&mut self, title: &str, follow: impl FnOnce(mpsc::Sender<Vec<u8>>) -> F)
    where
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let number = self.page.restart();
        self.ui.page = Some(OpenPage::Text(TextPage::tail(title)));
        let (log, mut parts) = mpsc::channel(1);
        let following = follow(log);
        let results = self.results.clone();
        self.page.task = Some(self.daemon.spawn(async move {
            let passing = async {
                while let Some(part) = parts.recv().await {
                    let _ = results.send(ActionResult::Log(number, part)).await;
                }
            };
            let (followed, ()) = tokio::join!(following, passing);
            let failure = followed.err().map(|error| format!("{error:#}"));
            let _ = results.send(ActionResult::LogEnd(number, failure)).await;
        }));
    }

    /// Executes a change and reports its result in the last row.
    fn change<F>(
        &mut self,
        target: &CronJobTarget,
        change: impl FnOnce(LiveActions, CronJobName) -> F,
    ) where
        F: Future<Output = anyhow::Result<String>> + Send + 'static,
    {
        let changing = change(self.options.actions.clone(), cron_job_name(target));
        let results = self.results.clone();
        drop(self.daemon.spawn(async move {
            let result = match changing.await {
                Ok(text) => ActionResult::Done(text),
                Err(error) => ActionResult::Failed(format!("{error:#}")),
            };
            let _ = results.send(result).await;
        }));
    }

    fn show_dashboard_link(&mut self) {
        let Some(issue) = &self.options.dashboard else {
            self.ui.warn("this server has no dashboard");
            return;
        };
        match issue() {
            Ok(link) => {
                self.page.restart();
                let text = format!("{link}\n\nThe link works once. Press d again for a new one.");
                self.ui.page = Some(OpenPage::Text(TextPage::text("Dashboard", &text)));
            }
            Err(error) => self.ui.warn(&format!("no link to the dashboard: {error:#}")),
        }
    }

    fn handle_result(&mut self, result: ActionResult) {
        match result {
            ActionResult::Done(text) => self.ui.inform(&text),
            ActionResult::Failed(text) => self.ui.warn(&text),
            ActionResult::Text(number, text) => {
                if let Some(page) = self.page_of(number) {
                    page.replace_text(&text);
                }
            }
            ActionResult::Log(number, bytes) => self.add_log(number, &bytes),
            ActionResult::LogEnd(number, failure) => {
                if self.page.number == number && !self.page.incomplete_line.is_empty() {
                    self.add_log(number, b"\n");
                }
                if let Some(page) = self.page_of(number) {
                    let end = failure.unwrap_or_else(|| "(the run has ended)".to_owned());
                    page.push(clean_text::clean_line(&end));
                }
            }
        }
    }

    /// Returns the open page if it has this number.
    fn page_of(&mut self, number: u64) -> Option<&mut TextPage> {
        match &mut self.ui.page {
            Some(OpenPage::Text(page)) if self.page.number == number => Some(page),
            _ => None,
        }
    }

    fn add_log(&mut self, number: u64, bytes: &[u8]) {
        if self.page.number != number {
            return;
        }
        let mut text = std::mem::take(&mut self.page.incomplete_line);
        text.extend_from_slice(bytes);
        let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut rest = text.split_off(end);
        // A line without an end may not fill the memory.
        rest.truncate(INCOMPLETE_LINE_MAX);
        self.page.incomplete_line = rest;
        let Some(page) = self.page_of(number) else { return };
        for line in String::from_utf8_lossy(&text).lines() {
            if !line.is_empty() || !page.is_empty() {
                page.push(clean_text::clean_line(line));
            }
        }
    }

    /// Stops the process as a shell expects it, with its own screen.
    fn pause(&mut self) {
        self.gate.set(false);
        terminal::restore();
        let _ = kill_process(getpid(), Signal::STOP);
    }

    /// Shows the view again, unless a shell continued the process in the background.
    fn resume(&mut self) {
        self.is_visible = terminal::is_foreground();
        if self.is_visible && terminal::enter_again().is_err() {
            self.is_visible = false;
        }
        self.gate.set(self.is_visible);
        self.painter.invalidate();
    }
}

/// The longest end of a log that waits for its line feed.
const INCOMPLETE_LINE_MAX: usize = 64 << 10;
/// The signals of Ctrl-Z and of `fg`.
const SIGTSTP: SignalKind = SignalKind::from_raw(Signal::TSTP.as_raw());
const SIGCONT: SignalKind = SignalKind::from_raw(Signal::CONT.as_raw());

fn cron_job_name(target: &CronJobTarget) -> CronJobName {
    let (namespace, name) = target.name.split_once('/').unwrap_or_default();
    let kind = match target.kind {
        WatchedKind::ScheduledJob => CronJobKind::ScheduledJob,
        WatchedKind::CronJob | WatchedKind::Job | WatchedKind::Pod => CronJobKind::BatchV1,
    };
    CronJobName { kind, namespace: namespace.to_owned(), name: name.to_owned() }
}
