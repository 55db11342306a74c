//! Registers file descriptors with tokio, so that a task can wait for them.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor, so that a task can wait until it is readable. Must be called in a tokio
/// runtime.
#[expect(unsafe_code, reason = "tokio has no safe function for this")]
pub(crate) fn register(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and does not change while it lives, and the `AsyncFd` owns it.
    let registered = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
    Ok(registered?)
}
