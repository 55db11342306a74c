//! The output formats of the commands, and the names of objects in outputs.

use clap::ValueEnum;
use punctual_api::CronJobKind;
use serde::Serialize;

use crate::output;

/// The formats of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Aligned text that fits the terminal
    Table,
    /// The same with further columns, and nothing cut
    Wide,
    /// JSON, for programs
    Json,
    /// YAML, for programs
    Yaml,
    /// Names only, one per line
    Name,
}

/// The formats of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ObjectFormat {
    /// Text, for people
    Text,
    /// JSON, for programs
    Json,
    /// YAML, for programs
    Yaml,
}

/// The formats of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HistoryFormat {
    /// Aligned text that fits the terminal
    Table,
    /// The same with further columns, and nothing cut
    Wide,
    /// JSON, for programs
    Json,
    /// YAML, for programs
    Yaml,
    /// Comma-separated values with a header
    Csv,
}

impl ObjectFormat {
    /// Prints a value, or its text.
    pub(super) fn print(
        self,
        value: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        match self {
            ObjectFormat::Text => output::print(&text()),
            ObjectFormat::Json => output::print_json(value),
            ObjectFormat::Yaml => output::print_yaml(value),
        }
    }
}

/// Returns the name of an object as kubectl prints it: `cronjob.batch/backup`.
pub(super) fn object_name(kind: CronJobKind, name: &str) -> String {
    format!("{}.{}/{name}", kind.kind().to_lowercase(), kind.group())
}

/// Quotes a cell of a CSV line where that is necessary. A cell that a spreadsheet would evaluate gets an apostrophe.
pub(super) fn csv_cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_cells_are_quoted_and_are_no_formulas() {
        for (text, cell) in [
            ("plain", "plain"),
            ("-3", "-3"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ] {
            assert_eq!(csv_cell(text), cell);
        }
    }
}
