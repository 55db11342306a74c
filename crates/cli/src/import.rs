//! `punctual import`: prints manifests for crontabs, systemd timers and dumped Kubernetes objects.

pub(crate) mod args;
mod sources;

use std::path::Path;

use anyhow::{Context as _, bail};
use punctual_import::{ImportItem, ImportOptions, Importer, UserTable};
use punctual_schedule::Zone;

use self::args::{ImportArgs, ImportSource};
use crate::{clock, manifest, output, tzdata};

/// The users of this machine.
const PASSWD: &str = "/etc/passwd";

/// Prints the manifests. `is_zone_explicit` says whether the user chose the zone.
pub(crate) fn run(args: &ImportArgs, zone: &Zone, is_zone_explicit: bool) -> anyhow::Result<()> {
    tzdata::require_name(zone)?;
    let mut importer = Importer::new(ImportOptions {
        kind: args.kind.kind(),
        namespace: args.namespace.clone(),
        image: args.image.clone(),
        zone: zone.clone(),
        is_zone_explicit,
        users: users(args.passwd.as_deref())?,
        now: clock::now(),
    });
    match args.source {
        ImportSource::Crontab => sources::read_crontabs(args, &mut importer)?,
        ImportSource::Systemd => sources::read_units(args, &mut importer)?,
        ImportSource::Kubernetes => sources::read_objects(args, &mut importer)?,
    }
    let items = importer.finish();
    let warnings = print_warnings(&items);
    if args.strict && warnings > 0 {
        bail!("{warnings} warnings; no manifests are printed, because --strict is set");
    }
    if items.iter().all(|item| item.objects.is_empty()) {
        output::print_error("the input has nothing to import");
    }
    output::print(&punctual_import::to_yaml(&items)?)
}

fn users(file: Option<&Path>) -> anyhow::Result<UserTable> {
    let text = match file {
        Some(file) => manifest::read_text_file(file)
            .with_context(|| format!("could not read {}", file.display()))?,
        // Without users the import still works, and warns where it needs one.
        None => manifest::read_text_file(Path::new(PASSWD)).unwrap_or_default(),
    };
    Ok(UserTable::parse(&text))
}

/// Prints one line per warning and returns their number.
fn print_warnings(items: &[ImportItem]) -> usize {
    let mut count = 0;
    for item in items {
        for warning in &item.warnings {
            let line = format!("warning: {}: {warning}", item.source);
            output::print_error(&output::one_line(&line));
            count += 1;
        }
    }
    count
}
