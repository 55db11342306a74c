//! `punctual completions`: prints a shell completion script.

use clap::CommandFactory;

use crate::{
    args::{CliArgs, CompletionsArgs},
    output,
};

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CliArgs::command(), "punctual", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
