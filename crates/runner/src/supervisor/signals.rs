//! Sets the dispositions of signals.

use rustix::process::{Resource, Rlimit, setrlimit};

/// More words than the kernel's description of an action has.
const ACTION_WORDS: usize = 16;
/// The size of the kernel's set of signals.
const SIGNAL_SET_BYTES: usize = if cfg!(target_arch = "mips64") { 16 } else { 8 };

/// Gives every signal its default disposition. A program keeps the signals ignored that its parent ignored:
/// under `nohup` or in the background of a shell, containers would not see SIGHUP, SIGINT or SIGQUIT.
#[expect(unsafe_code, reason = "there is no safe function for this")]
pub(super) fn reset_dispositions() {
    // The default action, without flags and mask: zeros in the layout of every architecture.
    let default_action = [0_u64; ACTION_WORDS];
    let no_previous = std::ptr::null_mut::<u64>();
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the kernel reads an action, which is smaller than the array, and writes none. The default
        // disposition is no code of ours. The call fails without effect for SIGKILL and SIGSTOP. The function
        // of the C library refuses the signals that it uses itself, which are not in use here: they end threads
        // and change users of all threads, and this process has one.
        unsafe {
            let number = libc::SYS_rt_sigaction;
            libc::syscall(number, signal, default_action.as_ptr(), no_previous, SIGNAL_SET_BYTES);
        }
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
pub(super) fn exit_by_signal(signal: i32) -> ! {
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    // SAFETY: the default disposition is no code of ours, and the signal is sent to this process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    // The signal did not end the process.
    std::process::exit(128_i32.saturating_add(signal))
}
