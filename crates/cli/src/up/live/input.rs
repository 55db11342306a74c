//! Reads keys from the terminal on a thread of its own.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::sync::mpsc::UnboundedSender;

use super::keys::{Key, KeyDecoder};
use crate::terminal;

/// How long the rest of an escape sequence may take to arrive.
const SEQUENCE_TIMEOUT: Duration = Duration::from_millis(50);

/// Whether keys are for this process. A read by a process in the background would stop it.
#[derive(Debug, Default)]
pub(super) struct InputGate {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl InputGate {
    pub(super) fn set(&self, is_open: bool) {
        *self.is_open.lock().unwrap_or_else(PoisonError::into_inner) = is_open;
        self.changed.notify_all();
    }

    fn wait_until_open(&self) {
        let is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(is_open, |is_open| !*is_open));
    }
}

/// Returns the terminal from which keys are read: standard input, or the controlling terminal if standard input is a
/// manifest.
pub(in crate::up) fn open_terminal() -> Option<OwnedFd> {
    if io::stdin().is_terminal() {
        return io::stdin().as_fd().try_clone_to_owned().ok();
    }
    File::open("/dev/tty").ok().map(OwnedFd::from)
}

/// Starts the thread. It ends with the terminal or the process.
pub(super) fn start(
    terminal: OwnedFd,
    gate: Arc<InputGate>,
    keys: UnboundedSender<Key>,
) -> io::Result<()> {
    let reading = move || {
        let mut decoder = KeyDecoder::default();
        while let Some(read) = read_keys(&terminal, &gate, &mut decoder) {
            for key in read {
                if keys.send(key).is_err() {
                    return;
                }
            }
        }
    };
    std::thread::Builder::new().name("live-view-keys".to_owned()).spawn(reading)?;
    Ok(())
}

/// Waits for keys. Returns `None` when the terminal is closed.
fn read_keys(terminal: &OwnedFd, gate: &InputGate, decoder: &mut KeyDecoder) -> Option<Vec<Key>> {
    let mut timeout = None;
    if decoder.is_incomplete() {
        timeout = Timespec::try_from(SEQUENCE_TIMEOUT).ok();
    }
    let mut polled = [PollFd::new(terminal, PollFlags::IN)];
    match poll(&mut polled, timeout.as_ref()) {
        Ok(0) => return Some(decoder.finish().into_iter().collect()),
        Ok(_) => {}
        Err(Errno::INTR) => return Some(Vec::new()),
        Err(_) => return None,
    }
    gate.wait_until_open();
    if !terminal::is_foreground() {
        gate.set(false);
        return Some(Vec::new());
    }
    let mut bytes = [0; 1024];
    match rustix::io::read(terminal, &mut bytes) {
        Ok(0) => None,
        Ok(count) => Some(decoder.push(bytes.get(..count).unwrap_or_default())),
        Err(Errno::INTR | Errno::AGAIN) => Some(Vec::new()),
        Err(_) => None,
    }
}
