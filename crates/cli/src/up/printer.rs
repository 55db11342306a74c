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

use super::terminal::{self, Size};

/// Pieces that may wait to be written.
const WAITING_MAX: usize = 4096;
/// How long the last pieces may take.
const FAREWELL: Duration = Duration::from_secs(1);

enum Piece {
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
    pieces: SyncSender<Piece>,
    lost: Arc<AtomicU64>,
}

impl Printer {
    /// Starts the thread. It ends with the process.
    pub(super) fn start() -> io::Result<Printer> {
        let (pieces, waiting) = sync_channel(WAITING_MAX);
        let lost = Arc::new(AtomicU64::new(0));
        let printer = Printer { pieces, lost: lost.clone() };
        let canvas = Canvas { out: io::stdout(), frame: String::new() };
        std::thread::Builder::new()
            .name("printer".to_owned())
            .spawn(move || canvas.run(&waiting, &lost))?;
        Ok(printer)
    }

    /// Text that stays; whole lines.
    pub(super) fn text(&self, text: String) {
        if self.pieces.try_send(Piece::Text(text)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What is shown below all text from now on. There is always a next one.
    pub(super) fn frame(&self, frame: String) {
        let _ = self.pieces.try_send(Piece::Frame(frame));
    }

    /// No more frames: the last one becomes text.
    pub(super) fn freeze(&self) {
        let _ = self.pieces.try_send(Piece::Freeze);
    }

    /// Waits until everything is written, within reason.
    pub(super) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.pieces.try_send(Piece::Flushed(done)).is_ok() {
            let _ = tokio::time::timeout(FAREWELL, flushed).await;
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
struct Canvas<W> {
    out: W,
    frame: String,
}

impl<W: Write> Canvas<W> {
    fn run(mut self, waiting: &Receiver<Piece>, lost: &AtomicU64) {
        while let Ok(piece) = waiting.recv() {
            let lost = lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                self.add(&format!("({lost} lines could not be written)\n"), terminal::size());
            }
            self.take(piece, terminal::size());
        }
    }

    fn take(&mut self, piece: Piece, size: Size) {
        match piece {
            Piece::Text(text) => self.add(&text, size),
            Piece::Frame(frame) if frame == self.frame => {}
            Piece::Frame(frame) => self.replace("", frame, size),
            Piece::Freeze => self.freeze(),
            Piece::Flushed(done) => drop(done.send(())),
        }
    }

    fn add(&mut self, text: &str, size: Size) {
        self.replace(text, self.frame.clone(), size);
    }

    fn freeze(&mut self) {
        if !std::mem::take(&mut self.frame).is_empty() {
            // Below the frame the terminal has echoed what was typed, such as ^C.
            self.write("\r\x1b[K");
        }
    }

    /// Takes the frame off, adds text that stays, and draws the next frame, in one write.
    fn replace(&mut self, text: &str, frame: String, size: Size) {
        let shown = format!("{}{text}{frame}", erasure(&self.frame, size));
        self.write(&shown);
        self.frame = frame;
    }

    /// Whoever looked at it may have gone; there is nobody else to tell.
    fn write(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

/// What takes a frame off the screen. A window that has become narrower has broken its lines.
fn erasure(frame: &str, size: Size) -> String {
    let rows = |line: &str| terminal::width(line).div_ceil(size.columns.max(1)).max(1);
    match frame.lines().map(rows).sum::<usize>() {
        0 => String::new(),
        rows => format!("\r\x1b[{rows}A\x1b[J"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { rows: 24, columns: 10 };

    fn written(pieces: Vec<Piece>) -> String {
        let mut canvas = Canvas { out: Vec::new(), frame: String::new() };
        pieces.into_iter().for_each(|piece| canvas.take(piece, SIZE));
        String::from_utf8(canvas.out).unwrap()
    }

    #[test]
    fn text_goes_above_the_frame() {
        let frame = |text: &str| Piece::Frame(text.into());
        let pieces = vec![
            Piece::Text("a\n".into()),
            frame("one\ntwo\n"),
            frame("one\ntwo\n"),
            Piece::Text("b\n".into()),
            Piece::Freeze,
            Piece::Text("c\n".into()),
        ];
        let want = "a\none\ntwo\n\r\x1b[2A\x1b[Jb\none\ntwo\n\r\x1b[Kc\n";
        assert_eq!(written(pieces), want);
    }

    #[test]
    fn a_frame_is_erased_by_the_rows_that_it_takes_now() {
        assert_eq!(erasure("0123456789\n01234567890\n\n", SIZE), "\r\x1b[4A\x1b[J");
        assert_eq!(erasure("\x1b[1m0123456789\x1b[0m\n", SIZE), "\r\x1b[1A\x1b[J");
        assert_eq!(erasure("", SIZE), "");
    }
}
