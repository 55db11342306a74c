//! Waits for changes in folders. The system allows few inotify instances, so all waits of a process
//! share one.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

use crate::async_fd;

/// An inotify instance and the tasks that wait for its watches.
#[derive(Debug)]
pub(crate) struct FolderWatcher {
    inotify: Arc<AsyncFd<OwnedFd>>,
    waiting: Arc<Mutex<Waiters>>,
    task: tokio::task::AbortHandle,
}

/// The waiters of each inotify watch.
type Waiters = HashMap<i32, Vec<Weak<Notify>>>;

/// A watch of a folder, for one task.
#[derive(Debug)]
pub(crate) struct FolderWatch {
    watcher: Arc<FolderWatcher>,
    id: i32,
    changed: Arc<Notify>,
}

impl FolderWatcher {
    /// Starts a task that reads changes. Must be called in a tokio runtime.
    pub(crate) fn start() -> io::Result<Arc<FolderWatcher>> {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let inotify = Arc::new(async_fd::register(inotify)?);
        let waiting = Arc::new(Mutex::new(HashMap::new()));
        let task = tokio::spawn(notify_waiters(inotify.clone(), waiting.clone())).abort_handle();
        Ok(Arc::new(FolderWatcher { inotify, waiting, task }))
    }

    /// Watches a folder. The watch sees every change from now on.
    pub(crate) fn watch(self: &Arc<FolderWatcher>, folder: &Path) -> io::Result<FolderWatch> {
        self.add(folder, WatchFlags::MODIFY | WatchFlags::MOVED_TO | WatchFlags::CREATE)
    }

    /// Watches the writes to files in a folder and the replacement of files, but not the creation of others.
    pub(crate) fn watch_written_files(
        self: &Arc<FolderWatcher>,
        folder: &Path,
    ) -> io::Result<FolderWatch> {
        self.add(folder, WatchFlags::MODIFY | WatchFlags::MOVED_TO)
    }

    fn add(self: &Arc<FolderWatcher>, folder: &Path, flags: WatchFlags) -> io::Result<FolderWatch> {
        let changed = Arc::new(Notify::new());
        // All watches of a folder share one ID, so adding it and the waiter must be one step.
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let id = inotify::add_watch(self.inotify.get_ref(), folder, flags)?;
        waiting.entry(id).or_default().push(Arc::downgrade(&changed));
        Ok(FolderWatch { watcher: self.clone(), id, changed })
    }

    fn remove(&self, id: i32, changed: &Arc<Notify>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(waiters) = waiting.get_mut(&id) else { return };
        waiters.retain(|other| other.as_ptr() != Arc::as_ptr(changed));
        if waiters.is_empty() {
            waiting.remove(&id);
            // Fails if the folder was deleted, which removes its watch.
            let _ = inotify::remove_watch(self.inotify.get_ref(), id);
        }
    }
}

impl Drop for FolderWatcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FolderWatch {
    /// Waits until something has changed since the last call.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Drop for FolderWatch {
    fn drop(&mut self) {
        self.watcher.remove(self.id, &self.changed);
    }
}

/// Reads changes and wakes the tasks that wait for them.
async fn notify_waiters(inotify: Arc<AsyncFd<OwnedFd>>, waiting: Arc<Mutex<Waiters>>) {
    while let Ok(mut ready) = inotify.readable().await {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(inotify.get_ref(), &mut buffer);
        while let Ok(event) = reader.next() {
            let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                // Events were lost, so any folder may have changed.
                notify(waiting.values().flatten());
            } else {
                notify(waiting.get(&event.wd()).into_iter().flatten());
            }
        }
        ready.clear_ready();
    }
}

fn notify<'a>(waiters: impl Iterator<Item = &'a Weak<Notify>>) {
    for changed in waiters.filter_map(Weak::upgrade) {
        changed.notify_one();
    }
}
