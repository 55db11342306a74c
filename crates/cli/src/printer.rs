//! Writes permanent text to standard output or standard error, and below it a frame that is redrawn
//! in place.
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

use crate::terminal::{self, TerminalSize};

/// The maximum number of items that wait to be written. The log of ten thousand runs that start at
/// once fits.
const QUEUED_MAX: usize = 16_384;
/// How long [`Printer::flush`] waits.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

enum OutputItem {
    Text(String),
    Frame(String),
    /// Turns the current frame into permanent text.
    Freeze,
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
        let screen = Screen { out, frame: String::new() };
        std::thread::Builder::new()
            .name("printer".to_owned())
            .spawn(move || screen.run(&queue, &lost_lines))?;
        Ok(printer)
    }

    /// Prints complete lines of permanent text.
    pub(crate) fn print(&self, text: String) {
        if self.items.try_send(OutputItem::Text(text)).is_err() {
            self.lost_lines.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Draws a frame in place of the previous one.
    pub(crate) fn draw_frame(&self, frame: String) {
        // A dropped frame is harmless because another one follows.
        let _ = self.items.try_send(OutputItem::Frame(frame));
    }

    /// Turns the last frame into permanent text.
    pub(crate) fn freeze_frame(&self) {
        let _ = self.items.try_send(OutputItem::Freeze);
    }

    /// Waits until everything is written, or until the timeout.
    pub(crate) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.items.try_send(OutputItem::Flush(done)).is_ok() {
            let _ = tokio::time::timeout(FLUSH_TIMEOUT, flushed).await;
        }
    }
}

/// Prints log lines above the frame.
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

/// The output and the frame that it currently shows.
struct Screen<W> {
    out: W,
    frame: String,
}

impl<W: Write> Screen<W> {
    fn run(mut self, queue: &Receiver<OutputItem>, lost_lines: &AtomicU64) {
        while let Ok(item) = queue.recv() {
            let lost = lost_lines.swap(0, Ordering::Relaxed);
            if lost > 0 {
                self.print(
                    &format!("({lost} lines were dropped because the output was blocked)\n"),
                    terminal::size(),
                );
            }
            self.write_item(item, terminal::size());
        }
    }

    fn write_item(&mut self, item: OutputItem, size: TerminalSize) {
        match item {
            OutputItem::Text(text) => self.print(&text, size),
            OutputItem::Frame(frame) if frame == self.frame => {}
            OutputItem::Frame(frame) => self.replace("", frame, size),
            OutputItem::Freeze => self.freeze(),
            OutputItem::Flush(done) => drop(done.send(())),
        }
    }

    fn print(&mut self, text: &str, size: TerminalSize) {
        self.replace(text, self.frame.clone(), size);
    }

    fn freeze(&mut self) {
        if !std::mem::take(&mut self.frame).is_empty() {
            // Clears the line below the frame, where the terminal echoes typed characters such as ^C.
            self.write("\r\x1b[K");
        }
    }

    /// Erases the frame, prints permanent text and draws the next frame in one write.
    fn replace(&mut self, text: &str, frame: String, size: TerminalSize) {
        let shown = format!("{}{text}{frame}", erase_sequence(&self.frame, size));
        self.write(&shown);
        self.frame = frame;
    }

    /// Writes and flushes. Errors are ignored because the terminal or pipe may be closed.
    fn write(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

/// Returns the escape sequence that erases a frame. Counts wrapped lines, because the window may be
/// narrower than when the frame was drawn.
fn erase_sequence(frame: &str, size: TerminalSize) -> String {
    let rows = |line: &str| terminal::width(line).div_ceil(size.columns.max(1)).max(1);
    match frame.lines().map(rows).sum::<usize>() {
        0 => String::new(),
        rows => format!("\r\x1b[{rows}A\x1b[J"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: TerminalSize = TerminalSize { rows: 24, columns: 10 };

    fn written(items: Vec<OutputItem>) -> String {
        let mut screen = Screen { out: Vec::new(), frame: String::new() };
        for item in items {
            screen.write_item(item, SIZE);
        }
        String::from_utf8(screen.out).unwrap()
    }

    #[test]
    fn text_is_printed_above_the_frame() {
        let frame = |text: &str| OutputItem::Frame(text.into());
        let items = vec![
            OutputItem::Text("a\n".into()),
            frame("one\ntwo\n"),
            frame("one\ntwo\n"),
            OutputItem::Text("b\n".into()),
            OutputItem::Freeze,
            OutputItem::Text("c\n".into()),
        ];
        let want = "a\none\ntwo\n\r\x1b[2A\x1b[Jb\none\ntwo\n\r\x1b[Kc\n";
        assert_eq!(written(items), want);
    }

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

    #[test]
    fn erasing_counts_wrapped_lines() {
        assert_eq!(erase_sequence("0123456789\n01234567890\n\n", SIZE), "\r\x1b[4A\x1b[J");
        assert_eq!(erase_sequence("\x1b[1m0123456789\x1b[0m\n", SIZE), "\r\x1b[1A\x1b[J");
        assert_eq!(erase_sequence("", SIZE), "");
    }
}
