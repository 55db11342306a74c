//! `punctual completions`.

use clap::CommandFactory;

use crate::{
    args::{Args, Completions},
    output,
};

pub(crate) fn run(args: &Completions) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "punctual", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
