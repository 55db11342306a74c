//! File descriptors that a task can wait for.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A descriptor that can be waited for until there is something to read. Needs a runtime.
#[expect(unsafe_code, reason = "the call has no safe form")]
pub(crate) fn of(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and stays the same for as long as it lives, and it is moved in.
    let registered = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
    Ok(registered?)
}
