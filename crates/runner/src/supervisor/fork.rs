//! Forks this process.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::Pid;

/// The exit status of a child that panicked.
const PANICKED: i32 = 128;

/// Forks this process, which must have one thread: a child has no other, so a lock that another thread holds
/// is never released there. Returns `None` in the child.
#[expect(unsafe_code, reason = "there is no safe function for this")]
pub(super) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: this process has one thread, so the child has all that it needs.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Forks this process, which must have one thread, into a sibling: the parent of the child is the parent of
/// this process. Returns `None` in the child.
#[expect(unsafe_code, reason = "there is no safe function for this")]
pub(super) fn fork_sibling() -> io::Result<Option<Pid>> {
    let flags = libc::c_long::from(libc::CLONE_PARENT | libc::SIGCHLD);
    let zero: libc::c_long = 0;
    // The order of the first two arguments depends on the architecture.
    let [first, second] = if cfg!(target_arch = "s390x") { [zero, flags] } else { [flags, zero] };
    // SAFETY: without further flags and without a stack, this is a fork: the child has a copy of all memory,
    // and this process has one thread. The C library does not learn of the child and keeps the ID of this
    // thread for it; it uses that ID only to compare the owners of locks, and no other thread of the child has
    // it.
    match unsafe { libc::syscall(libc::SYS_clone, first, second, zero, zero, zero) } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(i32::try_from(pid).ok().and_then(Pid::from_raw)),
    }
}

/// Runs the work of a forked child and exits with its status. The child never returns to the code of its
/// parent, and the exit runs no code that the parent registered.
#[expect(unsafe_code, reason = "there is no safe function for this")]
pub(super) fn run_child(work: impl FnOnce() -> i32) -> ! {
    let status = catch_unwind(AssertUnwindSafe(work)).unwrap_or(PANICKED);
    // SAFETY: the call ends this process.
    unsafe { libc::_exit(status) }
}
