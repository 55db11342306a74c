//! Waiting for folders to change. The system allows few inotify instances, so all waits of a
//! process share one.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

use crate::readiness;

/// All folders that are waited for.
#[derive(Debug)]
pub(crate) struct Hub {
    fd: Arc<AsyncFd<OwnedFd>>,
    waiting: Arc<Mutex<Waiting>>,
    task: tokio::task::AbortHandle,
}

type Waiting = HashMap<i32, Vec<Weak<Notify>>>;

/// A folder that is waited for, by one task.
#[derive(Debug)]
pub(crate) struct Watched {
    hub: Arc<Hub>,
    watch: i32,
    changed: Arc<Notify>,
}

impl Hub {
    /// Needs a runtime: changes are read by a task.
    pub(crate) fn start() -> io::Result<Arc<Hub>> {
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let fd = Arc::new(readiness::of(fd)?);
        let waiting = Arc::new(Mutex::new(HashMap::new()));
        let task = tokio::spawn(tell(fd.clone(), waiting.clone())).abort_handle();
        Ok(Arc::new(Hub { fd, waiting, task }))
    }

    /// Changes from now on are not missed.
    pub(crate) fn watch(self: &Arc<Hub>, folder: &Path) -> io::Result<Watched> {
        let what = WatchFlags::MODIFY | WatchFlags::MOVED_TO | WatchFlags::CREATE;
        let changed = Arc::new(Notify::new());
        // The same folder has the same number, so asking and noting must not be torn apart.
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let watch = inotify::add_watch(self.fd.get_ref(), folder, what)?;
        waiting.entry(watch).or_default().push(Arc::downgrade(&changed));
        Ok(Watched { hub: self.clone(), watch, changed })
    }

    fn forget(&self, watch: i32, changed: &Arc<Notify>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(all) = waiting.get_mut(&watch) else { return };
        all.retain(|other| other.as_ptr() != Arc::as_ptr(changed));
        if all.is_empty() {
            waiting.remove(&watch);
            // The folder may be gone already, and its watch with it.
            let _ = inotify::remove_watch(self.fd.get_ref(), watch);
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watched {
    /// Returns when something changed since the last time.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.hub.forget(self.watch, &self.changed);
    }
}

/// Reads changes and tells those who wait for them.
async fn tell(fd: Arc<AsyncFd<OwnedFd>>, waiting: Arc<Mutex<Waiting>>) {
    while let Ok(mut ready) = fd.readable().await {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(fd.get_ref(), &mut buffer);
        while let Ok(event) = reader.next() {
            let lost = event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let one = waiting.get(&event.wd()).filter(|_| !lost);
            let all = waiting.values().filter(|_| lost).chain(one);
            all.flatten().filter_map(Weak::upgrade).for_each(|changed| changed.notify_one());
        }
        ready.clear_ready();
    }
}
