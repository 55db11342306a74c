//! `punctual check`: reads and decodes every object and every index page of a store or a backup.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use punctual_server::find_unreadable;
use punctual_store::{Damage, Salvage, read_store};

use crate::args::DataDirArg;
use crate::{backup, output};

/// The first bytes of a backup.
const BACKUP_MAGIC: &[u8] = b"punctual-backup";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Changes nothing. The server must not run; to check the objects of a running server, check a
backup.

Exit status: 0 if nothing is damaged, 1 if something is damaged or cannot be read.

Examples:
  punctual check
  punctual check /var/backups/punctual-2026-11-17.backup")]
pub(crate) struct CheckArgs {
    /// Backup or store to check [default: the store in the data directory]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    data_dir: DataDirArg,
}

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<()> {
    let path = match &args.file {
        Some(file) => file.clone(),
        None => args.data_dir.resolve()?.join("store"),
    };
    let shown = path.display();
    let contents = read(&path)?;
    let mut findings = describe(&contents.damage);
    let unreadable = find_unreadable(&contents.snapshot());
    findings.extend(unreadable.iter().map(|object| format!("unreadable object {object}")));
    for finding in &findings {
        output::print(&format!("{finding}\n"))?;
    }
    if !findings.is_empty() {
        bail!("{shown} is damaged; restore a backup or run `punctual salvage`");
    }
    let count = contents.entries.len();
    output::print(&format!(
        "{shown}: {count} objects at revision {}, no damage\n",
        contents.revision
    ))
}

/// Reads a backup or a store.
fn read(path: &Path) -> anyhow::Result<Salvage> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("could not open {shown}"))?;
    let mut magic = Vec::new();
    file.take(BACKUP_MAGIC.len() as u64)
        .read_to_end(&mut magic)
        .with_context(|| format!("could not read {shown}"))?;
    if magic == BACKUP_MAGIC {
        return backup::read_file(path);
    }
    Ok(read_store(path)?)
}

/// Returns one line for each damage.
pub(crate) fn describe(damage: &Damage) -> Vec<String> {
    let mut lines = Vec::new();
    for row in &damage.lost {
        let key = row.key.as_deref().unwrap_or("an object whose name is unreadable");
        lines.push(format!("lost {key} (revision {})", row.revision));
    }
    if damage.missing > 0 {
        lines.push(format!("lost {} stored values whose names are unknown", damage.missing));
    }
    for key in &damage.unproven {
        lines.push(format!("found {key}, which may have been deleted before the damage"));
    }
    if damage.may_have_earlier_values {
        lines
            .push("some objects may have an earlier state, because later ones are lost".to_owned());
    }
    if damage.archive_lost > 0 {
        lines.push(format!("lost {} values of the slot ledger", damage.archive_lost));
    }
    if damage.is_archive_index_damaged {
        lines.push("pages of the slot ledger are damaged; deleted records may be back".to_owned());
    }
    if damage.is_index_damaged {
        lines.push("pages of the index are damaged".to_owned());
    }
    lines
}
