//! Tests that the runtime never occupies the thread that also decides when Jobs start.

#![expect(clippy::disallowed_methods, reason = "measures how long the executor is blocked")]

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use futures::poll;
use punctual_runner::{PodRuntime as _, ProcessRuntime, ProcessRuntimeOptions};

use crate::test_node::{poll_until_some, supervisor_program};

/// Creates the folder of a Pod whose volume has many files.
fn create_files(data: &Path, uid: &str, count: usize) -> PathBuf {
    let folder = data.join("pods").join(uid);
    for number in 0..count {
        let files = folder.join("volumes/v").join((number / 1000).to_string());
        if number % 1000 == 0 {
            std::fs::create_dir_all(&files).unwrap();
        }
        std::fs::write(files.join(number.to_string()), "").unwrap();
    }
    folder
}

fn removed_folders(data: &Path) -> usize {
    let entries = std::fs::read_dir(data.join("pods")).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".removed-")).count()
}

/// Returns the longest time for which no task of this thread could run.
async fn longest_pause(until: impl Future<Output = ()>) -> Duration {
    let mut until = std::pin::pin!(until);
    let mut longest = Duration::ZERO;
    let mut last = Instant::now();
    loop {
        let is_over = poll!(&mut until).is_ready();
        longest = longest.max(last.elapsed());
        last = Instant::now();
        if is_over {
            return longest;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_removal_of_many_files_does_not_occupy_the_thread_of_the_caller() {
    let data = tempfile::tempdir().unwrap();
    let folder = create_files(data.path(), "u", 20_000);
    let options = ProcessRuntimeOptions::new(data.path().to_owned(), supervisor_program());
    let runtime = ProcessRuntime::new(options).unwrap();
    let start = Instant::now();
    let pause = longest_pause(async { runtime.remove("u").await.unwrap() }).await;
    assert!(!folder.exists() && runtime.pod_uids().await.unwrap().is_empty());
    poll_until_some(|| (removed_folders(data.path()) == 0).then_some(())).await;
    let removal = start.elapsed();
    println!("removed 20,000 files in {removal:?}; the longest pause was {pause:?}");
    assert!(pause < (removal / 4).max(Duration::from_millis(20)), "{pause:?} of {removal:?}");
}

/// Occupies the only thread for blocking work of this tokio runtime until the sender is dropped.
fn occupy_blocking_thread() -> Sender<()> {
    let (release, released) = channel::<()>();
    tokio::task::spawn_blocking(move || released.recv().is_err());
    release
}

#[test]
fn no_call_of_the_runtime_waits_for_the_disk_on_the_thread_of_the_caller() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let tokio_runtime = builder.enable_all().max_blocking_threads(1).build().unwrap();
    let data = tempfile::tempdir().unwrap();
    let folder = create_files(data.path(), "u", 1);
    std::fs::write(folder.join("pod.json"), "{}").unwrap();
    // While that thread is occupied, only a call that does its work on the caller's thread can be ready.
    tokio_runtime.block_on(async {
        let options = ProcessRuntimeOptions::new(data.path().to_owned(), supervisor_program());
        let runtime = ProcessRuntime::new(options).unwrap();
        let release = occupy_blocking_thread();
        assert!(poll!(runtime.pod_uids()).is_pending());
        assert!(poll!(runtime.is_prepared("u")).is_pending());
        assert!(poll!(runtime.grace_seconds("u")).is_pending());
        assert!(poll!(runtime.state("u")).is_pending());
        assert!(poll!(runtime.attach("u")).is_pending());
        let mut starting = runtime.start("u", Some(0));
        assert!(poll!(&mut starting).is_pending());
        drop(release);
        let mut handle = starting.await.unwrap();
        let release = occupy_blocking_thread();
        let mut stopping = handle.stop(1);
        assert!(poll!(&mut stopping).is_pending());
        assert!(poll!(runtime.remove("u")).is_pending());
        drop(release);
        stopping.await.unwrap();
    });
}

#[tokio::test]
async fn folders_that_an_earlier_daemon_has_not_removed_are_removed_at_the_start() {
    let data = tempfile::tempdir().unwrap();
    create_files(data.path(), ".removed-0", 10);
    let options = ProcessRuntimeOptions::new(data.path().to_owned(), supervisor_program());
    let runtime = ProcessRuntime::new(options).unwrap();
    poll_until_some(|| (removed_folders(data.path()) == 0).then_some(())).await;
    assert!(runtime.pod_uids().await.unwrap().is_empty());
}
