//! Standard output that a full-screen view can take over: lines printed meanwhile are kept for the view.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// How many lines are kept. The oldest are dropped.
const LINES_MAX: usize = 1_000;

/// Lines that were printed while a view had the screen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Console {
    state: Arc<Mutex<ConsoleState>>,
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct ConsoleState {
    is_taken: bool,
    /// The lines since the view took the screen over.
    lines: VecDeque<Arc<str>>,
    /// How many of them the view has not read.
    unread: usize,
}

impl Console {
    /// Returns the output for a printer.
    pub(crate) fn output(&self) -> ConsoleOutput {
        ConsoleOutput { console: self.clone(), incomplete: String::new() }
    }

    /// Keeps lines from now on instead of writing them.
    pub(crate) fn take_over(&self) {
        self.lock().is_taken = true;
    }

    /// Writes lines again from now on. Returns those that were kept.
    pub(crate) fn give_back(&self) -> Vec<Arc<str>> {
        let mut state = self.lock();
        state.is_taken = false;
        state.unread = 0;
        state.lines.drain(..).collect()
    }

    /// Returns the lines that were printed since the last call.
    pub(crate) fn read(&self) -> Vec<Arc<str>> {
        let mut state = self.lock();
        let read = state.lines.len() - state.unread.min(state.lines.len());
        state.unread = 0;
        state.lines.iter().skip(read).cloned().collect()
    }

    /// Waits until a line is printed.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Keeps a line if a view has the screen.
    fn keep(&self, line: &str) -> bool {
        let mut state = self.lock();
        if !state.is_taken {
            return false;
        }
        if state.lines.len() >= LINES_MAX {
            state.lines.pop_front();
        }
        state.lines.push_back(line.into());
        state.unread = (state.unread + 1).min(LINES_MAX);
        drop(state);
        self.changed.notify_one();
        true
    }

    fn lock(&self) -> MutexGuard<'_, ConsoleState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes to standard output, or keeps lines for the view.
pub(crate) struct ConsoleOutput {
    console: Console,
    incomplete: String,
}

impl Write for ConsoleOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.incomplete.push_str(&String::from_utf8_lossy(bytes));
        let mut text = std::mem::take(&mut self.incomplete);
        self.incomplete = text.split_off(text.rfind('\n').map_or(0, |end| end + 1));
        let mut written = String::new();
        for line in text.split_inclusive('\n') {
            if !self.console.keep(line.trim_end_matches('\n')) {
                written.push_str(line);
            }
        }
        io::stdout().write_all(written.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_only_while_a_view_has_the_screen() {
        let console = Console::default();
        let mut output = console.output();
        console.take_over();
        output.write_all(b"one\ntw").unwrap();
        output.write_all(b"o\n").unwrap();
        assert_eq!(console.read(), ["one".into(), "two".into()]);
        assert!(console.read().is_empty());
        output.write_all(b"three\n").unwrap();
        assert_eq!(console.read(), ["three".into()]);
        let all = ["one", "two", "three"].map(Arc::from);
        assert_eq!(console.give_back(), all, "all are printed after the view");
        assert!(!console.keep("four"));
    }

    #[test]
    fn the_oldest_lines_are_dropped() {
        let console = Console::default();
        console.take_over();
        for number in 0..LINES_MAX + 10 {
            console.keep(&number.to_string());
        }
        assert_eq!(console.read().len(), LINES_MAX);
        assert_eq!(&*console.give_back()[0], "10");
    }
}
