//! Parses manifests in JSON: one object, or several in sequence.

use anyhow::anyhow;
use punctual_api::json_tree::{NumberForm, SizeBudget, TreeSeed};
use serde::de::DeserializeSeed;
use serde_json::{Deserializer, value::RawValue};

use super::{ParsedContent, ParsedDocument, chunks::Chunk};

/// Parses the objects of a chunk. Stops at the first invalid object, because the start of the next one
/// is then unknown.
pub(super) fn read(chunk: &Chunk<'_>, budget: &mut SizeBudget) -> Vec<ParsedDocument> {
    let body = chunk.body();
    let mut stream = Deserializer::from_str(body).into_iter::<&RawValue>();
    let mut lines = LineCounter { text: body, offset: 0, line: chunk.lines_before_body() + 1 };
    let mut parsed = Vec::new();
    loop {
        let line = lines.line_after(stream.byte_offset());
        let content = match stream.next() {
            None => return parsed,
            Some(Ok(raw)) => read_one(raw, line, budget),
            Some(Err(error)) => Err(positioned_error(&error, chunk.lines_before_body())),
        };
        let is_broken = content.is_err();
        parsed.push(ParsedDocument { line, content });
        if is_broken {
            return parsed;
        }
    }
}

fn read_one(raw: &RawValue, line: usize, budget: &mut SizeBudget) -> anyhow::Result<ParsedContent> {
    let mut reader = Deserializer::from_str(raw.get());
    let mut duplicates = Vec::new();
    let value = TreeSeed::root(NumberForm::AsWritten, &mut duplicates, budget)
        .deserialize(&mut reader)
        .map_err(|error| positioned_error(&error, line - 1))?;
    Ok((value, duplicates))
}

/// Converts a parse error. The position is relative to the file.
fn positioned_error(error: &serde_json::Error, lines_before: usize) -> anyhow::Error {
    let line = error.line();
    let column = error.column();
    let text = error.to_string();
    let message = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    anyhow!("JSON: {message} at line {}, column {column}", lines_before + line)
}

/// Counts lines incrementally, so that the cost does not grow with the number of objects.
struct LineCounter<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
}

impl LineCounter<'_> {
    /// Returns the line of the first non-blank character after an offset.
    fn line_after(&mut self, offset: usize) -> usize {
        let rest = self.text.get(offset..).unwrap_or_default();
        let content = offset + (rest.len() - rest.trim_start().len());
        let passed = self.text.get(self.offset..content).unwrap_or_default();
        self.line += passed.matches('\n').count();
        self.offset = content;
        self.line
    }
}
