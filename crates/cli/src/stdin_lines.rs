//! Lines of standard input, however long or broken they are.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

/// A longer line is answered with an error and not kept in memory.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// Answers every line of standard input that is not blank. A line that cannot be read is an error.
pub(crate) fn answer_each(
    answer: impl Fn(Result<Vec<u8>, String>) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let mut input = BufReader::new(io::stdin().lock());
    let mut out = BufWriter::new(io::stdout().lock());
    while let Some(line) = next_line(&mut input)? {
        out.write_all(answer(line)?.as_bytes())?;
        // Whoever waits for this answer before asking again must get it now.
        if input.buffer().is_empty() {
            out.flush()?;
        }
    }
    out.flush()?;
    Ok(())
}

/// A value as one line of JSON.
pub(crate) fn to_json_line(value: &impl serde::Serialize) -> anyhow::Result<String> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    Ok(line)
}

/// The next line, or what is wrong with it. None at the end of the input.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>, String>>> {
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.len() as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
            return Ok(Some(Err(format!("the line is longer than {LINE_BYTES_MAX} bytes"))));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(Ok(line)));
        }
    }
}
