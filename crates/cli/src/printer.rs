//! Writes lines to standard output or standard error.
//!
//! A separate thread writes, because a terminal paused with Ctrl-S or a full pipe must not block the
//! other tasks. If the queue is full, items are dropped and the number of lost lines is printed.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tokio::sync::oneshot;
use tracing_subscriber::fmt::MakeWriter;

/// The maximum number of items that wait to be written. The log of ten thousand runs that start at
/// once fits.
const QUEUED_MAX: usize = 16_384;
/// How long [`Printer::flush`] waits.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

enum OutputItem {
    Text(String),
    /// Reports that all earlier items are written.
    Flush(oneshot::Sender<()>),
}

/// A handle to the writer thread.
#[derive(Clone)]
pub(crate) struct Printer {
    items: SyncSender<OutputItem>,
    lost_lines: Arc<AtomicU64>,
}

impl Printer {
    /// Starts the writer thread. It runs until the process exits.
    pub(crate) fn start(out: impl Write + Send + 'static) -> io::Result<Printer> {
        let (items, queue) = sync_channel(QUEUED_MAX);
        let lost_lines = Arc::new(AtomicU64::new(0));
        let printer = Printer { items, lost_lines: lost_lines.clone() };
        std::thread::Builder::new()
            .name("printer".to_owned())
            .spawn(move || write_items(out, &queue, &lost_lines))?;
        Ok(printer)
    }

    /// Prints complete lines.
    pub(crate) fn print(&self, text: String) {
        if self.items.try_send(OutputItem::Text(text)).is_err() {
            self.lost_lines.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written, or until the timeout.
    pub(crate) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.items.try_send(OutputItem::Flush(done)).is_ok() {
            let _ = tokio::time::timeout(FLUSH_TIMEOUT, flushed).await;
        }
    }
}

/// Prints log lines.
impl<'w> MakeWriter<'w> for Printer {
    type Writer = LogLine<'w>;

    fn make_writer(&'w self) -> LogLine<'w> {
        LogLine(self)
    }
}

/// The writer of one log line.
pub(crate) struct LogLine<'p>(&'p Printer);

impl Write for LogLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.print(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_items(mut out: impl Write, queue: &Receiver<OutputItem>, lost_lines: &AtomicU64) {
    // Errors are ignored because the terminal or pipe may be closed.
    let mut write = |text: &str| drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    while let Ok(item) = queue.recv() {
        let lost = lost_lines.swap(0, Ordering::Relaxed);
        if lost > 0 {
            write(&format!("({lost} lines were dropped because the output was blocked)\n"));
        }
        match item {
            OutputItem::Text(text) => write(&text),
            OutputItem::Flush(done) => drop(done.send(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output that accepts nothing while its lock is held.
    #[derive(Clone, Default)]
    struct BlockedOutput(Arc<std::sync::Mutex<Vec<u8>>>);

    impl Write for BlockedOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_blocked_output_delays_no_caller_and_lost_lines_are_counted() {
        let output = BlockedOutput::default();
        let printer = Printer::start(output.clone()).unwrap();
        let blocked = output.0.lock().unwrap();
        for number in 0..QUEUED_MAX + 100 {
            let mut line = printer.make_writer();
            line.write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        drop(blocked);
        let is_written = || output.0.lock().unwrap().ends_with(b"last\n");
        while !is_written() {
            printer.print("last\n".to_owned());
            printer.flush().await;
        }
        let text = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
        let kept: Vec<usize> = text.lines().filter_map(|line| line.parse().ok()).collect();
        // The writer thread may hold one line that is not queued any more.
        assert!((QUEUED_MAX..=QUEUED_MAX + 1).contains(&kept.len()), "{}", kept.len());
        assert!(kept.iter().copied().eq(0..kept.len()), "the oldest lines are kept, in order");
        let lost = text.lines().filter_map(|line| line.strip_prefix('(')?.split(' ').next());
        let lost: usize = lost.map(|count| count.parse::<usize>().unwrap()).sum();
        // A last line that found the queue full is lost, too.
        assert!(kept.len() + lost >= QUEUED_MAX + 100, "{lost} lines were reported as lost");
    }
}
