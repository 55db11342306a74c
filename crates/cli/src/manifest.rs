//! Reads manifests from files, directories and standard input into JSON values.
//!
//! All commands use this reader. It handles YAML, JSON and lists, and records the location of each
//! document, but does not interpret documents. A document that cannot be parsed is returned as an error
//! beside the other documents.

mod chunks;
mod files;
mod folder;
mod json;
mod list;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use punctual_api::{json_tree::SizeBudget, yaml};
use serde_json::Value;

use self::chunks::Chunk;
pub(crate) use self::files::ManifestFile;
pub(crate) use self::folder::{FolderListing, is_manifest_name, list as list_path};

/// The maximum number of documents read from one file.
const DOCUMENTS_MAX: usize = 50_000;

/// A location in the input: a file, one of its documents, and one item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceLocation {
    pub(crate) file: String,
    /// `None` for the whole file.
    pub(crate) document: Option<DocumentPosition>,
    /// The number of the list item, from 1.
    pub(crate) item: Option<usize>,
}

/// The position of a document in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DocumentPosition {
    /// The number of the document, from 1.
    pub(crate) number: usize,
    /// The first line of the document, from 1.
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

/// One document, or one item of a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document {
    pub(crate) location: SourceLocation,
    pub(crate) value: Value,
    /// The paths of duplicate fields. `value` has the last occurrence.
    pub(crate) duplicates: Vec<String>,
}

/// A file or document that cannot be read.
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

/// A document, or the reason why it cannot be read.
pub(crate) type ReadResult = Result<Document, ReadError>;

/// Reads all documents of the files in order. Folders are read with their subfolders. The path `-` is standard input.
pub(crate) fn read(paths: &[PathBuf]) -> Vec<ReadResult> {
    paths.iter().flat_map(|path| read_path(path)).collect()
}

fn read_path(path: &Path) -> Vec<ReadResult> {
    let FolderListing { files, folders, errors } = list_path(path, None);
    let mut read: Vec<ReadResult> = errors.into_iter().map(Err).collect();
    if files.is_empty() && read.is_empty() && !folders.is_empty() {
        let location = SourceLocation::whole_file(&path.display().to_string());
        let message = "no .yaml, .yml or .json file in it".into();
        read.push(Err(ReadError { location, message }));
    }
    read.extend(files.iter().flat_map(read_file));
    read
}

/// Reads the text of one file. The path `-` is standard input.
pub(crate) fn read_text_file(path: &Path) -> anyhow::Result<String> {
    ManifestFile::named(path).read_text()
}

/// Reads the documents of one file.
pub(crate) fn read_file(file: &ManifestFile) -> Vec<ReadResult> {
    match file.read_text() {
        Ok(text) => read_text(&file.name, &text),
        Err(error) => {
            let location = SourceLocation::whole_file(&file.name);
            vec![Err(ReadError { location, message: error.to_string() })]
        }
    }
}

/// Parses the documents of a file. Empty documents are skipped and not counted.
fn read_text(file: &str, text: &str) -> Vec<ReadResult> {
    let mut budget = SizeBudget::default();
    let mut documents = Vec::new();
    let mut number = 0;
    for chunk in chunks::split(text) {
        for parsed in parse(&chunk, &mut budget) {
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
                Err(error) => {
                    documents.push(Err(ReadError { location, message: error.to_string() }));
                }
            }
        }
    }
    documents
}

/// A document's value and the paths of its duplicate fields.
type ParsedContent = (Value, Vec<String>);

/// The result of parsing one document.
struct ParsedDocument {
    line: usize,
    content: anyhow::Result<ParsedContent>,
}

/// Parses one chunk. A JSON chunk may contain several documents.
fn parse(chunk: &Chunk<'_>, budget: &mut SizeBudget) -> Vec<ParsedDocument> {
    if let Some(rest) = chunk.separator_suffix() {
        // kubectl's error text.
        let error = anyhow!("invalid Yaml document separator: {rest}");
        return vec![ParsedDocument { line: chunk.first_line(), content: Err(error) }];
    }
    if chunk.looks_like_json() {
        let parsed = json::read(chunk, budget);
        // Text that starts with a brace but is not JSON may be YAML in flow style.
        if !matches!(parsed.as_slice(), [ParsedDocument { content: Err(_), .. }]) {
            return parsed;
        }
        return match yaml::parse_document(chunk.text, chunk.lines_before, budget) {
            Ok(content) => vec![ParsedDocument { line: chunk.first_line(), content: Ok(content) }],
            Err(_) => parsed,
        };
    }
    let content = yaml::parse_document(chunk.text, chunk.lines_before, budget).map_err(|error| {
        match unquoted_schedule(chunk) {
            Some(hint) => anyhow!("{error}; {hint}"),
            None => anyhow!("{error}"),
        }
    });
    if matches!(&content, Ok((Value::Null, _))) {
        return Vec::new();
    }
    vec![ParsedDocument { line: chunk.first_line(), content }]
}

/// Finds a schedule that YAML takes for an alias or a reserved character, because it has no quotes.
fn unquoted_schedule(chunk: &Chunk<'_>) -> Option<String> {
    chunk.text.lines().enumerate().find_map(|(index, line)| {
        let value = line.trim().strip_prefix("schedule:")?;
        let schedule = value.split(" #").next().unwrap_or_default().trim();
        let line = chunk.lines_before + index + 1;
        let hint = format!("line {line}: write the schedule in quotes: schedule: {schedule:?}");
        schedule.starts_with(['*', '@', '%', '?']).then_some(hint)
    })
}

impl SourceLocation {
    fn whole_file(file: &str) -> SourceLocation {
        SourceLocation { file: file.into(), document: None, item: None }
    }
}

#[cfg(test)]
mod tests;
