//! `punctual validate`: what a server would say to manifests, and when what is valid runs next.

mod check;
mod findings;
mod kinds;
mod report;
mod small;

use anyhow::bail;
use punctual_api::{Dialect, validate::Rules};
use punctual_schedule::Zone;

use self::{check::Checker, findings::Checked};
use crate::{
    args::{Format, Validate},
    clock,
    manifest::{self, Document, Read},
    output,
};

pub(crate) fn run(args: &Validate, zone: &Zone) -> anyhow::Result<()> {
    let paths: Vec<_> = args.files.iter().chain(&args.paths).cloned().collect();
    let dialect = if args.strict { Dialect::Strict } else { Dialect::Punctual };
    let checker = Checker {
        rules: Rules { zones: zone.zones().clone(), dialect },
        default_zone: zone,
        count: args.count,
        warns: args.warnings,
        now: clock::now(),
    };
    let read = manifest::read(&paths).into_iter();
    let all: Vec<Checked> = read.map(|document| checker.check(document)).collect();
    match args.output.output {
        Format::Table => output::print(&report::text(&all))?,
        Format::Json => output::print_json(&report::json(&all))?,
    }
    verdict(&all)
}

/// The documents, or everything that is wrong with any of them, a line each.
pub(crate) fn sound(all: Vec<Read>, zone: &Zone) -> Result<Vec<Document>, Vec<String>> {
    let rules = Rules { zones: zone.zones().clone(), dialect: Dialect::Punctual };
    let now = clock::now();
    let checker = Checker { rules, default_zone: zone, count: 0, warns: false, now };
    let faults: Vec<String> =
        all.iter().flat_map(|read| report::faults(&checker.check(read.clone()))).collect();
    if faults.is_empty() { Ok(all.into_iter().flatten().collect()) } else { Err(faults) }
}

/// The exit status: any error is a failure, and so is having checked nothing.
fn verdict(all: &[Checked]) -> anyhow::Result<()> {
    if all.is_empty() {
        bail!("no document in the files given");
    }
    let wrong = all.iter().filter(|checked| !checked.errors.is_empty()).count();
    if wrong > 0 {
        bail!("{wrong} of {} documents not valid", all.len());
    }
    Ok(())
}
