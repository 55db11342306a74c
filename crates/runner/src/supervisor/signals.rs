//! Sets the dispositions of signals.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Gives every signal its default disposition. A program keeps the signals ignored that its parent ignored:
/// under `nohup` or in the background of a shell, containers would not see SIGHUP, SIGINT or SIGQUIT.
#[expect(unsafe_code, reason = "there is no safe function for this")]
pub(super) fn reset_dispositions() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the default disposition is no code of ours. The call fails without effect for SIGKILL,
        // SIGSTOP and the signals of the C library.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Ignores every signal but SIGCHLD, without which no exit status of a child is kept.
#[expect(unsafe_code, reason = "there is no safe function for this")]
pub(super) fn ignore_all() {
    for signal in (1..=libc::SIGRTMAX()).filter(|signal| *signal != libc::SIGCHLD) {
        // SAFETY: an ignored signal runs no code of ours. The call fails without effect for SIGKILL,
        // SIGSTOP and the signals of the C library.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Ends this process by a signal, without a core file of its own.
#[expect(unsafe_code, reason = "there is no safe function for this")]
pub(super) fn die_of(signal: i32) -> ! {
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    // SAFETY: the default disposition is no code of ours, and the signal is sent to this process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    // The signal did not end the process.
    std::process::exit(128_i32.saturating_add(signal))
}
