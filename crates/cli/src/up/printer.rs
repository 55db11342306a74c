//! Standard output: text that stays, and below it a frame that is drawn over.
//!
//! A thread of its own writes, since a terminal that is held with Ctrl-S or a pipe that nobody
//! reads must not hold up anything else. What it cannot keep up with is dropped, and it says so.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tokio::sync::oneshot;
use tracing_subscriber::fmt::MakeWriter;

use super::terminal::{self, TerminalSize};

/// Pieces that may wait to be written.
const QUEUED_MAX: usize = 4096;
/// How long the last items may take.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

enum OutputItem {
    Text(String),
    Frame(String),
    /// The frame stays as it is, and what comes goes below it.
    Freeze,
    /// Everything before this is written.
    Flushed(oneshot::Sender<()>),
}

/// A handle to the thread that writes.
#[derive(Clone)]
pub(super) struct Printer {
    items: SyncSender<OutputItem>,
    lost: Arc<AtomicU64>,
}

impl Printer {
    /// Starts the thread. It ends with the process.
    pub(super) fn start() -> io::Result<Printer> {
        let (items, queue) = sync_channel(QUEUED_MAX);
        let lost = Arc::new(AtomicU64::new(0));
        let printer = Printer { items, lost: lost.clone() };
        let screen = Screen { out: io::stdout(), frame: String::new() };
        std::thread::Builder::new()
            .name("printer".to_owned())
            .spawn(move || screen.run(&queue, &lost))?;
        Ok(printer)
    }

    /// Text that stays; whole lines.
    pub(super) fn text(&self, text: String) {
        if self.items.try_send(OutputItem::Text(text)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What is shown below all text from now on. There is always a next one.
    pub(super) fn frame(&self, frame: String) {
        let _ = self.items.try_send(OutputItem::Frame(frame));
    }

    /// No more frames: the last one becomes text.
    pub(super) fn freeze(&self) {
        let _ = self.items.try_send(OutputItem::Freeze);
    }

    /// Waits until everything is written, within reason.
    pub(super) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.items.try_send(OutputItem::Flushed(done)).is_ok() {
            let _ = tokio::time::timeout(FLUSH_TIMEOUT, flushed).await;
        }
    }
}

/// Log lines go above the frame.
impl<'w> MakeWriter<'w> for Printer {
    type Writer = LogLine<'w>;

    fn make_writer(&'w self) -> LogLine<'w> {
        LogLine(self)
    }
}

/// One line of the log on its way.
pub(super) struct LogLine<'p>(&'p Printer);

impl Write for LogLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.text(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is on the screen.
struct Screen<W> {
    out: W,
    frame: String,
}

impl<W: Write> Screen<W> {
    fn run(mut self, queue: &Receiver<OutputItem>, lost: &AtomicU64) {
        while let Ok(item) = queue.recv() {
            let lost = lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                self.add(&format!("({lost} lines could not be written)\n"), terminal::size());
            }
            self.take(item, terminal::size());
        }
    }

    fn take(&mut self, item: OutputItem, size: TerminalSize) {
        match item {
            OutputItem::Text(text) => self.add(&text, size),
            OutputItem::Frame(frame) if frame == self.frame => {}
            OutputItem::Frame(frame) => self.replace("", frame, size),
            OutputItem::Freeze => self.freeze(),
            OutputItem::Flushed(done) => drop(done.send(())),
        }
    }

    fn add(&mut self, text: &str, size: TerminalSize) {
        self.replace(text, self.frame.clone(), size);
    }

    fn freeze(&mut self) {
        if !std::mem::take(&mut self.frame).is_empty() {
            // Below the frame the terminal has echoed what was typed, such as ^C.
            self.write("\r\x1b[K");
        }
    }

    /// Takes the frame off, adds text that stays, and draws the next frame, in one write.
    fn replace(&mut self, text: &str, frame: String, size: TerminalSize) {
        let shown = format!("{}{text}{frame}", erase_sequence(&self.frame, size));
        self.write(&shown);
        self.frame = frame;
    }

    /// Whoever looked at it may have gone; there is nobody else to tell.
    fn write(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

/// What takes a frame off the screen. A window that has become narrower has broken its lines.
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
        items.into_iter().for_each(|item| screen.take(item, SIZE));
        String::from_utf8(screen.out).unwrap()
    }

    #[test]
    fn text_goes_above_the_frame() {
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

    #[test]
    fn a_frame_is_erased_by_the_rows_that_it_takes_now() {
        assert_eq!(erase_sequence("0123456789\n01234567890\n\n", SIZE), "\r\x1b[4A\x1b[J");
        assert_eq!(erase_sequence("\x1b[1m0123456789\x1b[0m\n", SIZE), "\r\x1b[1A\x1b[J");
        assert_eq!(erase_sequence("", SIZE), "");
    }
}
