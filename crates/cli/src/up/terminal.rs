//! The terminal at standard output: whether there is one, and how large it is.

use std::io::{self, IsTerminal as _};

/// What a terminal shows at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TerminalSize {
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// Of a terminal that does not say.
const DEFAULT_SIZE: TerminalSize = TerminalSize { rows: 24, columns: 80 };

pub(super) fn is_stdout_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The size of the window at this moment.
pub(super) fn size() -> TerminalSize {
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
            TerminalSize { rows: size.ws_row.into(), columns: size.ws_col.into() }
        }
        _ => DEFAULT_SIZE,
    }
}

/// The columns that a line takes, escape sequences for colors left out.
pub(super) fn width(line: &str) -> usize {
    let mut pieces = line.split("\x1b[");
    let first = pieces.next().map_or(0, |text| text.chars().count());
    let behind = |piece: &str| piece.split_once('m').map_or(0, |(_, text)| text.chars().count());
    first + pieces.map(behind).sum::<usize>()
}
