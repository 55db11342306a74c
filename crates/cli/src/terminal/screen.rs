//! The full screen of the live view: takes the terminal over, and gives it back however the process ends.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

/// Switches to the alternate screen, hides the cursor, and ends the wrapping of long lines.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
/// Undoes [`ENTER`], and resets colors.
const LEAVE: &str = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
/// How long a terminal that accepts no output may delay the end of the process.
const WRITE_TIMEOUT: Duration = Duration::from_millis(300);

/// The settings of the terminal before it was taken over; `None` while it is not.
static SAVED: Mutex<Option<Termios>> = Mutex::new(None);

/// Whether this process may use the terminal: a shell has not put it into the background.
pub(crate) fn is_foreground() -> bool {
    tcgetpgrp(io::stdout()).is_ok_and(|group| group == getpgrp())
}

/// Takes the terminal over. Keys are no longer shown, and are read one by one. Ctrl-C and Ctrl-Z still send signals, so
/// they work even if the view is stuck.
pub(crate) fn enter() -> io::Result<()> {
    let mut saved = SAVED.lock().unwrap_or_else(PoisonError::into_inner);
    if saved.is_some() {
        return Ok(());
    }
    let before = tcgetattr(io::stdout())?;
    tcsetattr(io::stdout(), OptionalActions::Now, &key_settings(&before))?;
    *saved = Some(before);
    write_within_timeout(ENTER);
    Ok(())
}

/// Takes the terminal over again after the process was stopped: a shell has used it meanwhile.
pub(crate) fn enter_again() -> io::Result<()> {
    let saved = SAVED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = saved.as_ref() {
        tcsetattr(io::stdout(), OptionalActions::Now, &key_settings(before))?;
        write_within_timeout(ENTER);
        return Ok(());
    }
    drop(saved);
    enter()
}

/// Gives the terminal back if it was taken over.
pub(crate) fn restore() {
    let Some(before) = SAVED.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    // The shell has its own settings while this process is in the background, and would stop it.
    if is_foreground() {
        write_within_timeout(LEAVE);
        let _ = tcsetattr(io::stdout(), OptionalActions::Now, &before);
    }
}

fn key_settings(before: &Termios) -> Termios {
    let mut settings = before.clone();
    settings.make_raw();
    settings.local_modes.insert(LocalModes::ISIG);
    settings.output_modes = before.output_modes;
    settings.special_codes[SpecialCodeIndex::VMIN] = 1;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
    // Ctrl-\ would end the process without restoring the terminal.
    settings.special_codes[SpecialCodeIndex::VQUIT] = 0;
    settings
}

/// Writes to the terminal, past the buffer of standard output, whose lock may be held by a blocked writer.
fn write_within_timeout(text: &str) {
    let stdout = io::stdout();
    let timeout = Timespec::try_from(WRITE_TIMEOUT).ok();
    let mut polled = [PollFd::new(&stdout, PollFlags::OUT)];
    if poll(&mut polled, timeout.as_ref()).is_ok_and(|ready| ready > 0) {
        let _ = rustix::io::write(&stdout, text.as_bytes());
    }
}
