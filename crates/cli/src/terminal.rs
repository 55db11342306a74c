//! Properties of the terminal at standard output, such as its size.

mod screen;

use std::io::{self, IsTerminal as _};

pub(crate) use self::screen::{enter as enter_screen, enter_again, is_foreground, restore};

/// The size of a terminal window in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalSize {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

/// The size assumed for a terminal that does not report one.
const DEFAULT_SIZE: TerminalSize = TerminalSize { rows: 24, columns: 80 };

pub(crate) fn is_stdout_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Returns the current size of the window.
pub(crate) fn size() -> TerminalSize {
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
            TerminalSize { rows: size.ws_row.into(), columns: size.ws_col.into() }
        }
        _ => DEFAULT_SIZE,
    }
}

/// The standard streams that were terminals when the process started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InheritedTerminals {
    has_stdin: bool,
    has_stdout: bool,
    has_stderr: bool,
}

impl InheritedTerminals {
    pub(crate) fn find() -> InheritedTerminals {
        InheritedTerminals {
            has_stdin: io::stdin().is_terminal(),
            has_stdout: io::stdout().is_terminal(),
            has_stderr: io::stderr().is_terminal(),
        }
    }

    /// Whether one of them was closed, because its window or connection was.
    pub(crate) fn are_gone(self) -> bool {
        let now = InheritedTerminals::find();
        (self.has_stdin && !now.has_stdin)
            || (self.has_stdout && !now.has_stdout)
            || (self.has_stderr && !now.has_stderr)
    }
}
