//! Captures what the controllers log during a test.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use tokio::sync::Notify;
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::OptionalWriter;

/// Longer than any step takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);

thread_local! {
    /// What the test of this thread captures.
    static CAPTURED: RefCell<Option<(Level, LogLines)>> = const { RefCell::new(None) };
}

/// The lines that this thread logs until it is dropped. All tasks of a test run in its thread.
pub(crate) struct CapturedLog {
    lines: LogLines,
}

#[derive(Clone, Default)]
struct LogLines {
    lines: Arc<Mutex<Vec<String>>>,
    changed: Arc<Notify>,
}

/// Writes a line to the captured log of the thread that logs it.
struct ThreadWriter;

impl<'a> MakeWriter<'a> for ThreadWriter {
    type Writer = OptionalWriter<LogLines>;

    fn make_writer(&'a self) -> Self::Writer {
        OptionalWriter::none()
    }

    fn make_writer_for(&'a self, line: &Metadata<'_>) -> Self::Writer {
        CAPTURED.with_borrow(|captured| match captured {
            Some((level, lines)) if line.level() <= level => OptionalWriter::some(lines.clone()),
            _ => OptionalWriter::none(),
        })
    }
}

/// Sets one subscriber for all threads. A subscriber for each thread lets tests that start together disable
/// each other's lines, because tracing caches for the whole process which lines are enabled.
fn set_global_subscriber() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::DEBUG)
            .with_ansi(false)
            .without_time()
            .with_writer(ThreadWriter)
            .finish();
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
}

impl Drop for CapturedLog {
    fn drop(&mut self) {
        CAPTURED.set(None);
    }
}

impl CapturedLog {
    /// Captures the lines of this level and of more severe ones.
    pub(crate) fn start(level: Level) -> CapturedLog {
        set_global_subscriber();
        let lines = LogLines::default();
        CAPTURED.set(Some((level, lines.clone())));
        CapturedLog { lines }
    }

    /// The lines that contain a text.
    pub(crate) fn find(&self, text: &str) -> Vec<String> {
        let lines = self.lines.lines.lock().unwrap();
        lines.iter().filter(|line| line.contains(text)).cloned().collect()
    }

    /// Waits for a line that contains a text.
    pub(crate) async fn wait_for(&self, text: &str) -> String {
        let waiting = async {
            loop {
                if let Some(line) = self.find(text).pop() {
                    return line;
                }
                self.lines.changed.notified().await;
            }
        };
        let found = tokio::time::timeout(TIMEOUT, waiting).await;
        found.unwrap_or_else(|_| panic!("no {text:?} in {:#?}", self.find("")))
    }
}

impl Write for LogLines {
    /// The subscriber writes each line with one call.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes).trim().to_owned();
        self.lines.lock().unwrap().push(line);
        self.changed.notify_one();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
