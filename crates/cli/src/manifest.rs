//! Manifests from files, directories and standard input, as JSON trees.
//!
//! One reader for every command. It knows YAML, JSON and lists, and where each document stands;
//! what a document means is not its business. What cannot be read is a value beside what can: one
//! broken document does not hide the others.

mod chunks;
mod files;
mod json;
mod list;

use std::{fmt, path::PathBuf};

use punctual_api::{json_tree::SizeBudget, yaml};
use serde_json::Value;

use self::chunks::Chunk;

/// What comes behind so many documents of one file is not read.
const DOCUMENTS_MAX: usize = 50_000;

/// Where something stands: in a file, in one of its documents, in one item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceLocation {
    pub(crate) file: String,
    /// None for the file as a whole.
    pub(crate) document: Option<DocumentPosition>,
    /// The item of a list, counted from 1.
    pub(crate) item: Option<usize>,
}

/// A document of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DocumentPosition {
    /// Counted from 1.
    pub(crate) number: usize,
    /// Line of the file on which it begins, counted from 1.
    pub(crate) line: usize,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(DocumentPosition { number, line }) = self.document {
            write!(f, ", document {number} (line {line})")?;
        }
        match self.item {
            Some(item) => write!(f, ", item {item}"),
            None => Ok(()),
        }
    }
}

/// A document, or an item of one that is a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document {
    pub(crate) location: SourceLocation,
    pub(crate) value: Value,
    /// Paths of the fields that are given twice; the value has the last.
    pub(crate) duplicates: Vec<String>,
}

/// What could not be read, and message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadError {
    pub(crate) location: SourceLocation,
    pub(crate) message: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}

impl std::error::Error for ReadError {}

/// A document, or message there is none.
pub(crate) type ReadResult = Result<Document, ReadError>;

/// Everything in the files, in the order of the paths and of their documents. `-` is standard
/// input.
pub(crate) fn read(paths: &[PathBuf]) -> Vec<ReadResult> {
    paths.iter().flat_map(|path| files::list(path)).flat_map(read_file).collect()
}

fn read_file(file: Result<files::ManifestFile, ReadError>) -> Vec<ReadResult> {
    match file {
        Ok(file) => match file.read_text() {
            Ok(text) => read_text(&file.name, &text),
            Err(message) => {
                vec![Err(ReadError { location: SourceLocation::whole_file(&file.name), message })]
            }
        },
        Err(read_error) => vec![Err(read_error)],
    }
}

/// The documents of a text; those that are empty are passed over and not counted.
fn read_text(file: &str, text: &str) -> Vec<ReadResult> {
    let mut tally = SizeBudget::default();
    let mut documents = Vec::new();
    let mut number = 0;
    for chunk in chunks::split(text) {
        for parsed in parse(&chunk, &mut tally) {
            number += 1;
            let position = DocumentPosition { number, line: parsed.line };
            let location =
                SourceLocation { file: file.into(), document: Some(position), item: None };
            if number > DOCUMENTS_MAX {
                let message = format!("the file has more than {DOCUMENTS_MAX} documents");
                documents.push(Err(ReadError { location, message }));
                return documents;
            }
            match parsed.content {
                Ok((value, duplicates)) => {
                    documents.extend(list::expand(Document { location, value, duplicates }));
                }
                Err(message) => documents.push(Err(ReadError { location, message })),
            }
        }
    }
    documents
}

/// A tree and the paths of the fields that are given twice.
type ParsedContent = (Value, Vec<String>);

/// What was found at a line.
struct ParsedDocument {
    line: usize,
    content: Result<ParsedContent, String>,
}

/// The document of a chunk, or the several of a chunk that is JSON.
fn parse(chunk: &Chunk<'_>, tally: &mut SizeBudget) -> Vec<ParsedDocument> {
    if let Some(rest) = chunk.separator_suffix() {
        let message = format!("invalid Yaml document separator: {rest}");
        return vec![ParsedDocument { line: chunk.first_line(), content: Err(message) }];
    }
    if chunk.looks_like_json() {
        let parsed = json::read(chunk, tally);
        // What starts with a brace may be YAML all the same, if it is no JSON from the start.
        if !matches!(parsed.as_slice(), [ParsedDocument { content: Err(_), .. }]) {
            return parsed;
        }
        return match yaml::parse_document(chunk.text, chunk.lines_before, tally) {
            Ok(content) => vec![ParsedDocument { line: chunk.first_line(), content: Ok(content) }],
            Err(_) => parsed,
        };
    }
    let content = yaml::parse_document(chunk.text, chunk.lines_before, tally);
    if matches!(&content, Ok((Value::Null, _))) {
        return Vec::new();
    }
    vec![ParsedDocument { line: chunk.first_line(), content }]
}

impl SourceLocation {
    fn whole_file(file: &str) -> SourceLocation {
        SourceLocation { file: file.into(), document: None, item: None }
    }
}

#[cfg(test)]
mod tests;
