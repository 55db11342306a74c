//! `punctual validate`: checks manifests as the API server would, and lists the next runs.

mod check;
mod checked_document;
mod checked_kind;
mod report;
mod simple_kind;

use anyhow::bail;
use punctual_api::{Dialect, validate::ValidationOptions};
use punctual_schedule::Zone;

use self::{check::DocumentChecker, checked_document::CheckedDocument};
use crate::{
    args::{Format, ValidateArgs},
    clock,
    manifest::{self, Document, ReadResult},
    output,
};

pub(crate) fn run(args: &ValidateArgs, zone: &Zone) -> anyhow::Result<()> {
    let paths: Vec<_> = args.files.iter().chain(&args.paths).cloned().collect();
    let dialect = if args.strict { Dialect::Strict } else { Dialect::Punctual };
    let checker = DocumentChecker {
        rules: ValidationOptions { zones: zone.zones().clone(), dialect },
        default_zone: zone,
        count: args.count,
        has_warnings: args.warnings,
        now: clock::now(),
    };
    let read = manifest::read(&paths).into_iter();
    let all: Vec<CheckedDocument> = read.map(|document| checker.check(document)).collect();
    match args.output.output {
        Format::Table => output::print(&report::text(&all))?,
        Format::Json => output::print_json(&report::json(&all))?,
    }
    require_no_errors(&all)
}

/// Returns the documents if all are valid, or else one line per error.
pub(crate) fn require_valid(
    all: Vec<ReadResult>,
    zone: &Zone,
) -> Result<Vec<Document>, Vec<String>> {
    let rules = ValidationOptions { zones: zone.zones().clone(), dialect: Dialect::Punctual };
    let now = clock::now();
    let checker = DocumentChecker { rules, default_zone: zone, count: 0, has_warnings: false, now };
    let errors: Vec<String> =
        all.iter().flat_map(|read| report::error_lines(&checker.check(read.clone()))).collect();
    if errors.is_empty() { Ok(all.into_iter().flatten().collect()) } else { Err(errors) }
}

/// Fails if any document has errors, or if there is no document.
fn require_no_errors(all: &[CheckedDocument]) -> anyhow::Result<()> {
    if all.is_empty() {
        bail!("the files contain no documents");
    }
    let invalid = all.iter().filter(|checked| !checked.errors.is_empty()).count();
    if invalid > 0 {
        bail!("{invalid} of {} documents are not valid", all.len());
    }
    Ok(())
}
