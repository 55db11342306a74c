//! `punctual salvage`: replaces a damaged store by a new one with everything that is undamaged.

use anyhow::Context as _;
use punctual_store::{damaged_path, salvage_store};

use crate::args::DataDirArg;
use crate::{check, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints what was lost. The damaged file stays in the data directory as `store.damaged`. The server
must not run. Prefer a recent backup if much was lost.

Example: punctual salvage --data-dir /var/lib/punctual")]
pub(crate) struct SalvageArgs {
    #[command(flatten)]
    data_dir: DataDirArg,
}

pub(crate) fn run(args: &SalvageArgs) -> anyhow::Result<()> {
    let path = args.data_dir.resolve()?.join("store");
    let shown = path.display();
    path.metadata().with_context(|| format!("could not open {shown}"))?;
    let salvage = salvage_store(&path)?;
    if salvage.damage.is_none() {
        return output::print(&format!("{shown} is not damaged; nothing was changed\n"));
    }
    for line in check::describe(&salvage.damage) {
        output::print(&format!("{line}\n"))?;
    }
    let count = salvage.entries.len();
    let kept = damaged_path(&path);
    output::print(&format!("salvaged {count} objects; the damaged store is {}\n", kept.display()))
}
