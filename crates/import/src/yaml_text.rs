//! Writes the results of an import as a stream of YAML documents.

use serde_json::Value;

use crate::importer::{ImportItem, SourceLine};

/// A manifest that cannot be written as YAML.
#[derive(Debug, thiserror::Error)]
#[error("the object of {line} cannot be written as YAML: {source}")]
pub struct YamlTextError {
    line: SourceLine,
    source: serde_saphyr::ser::Error,
}

/// Returns the manifests as YAML. The source line and the warnings of each are comments before it. A
/// line without an object is a comment only.
pub fn to_yaml(items: &[ImportItem]) -> Result<String, YamlTextError> {
    let mut text = String::new();
    let mut has_document = false;
    for item in items {
        let comments = comments(item);
        if item.objects.is_empty() {
            text.push_str(&comments);
            continue;
        }
        for object in &item.objects {
            if has_document {
                text.push_str("---\n");
            }
            has_document = true;
            text.push_str(&comments);
            text.push_str(&document(&object.manifest, &item.source)?);
        }
    }
    Ok(text)
}

fn document(manifest: &Value, source: &SourceLine) -> Result<String, YamlTextError> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let mut text = serde_saphyr::to_string_with_options(manifest, options)
        .map_err(|error| YamlTextError { line: source.clone(), source: error })?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn comments(item: &ImportItem) -> String {
    let mut text = comment(&format!("{}: {}", item.source, item.source.text));
    for warning in &item.warnings {
        text.push_str(&comment(&format!("warning: {warning}")));
    }
    text
}

/// Returns a comment of one line. Control characters and other line breaks are escaped.
fn comment(text: &str) -> String {
    let mut escaped = String::from("# ");
    for letter in text.trim_end().chars() {
        let is_break = matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}');
        if is_break || letter.is_control() && letter != '\t' {
            escaped.extend(letter.escape_default());
        } else {
            escaped.push(letter);
        }
    }
    escaped.push('\n');
    escaped
}
