//! Answers each line of standard input with a line of output. The length of a line is limited.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use anyhow::{anyhow, bail};

/// A longer line is answered with an error and is not held in memory.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// The answer to one line.
pub(crate) struct LineAnswer {
    pub(crate) text: String,
    /// Whether the line could not be processed.
    pub(crate) is_failure: bool,
}

/// Calls `answer` for every line of standard input that is not blank, and prints the result. Fails at the
/// end of the input if any line failed.
///
/// `answer` receives an error for a line that is too long.
pub(crate) fn answer_each(
    answer: impl Fn(anyhow::Result<Vec<u8>>) -> anyhow::Result<LineAnswer>,
) -> anyhow::Result<()> {
    let mut input = BufReader::new(io::stdin().lock());
    let mut out = BufWriter::new(io::stdout().lock());
    let mut count = 0_u64;
    let mut failures = 0_u64;
    while let Some(line) = next_line(&mut input)? {
        let answer = answer(line)?;
        count += 1;
        failures += u64::from(answer.is_failure);
        out.write_all(answer.text.as_bytes())?;
        // A client may wait for this answer before it sends the next request.
        if input.buffer().is_empty() {
            out.flush()?;
        }
    }
    out.flush()?;
    if failures > 0 {
        bail!("{failures} of {count} lines failed");
    }
    Ok(())
}

/// Formats a value as one line of JSON.
pub(crate) fn to_json_line(value: &impl serde::Serialize) -> anyhow::Result<String> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    Ok(line)
}

/// Returns the next line that is not blank, an error for a line that is too long, or `None` at the end
/// of the input.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<anyhow::Result<Vec<u8>>>> {
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.len() as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
            return Ok(Some(Err(anyhow!("the line is longer than {LINE_BYTES_MAX} bytes"))));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(Ok(line)));
        }
    }
}
