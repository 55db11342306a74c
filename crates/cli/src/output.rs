//! Writes text and JSON to standard output and errors to standard error.

use std::io::{self, Write};

/// Writes text to standard output and flushes it.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    print_bytes(text.as_bytes())
}

/// Writes bytes to standard output and flushes it.
pub(crate) fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// Writes a value to standard output as indented JSON.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print(&text)
}

/// Writes a value to standard output as YAML.
pub(crate) fn print_yaml(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    print(&serde_saphyr::to_string_with_options(value, options)?)
}

/// Writes a line to standard error. A failure is ignored because no other output is left to report it.
pub(crate) fn print_error(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Escapes control characters. Text from manifests must not break lines or control the terminal.
pub(crate) fn one_line(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            escaped.extend(letter.escape_default());
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Cuts a text in the middle, so that its beginning and its end stay readable.
pub(crate) fn cut_middle(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width || width == 0 {
        return text.to_owned();
    }
    let kept = width - 1;
    let end = kept / 2;
    let start: String = text.chars().take(kept - end).collect();
    let end: String = text.chars().skip(length - end).collect();
    format!("{start}…{end}")
}

/// Whether the reader of standard output closed the pipe.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// Formats rows as aligned columns, two spaces apart.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn table_aligns_columns_and_trims_trailing_spaces() {
        let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
        let text = super::table(&[row(["NAME", "WHEN", ""]), row(["a", "tomorrow", ""])]);
        assert_eq!(text, "NAME  WHEN\na     tomorrow\n");
    }
}
