//! A thread that runs until its owner is dropped.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use anyhow::Context;

/// A thread. Dropping it asks the thread to stop and waits until it has ended.
#[derive(Debug)]
pub struct BackgroundThread {
    stop: StopFlag,
    thread: Option<JoinHandle<()>>,
}

/// Whether a thread must stop.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Whether it must stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl BackgroundThread {
    /// Starts a thread that must return soon after the flag is set.
    pub fn start(
        name: &str,
        work: impl FnOnce(StopFlag) + Send + 'static,
    ) -> anyhow::Result<BackgroundThread> {
        let stop = StopFlag::default();
        let thread_stop = stop.clone();
        let thread = thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || work(thread_stop)).context("starting a thread")?;
        Ok(BackgroundThread { stop, thread: Some(thread) })
    }
}

impl Drop for BackgroundThread {
    fn drop(&mut self) {
        self.stop.0.store(true, Ordering::Relaxed);
        // A panic of the thread was printed when it occurred.
        let _result = self.thread.take().map(JoinHandle::join);
    }
}
