//! `punctual validate`: checks manifests as the API server would, and lists the next runs.

mod check;
mod checked_document;
mod checked_kind;
mod hint;
mod report;
mod simple_kind;

pub(crate) use self::check::NAME_REQUIRED;

use std::collections::HashMap;

use anyhow::{bail, ensure};
use punctual_api::{Dialect, validate::ValidationOptions};
use punctual_schedule::Zone;
use serde_json::Value;

use self::{
    check::DocumentChecker,
    checked_document::{CheckedDocument, FieldProblem},
};
use crate::{
    args::{Format, ValidateArgs},
    clock,
    manifest::{self, Document, ReadResult, SourceLocation},
    output,
};

pub(crate) fn run(args: &ValidateArgs, zone: &Zone) -> anyhow::Result<()> {
    let paths: Vec<_> = args.files.iter().chain(&args.paths).cloned().collect();
    let dialect = if args.strict { Dialect::Kubernetes } else { Dialect::Punctual };
    let checker = DocumentChecker {
        rules: ValidationOptions { zones: zone.zones().clone(), dialect },
        default_zone: zone,
        count: args.count,
        has_warnings: args.warnings,
        has_blocking_lint: args.warnings,
        now: clock::now(),
        is_for_up: args.up,
    };
    let read = manifest::read(&paths).into_iter();
    let mut all: Vec<CheckedDocument> = read.map(|document| checker.check(document)).collect();
    if args.up {
        reject_duplicates(&mut all);
    }
    match args.output.output {
        Format::Table => output::print(&report::text(&all))?,
        Format::Json => output::print_json(&report::json(&all))?,
    }
    require_no_errors(&all)
}

/// Returns the documents if `punctual up` can apply all of them, or else one line per error.
pub(crate) fn require_valid(
    all: Vec<ReadResult>,
    dialect: Dialect,
    zone: &Zone,
) -> Result<Vec<Document>, Vec<String>> {
    let rules = ValidationOptions { zones: zone.zones().clone(), dialect };
    let checker =
        DocumentChecker { is_for_up: true, ..DocumentChecker::without_slots(rules, zone) };
    let errors: Vec<String> =
        all.iter().flat_map(|read| report::error_lines(&checker.check(read.clone()))).collect();
    if errors.is_empty() { Ok(all.into_iter().flatten().collect()) } else { Err(errors) }
}

/// Checks one object as a server with our extensions does, and returns its warnings.
pub(crate) fn check_object(value: Value, zone: &Zone) -> anyhow::Result<Vec<String>> {
    let location = SourceLocation { file: String::new(), document: None, item: None };
    let document = Document { location, value, duplicates: Vec::new() };
    let rules = ValidationOptions { zones: zone.zones().clone(), dialect: Dialect::Punctual };
    let checker =
        DocumentChecker { has_warnings: true, ..DocumentChecker::without_slots(rules, zone) };
    let checked = checker.check(Ok(document));
    let errors = report::error_lines(&checked);
    ensure!(errors.is_empty(), errors.join("\n"));
    Ok(checked.warnings)
}

/// Adds an error to each object that an earlier document already contains.
fn reject_duplicates(all: &mut [CheckedDocument]) {
    let mut locations: HashMap<String, SourceLocation> = HashMap::new();
    for checked in all {
        let object = &checked.object;
        if object.name.is_empty() {
            continue;
        }
        let key = format!("{}/{}/{}", object.kind, object.namespace, object.name);
        match locations.get(&key) {
            Some(first) => {
                let message = format!("is already in {first}");
                checked.errors.push(FieldProblem::new("", message));
            }
            None => {
                locations.insert(key, checked.location.clone());
            }
        }
    }
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
