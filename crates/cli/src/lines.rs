//! Lines of standard input, however long or broken they are.

use std::io::{self, BufRead, BufReader, Read};

/// A longer line is answered with an error and not kept in memory.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// The lines of an input that are not blank.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
}

impl<R: Read> Lines<R> {
    pub(crate) fn of(input: R) -> Lines<R> {
        Lines { input: BufReader::new(input) }
    }

    /// Whether reading on would wait: whoever waits for our answer must get it first.
    pub(crate) fn is_drained(&self) -> bool {
        self.input.buffer().is_empty()
    }

    /// The next line, or what is wrong with it. None at the end of the input.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Result<Vec<u8>, String>>> {
        loop {
            let mut line = Vec::new();
            let mut bounded = self.input.by_ref().take(LINE_BYTES_MAX);
            if bounded.read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            if line.len() as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
                self.input.skip_until(b'\n')?;
                return Ok(Some(Err(format!("the line is longer than {LINE_BYTES_MAX} bytes"))));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(Ok(line)));
            }
        }
    }
}
