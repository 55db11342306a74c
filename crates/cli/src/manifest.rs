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

use punctual_api::{tree::Tally, yaml};
use serde_json::Value;

use self::chunks::Chunk;

/// What comes behind so many documents of one file is not read.
const DOCUMENTS_MAX: usize = 50_000;

/// Where something stands: in a file, in one of its documents, in one item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: String,
    /// None for the file as a whole.
    pub(crate) document: Option<Position>,
    /// The item of a list, counted from 1.
    pub(crate) item: Option<usize>,
}

/// A document of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// Counted from 1.
    pub(crate) number: usize,
    /// Line of the file on which it begins, counted from 1.
    pub(crate) line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(Position { number, line }) = self.document {
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
    pub(crate) place: Place,
    pub(crate) value: Value,
    /// Paths of the fields that are given twice; the value has the last.
    pub(crate) duplicates: Vec<String>,
}

/// What could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub(crate) place: Place,
    pub(crate) why: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.why)
    }
}

impl std::error::Error for Unreadable {}

/// A document, or why there is none.
pub(crate) type Read = Result<Document, Unreadable>;

/// Everything in the files, in the order of the paths and of their documents. `-` is standard
/// input.
pub(crate) fn read(paths: &[PathBuf]) -> Vec<Read> {
    paths.iter().flat_map(|path| files::below(path)).flat_map(read_file).collect()
}

fn read_file(file: Result<files::File, Unreadable>) -> Vec<Read> {
    match file {
        Ok(file) => match file.text() {
            Ok(text) => read_text(&file.name, &text),
            Err(why) => vec![Err(Unreadable { place: Place::whole(&file.name), why })],
        },
        Err(unreadable) => vec![Err(unreadable)],
    }
}

/// The documents of a text; those that are empty are passed over and not counted.
fn read_text(file: &str, text: &str) -> Vec<Read> {
    let mut tally = Tally::default();
    let mut documents = Vec::new();
    let mut number = 0;
    for chunk in chunks::of(text) {
        for parsed in parse(&chunk, &mut tally) {
            number += 1;
            let position = Position { number, line: parsed.line };
            let place = Place { file: file.into(), document: Some(position), item: None };
            if number > DOCUMENTS_MAX {
                let why = format!("the file has more than {DOCUMENTS_MAX} documents");
                documents.push(Err(Unreadable { place, why }));
                return documents;
            }
            match parsed.content {
                Ok((value, duplicates)) => {
                    documents.extend(list::opened(Document { place, value, duplicates }));
                }
                Err(why) => documents.push(Err(Unreadable { place, why })),
            }
        }
    }
    documents
}

/// A tree and the paths of the fields that are given twice.
type Content = (Value, Vec<String>);

/// What was found at a line.
struct Parsed {
    line: usize,
    content: Result<Content, String>,
}

/// The document of a chunk, or the several of a chunk that is JSON.
fn parse(chunk: &Chunk<'_>, tally: &mut Tally) -> Vec<Parsed> {
    if let Some(rest) = chunk.odd_separator() {
        let why = format!("invalid Yaml document separator: {rest}");
        return vec![Parsed { line: chunk.first_line(), content: Err(why) }];
    }
    if chunk.looks_like_json() {
        let parsed = json::read(chunk, tally);
        // What starts with a brace may be YAML all the same, if it is no JSON from the start.
        if !matches!(parsed.as_slice(), [Parsed { content: Err(_), .. }]) {
            return parsed;
        }
        return match yaml::read(chunk.text, chunk.lines_before, tally) {
            Ok(content) => vec![Parsed { line: chunk.first_line(), content: Ok(content) }],
            Err(_) => parsed,
        };
    }
    let content = yaml::read(chunk.text, chunk.lines_before, tally);
    if matches!(&content, Ok((Value::Null, _))) {
        return Vec::new();
    }
    vec![Parsed { line: chunk.first_line(), content }]
}

impl Place {
    fn whole(file: &str) -> Place {
        Place { file: file.into(), document: None, item: None }
    }
}

#[cfg(test)]
mod tests;
