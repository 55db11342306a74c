//! The settings of a unit file.

use super::UnitSource;
use crate::importer::SourceLine;

/// A unit of systemd: the settings in its file and in its drop-in files.
#[derive(Clone, Debug)]
pub(super) struct UnitFile {
    /// The name, such as `backup.timer`.
    pub(super) name: String,
    settings: Vec<UnitSetting>,
}

/// One setting, a line `key=value`.
#[derive(Clone, Debug)]
pub(super) struct UnitSetting {
    pub(super) section: String,
    pub(super) key: String,
    pub(super) value: String,
    pub(super) source: SourceLine,
}

impl UnitFile {
    pub(super) fn new(name: &str) -> UnitFile {
        UnitFile { name: name.into(), settings: Vec::new() }
    }

    /// Reads the settings of a file, and returns the lines that are neither settings nor section headers.
    pub(super) fn read(&mut self, file: &UnitSource) -> Vec<SourceLine> {
        let mut problems = Vec::new();
        let mut section = String::new();
        for LogicalLine { number, text } in logical_lines(&file.text) {
            let source = SourceLine { file: file.file.clone(), line: number, text: text.clone() };
            let header = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            if let Some(header) = header {
                section = header.into();
            } else if let Some((key, value)) = text.split_once('=') {
                let key = key.trim().to_owned();
                let value = value.trim().to_owned();
                self.settings.push(UnitSetting { section: section.clone(), key, value, source });
            } else {
                problems.push(source);
            }
        }
        problems
    }

    /// Returns the settings of a section.
    pub(super) fn section<'a>(&'a self, section: &'a str) -> impl Iterator<Item = &'a UnitSetting> {
        self.settings.iter().filter(move |setting| setting.section == section)
    }

    /// Returns all values of a setting that may be repeated. An empty value removes the values before it.
    pub(super) fn list<'a>(&'a self, section: &'a str, key: &str) -> Vec<&'a UnitSetting> {
        let mut values = Vec::new();
        for setting in self.section(section).filter(|setting| setting.key == key) {
            if setting.value.is_empty() {
                values.clear();
            } else {
                values.push(setting);
            }
        }
        values
    }

    /// Returns the last value of a setting.
    pub(super) fn value<'a>(&'a self, section: &'a str, key: &str) -> Option<&'a str> {
        self.list(section, key).last().map(|setting| setting.value.as_str())
    }

    /// Returns whether a setting is on.
    pub(super) fn is_on(&self, section: &str, key: &str) -> bool {
        let value = self.value(section, key).unwrap_or_default().to_ascii_lowercase();
        matches!(value.as_str(), "1" | "yes" | "y" | "true" | "t" | "on")
    }
}

/// A line with its continuations.
struct LogicalLine {
    number: usize,
    text: String,
}

/// Joins continued lines, and leaves out comments and blank lines.
fn logical_lines(text: &str) -> Vec<LogicalLine> {
    let mut lines: Vec<LogicalLine> = Vec::new();
    let mut is_continued = false;
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.starts_with(['#', ';']) || trimmed.is_empty() && !is_continued {
            continue;
        }
        let content = trimmed.strip_suffix('\\');
        let part = content.unwrap_or(trimmed).trim_end();
        if let Some(last) = lines.last_mut()
            && is_continued
        {
            last.text.push(' ');
            last.text.push_str(part);
        } else {
            lines.push(LogicalLine { number: index + 1, text: part.into() });
        }
        is_continued = content.is_some();
    }
    lines
}

/// Splits the output of `systemctl cat`, which has the path of each file as a comment before it.
pub(super) fn split_concatenated(source: &UnitSource) -> Vec<UnitSource> {
    let mut parts = vec![UnitSource { file: source.file.clone(), text: String::new() }];
    for (index, line) in source.text.split_inclusive('\n').enumerate() {
        let path = line.strip_prefix("# /").map(str::trim).filter(|path| !path.contains(' '));
        let is_header = path.is_some_and(|path| unit_name(path).is_some());
        if let Some(path) = path
            && is_header
        {
            // Blank lines keep the line numbers of the input.
            parts.push(UnitSource { file: format!("/{path}"), text: "\n".repeat(index) });
        }
        if let Some(part) = parts.last_mut() {
            part.text.push_str(line);
        }
    }
    parts.retain(|part| part.file != source.file || !part.text.trim().is_empty());
    parts
}

/// Returns the name of the unit that a file belongs to. None if the file is no timer or service.
pub(super) fn unit_name(path: &str) -> Option<String> {
    let is_unit = |name: &str| name.ends_with(".timer") || name.ends_with(".service");
    let mut parts = path.rsplit('/');
    let file = parts.next()?;
    if is_unit(file) {
        return Some(file.into());
    }
    let folder = parts.next()?.strip_suffix(".d")?;
    (file.ends_with(".conf") && is_unit(folder)).then(|| folder.into())
}
