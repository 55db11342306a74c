//! `punctual restore`: creates the store of an empty data directory from a backup.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use punctual_store::restore_backup;

use crate::args::DataDirArg;
use crate::{backup, data_dir, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The data directory must not have a store. Stop the server and move an old data directory away
first. The resource versions continue far after those of the backup, so that clients list all
objects again.

The backup does not contain runs that started after it, so their slots are pending again. The latest
one of each CronJob starts, and with CatchUp all of them.

Example: punctual restore /var/backups/punctual-2026-11-17.backup")]
pub(crate) struct RestoreArgs {
    /// Backup to read
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    data_dir: DataDirArg,
}

pub(crate) fn run(args: &RestoreArgs) -> anyhow::Result<()> {
    let backup = backup::read_file(&args.file)?;
    let data_dir = args.data_dir.resolve()?;
    data_dir::prepare(&data_dir)?;
    let path = data_dir.join("store");
    let shown = data_dir.display();
    if path.try_exists().with_context(|| format!("could not access {shown}"))? {
        bail!("{shown} already has a store; stop the server and move it away, or set --data-dir");
    }
    restore_backup(&path, &backup)?;
    let count = backup.entries.len();
    let revision = backup.revision;
    output::print(&format!("restored {count} objects of revision {revision} to {shown}\n"))
}
