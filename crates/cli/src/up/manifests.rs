//! Applies manifest files at the start and whenever they change.
//!
//! ```text
//!  files ─▶ load (validates) ─▶ sync (applies what changed) ─▶ server
//!    └────▶ watch (inotify) ──────┘▲
//!                       SIGHUP ────┘
//! ```
//!
//! A wrong file never keeps the others from running: it is reported, what it applied before stays, and it is tried
//! again when a file changes.

mod apply;
mod last_applied;
mod load;
mod prune;
mod sync;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use kube::Client;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

pub(super) use self::apply::{AppliedObject, ApplyResult};
pub(super) use self::load::ManifestOptions;
use self::load::{LoadedSource, ManifestLoader};
use self::sync::{ManifestSync, SyncReport};
use self::watch::{FolderWatch, WatchedFolders};
use super::messages;
use crate::clock;
use crate::printer::Printer;

/// Changes that follow each other within this time are applied together.
const QUIET_TIME: Duration = Duration::from_millis(100);
/// Changes are applied at the latest after this time, however many follow.
const DELAY_MAX: Duration = Duration::from_secs(1);
/// The first and the longest time until a failed request is repeated.
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(60);
/// The maximum number of problems that are reported at once.
const PROBLEMS_SHOWN_MAX: usize = 20;

/// The manifests of the command line, as they were last read.
pub(super) struct Manifests {
    loader: ManifestLoader,
    sources: Vec<LoadedSource>,
}

impl Manifests {
    /// Reads all files and checks them without a server. Blocks.
    pub(super) fn load(options: ManifestOptions) -> Manifests {
        let mut loader = ManifestLoader::new(options);
        let sources = loader.load();
        Manifests { loader, sources }
    }

    /// Fails if there is nothing to run: manifests were named, none of them is usable, and nothing is stored. Standard
    /// input must always be valid, because it cannot be corrected later.
    pub(super) fn require_usable(&self, has_stored_objects: bool) -> anyhow::Result<()> {
        let problems = self.problems();
        let is_stdin_wrong =
            self.sources.iter().any(|source| source.path.is_none() && !source.is_fully_known());
        let mut files = self.sources.iter().flat_map(|source| &source.files);
        let is_usable = files.any(|file| file.documents.as_ref().is_ok_and(|it| !it.is_empty()));
        if problems.is_empty() || (!is_stdin_wrong && (has_stored_objects || is_usable)) {
            return Ok(());
        }
        bail!(
            "nothing was applied or started, because the manifests have errors:{}",
            list(&problems)
        )
    }

    fn problems(&self) -> Vec<String> {
        let of_source = |source: &LoadedSource| {
            let of_files = source.files.iter().filter_map(|file| file.documents.as_ref().err());
            source.problems.iter().chain(of_files.flatten()).cloned().collect::<Vec<_>>()
        };
        self.sources.iter().flat_map(of_source).collect()
    }

    /// Applies the manifests as they were read. Returns what it applied.
    pub(super) async fn apply_first(self, client: Client) -> (Vec<AppliedObject>, ManifestTask) {
        let mut sync = ManifestSync::new(client, self.loader.options().is_pruning);
        sync.find_applied(&self.sources).await;
        let mut report = sync.sync(&self.sources, false).await;
        let applied = std::mem::take(&mut report.applied);
        let needs_retry = report.needs_retry;
        log_problems(&report);
        (applied, ManifestTask { loader: self.loader, sync, needs_retry })
    }
}

/// Keeps the objects up to date with the manifests.
pub(super) struct ManifestTask {
    loader: ManifestLoader,
    sync: ManifestSync,
    needs_retry: bool,
}

impl ManifestTask {
    /// Applies changes until `stop` is cancelled. `reload` is notified on SIGHUP.
    pub(super) async fn run(self, printer: Printer, reload: Arc<Notify>, stop: CancellationToken) {
        let watch = FolderWatch::start();
        if let Err(error) = &watch {
            log_watch_failure(error);
        }
        let mut updater = ManifestUpdater {
            task: Some(self),
            printer,
            watch: watch.ok(),
            retry_delay: RETRY_MIN,
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = updater.run(&reload) => {}
        }
    }
}

/// What [`ManifestTask::run`] needs from one change to the next.
struct ManifestUpdater {
    /// Absent only while the files are read.
    task: Option<ManifestTask>,
    printer: Printer,
    /// `None` if the machine cannot watch files.
    watch: Option<FolderWatch>,
    retry_delay: Duration,
}

impl ManifestUpdater {
    async fn run(&mut self, reload: &Notify) {
        // The files may have changed since they were read at the start.
        self.update(false).await;
        loop {
            let needs_retry = self.task.as_ref().is_some_and(|task| task.needs_retry);
            let retry_at = Instant::now() + self.retry_delay;
            tokio::select! {
                () = changed(self.watch.as_ref()) => {
                    self.retry_delay = RETRY_MIN;
                    self.wait_until_quiet().await;
                    self.update(false).await;
                }
                () = reload.notified() => {
                    tracing::info!("SIGHUP: reading and applying all manifests again");
                    self.update(true).await;
                }
                () = sleep_until(retry_at), if needs_retry => {
                    self.retry_delay = (self.retry_delay * 2).min(RETRY_MAX);
                    self.update(false).await;
                }
            }
        }
    }

    async fn wait_until_quiet(&self) {
        let latest = Instant::now() + DELAY_MAX;
        loop {
            let quiet = (Instant::now() + QUIET_TIME).min(latest);
            if timeout_at(quiet, changed(self.watch.as_ref())).await.is_err() || quiet == latest {
                return;
            }
        }
    }

    /// Reads the files and applies what changed.
    async fn update(&mut self, is_forced: bool) {
        let Some(mut task) = self.task.take() else { return };
        let mut is_watched = false;
        let sources = loop {
            let reading = tokio::task::spawn_blocking(move || {
                let sources = task.loader.load();
                let folders = WatchedFolders::of(&sources);
                (task, sources, folders)
            });
            // Only a panic fails, and then the state is lost.
            let Ok((read, sources, folders)) = reading.await else {
                tracing::error!("reading the manifests failed; they are not read again");
                return;
            };
            task = read;
            // A folder that was not watched before may have changed since it was read.
            if is_watched || !self.watch_folders(&folders) {
                break sources;
            }
            is_watched = true;
        };
        let report = task.sync.sync(&sources, is_forced).await;
        task.needs_retry = report.needs_retry;
        self.task = Some(task);
        self.print(&report, is_forced);
    }

    /// Returns whether a folder was not watched before.
    fn watch_folders(&mut self, folders: &WatchedFolders) -> bool {
        let Some(watch) = &mut self.watch else { return false };
        watch.watch(folders).unwrap_or_else(|error| {
            log_watch_failure(&error);
            false
        })
    }

    fn print(&self, report: &SyncReport, is_forced: bool) {
        let now = clock::now();
        let changed =
            report.applied.iter().filter(|it| is_forced || it.result != ApplyResult::Unchanged);
        let changed: Vec<AppliedObject> = changed.cloned().collect();
        let lines = messages::applied(&changed);
        for line in lines.lines().chain(report.notes.iter().map(String::as_str)) {
            self.printer.print(format!("{now:.3} {line}\n"));
        }
        if report.is_recovered {
            self.printer.print(format!("{now:.3} all manifests are applied\n"));
        }
        log_problems(report);
    }
}

/// Waits for a change of a manifest; forever if the machine cannot watch files.
async fn changed(watch: Option<&FolderWatch>) {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}

fn log_watch_failure(error: &std::io::Error) {
    tracing::error!(
        "could not watch the manifests: {error}; after a change, apply it with SIGHUP (kill -HUP)"
    );
}

fn log_problems(report: &SyncReport) {
    if !report.problems.is_empty() {
        tracing::error!(
            "manifests have errors; nothing of a file with an error is applied, what it applied \
             before stays, and it is tried again when a file changes:{}",
            list(&report.problems)
        );
    }
}

fn list(problems: &[String]) -> String {
    let mut text = String::new();
    for problem in problems.iter().take(PROBLEMS_SHOWN_MAX) {
        text.push_str(&format!("\n  {problem}"));
    }
    let more = problems.len().saturating_sub(PROBLEMS_SHOWN_MAX);
    if more > 0 {
        text.push_str(&format!("\n  and {more} more"));
    }
    text
}
