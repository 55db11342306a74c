//! JSON: one object, or several behind one another.

use punctual_api::json_tree::{NumberForm, SizeBudget, TreeSeed};
use serde::de::DeserializeSeed;
use serde_json::{Deserializer, value::RawValue};

use super::{ParsedContent, ParsedDocument, chunks::Chunk};

/// The objects up to the end, or up to the first that is broken: behind it nothing is certain.
pub(super) fn read(chunk: &Chunk<'_>, tally: &mut SizeBudget) -> Vec<ParsedDocument> {
    let body = chunk.body();
    let mut stream = Deserializer::from_str(body).into_iter::<&RawValue>();
    let mut lines = LineCounter { text: body, offset: 0, line: chunk.lines_before_body() + 1 };
    let mut parsed = Vec::new();
    loop {
        let line = lines.line_after(stream.byte_offset());
        let content = match stream.next() {
            None => return parsed,
            Some(Ok(raw)) => read_one(raw, line, tally),
            Some(Err(error)) => Err(message_with_position(&error, chunk.lines_before_body())),
        };
        let is_broken = content.is_err();
        parsed.push(ParsedDocument { line, content });
        if is_broken {
            return parsed;
        }
    }
}

fn read_one(raw: &RawValue, line: usize, tally: &mut SizeBudget) -> Result<ParsedContent, String> {
    let mut reader = Deserializer::from_str(raw.get());
    let mut duplicates = Vec::new();
    let value = TreeSeed::root(NumberForm::AsWritten, &mut duplicates, tally)
        .deserialize(&mut reader)
        .map_err(|error| message_with_position(&error, line - 1))?;
    Ok((value, duplicates))
}

/// The message with the position in the file.
fn message_with_position(error: &serde_json::Error, lines_before: usize) -> String {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let message = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    format!("JSON: {message} at line {}, column {column}", lines_before + line)
}

/// Counts lines as it goes, so that many objects cost no more than one.
struct LineCounter<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
}

impl LineCounter<'_> {
    /// The line of what follows an offset and the blanks behind it.
    fn line_after(&mut self, offset: usize) -> usize {
        let rest = self.text.get(offset..).unwrap_or_default();
        let content = offset + (rest.len() - rest.trim_start().len());
        let passed = self.text.get(self.offset..content).unwrap_or_default();
        self.line += passed.matches('\n').count();
        self.offset = content;
        self.line
    }
}
