//! `punctual completions`: prints a shell completion script.

use anyhow::Context as _;
use clap_complete::env::{CompleteEnv, Shells};

use crate::args::CompletionsArgs;
use crate::{output, program_name};

/// The variable with which a script asks this program for candidates.
const VARIABLE: &str = "PUNCTUAL_COMPLETE";

/// Answers a completion script and exits, if a script has started this program.
pub(crate) fn answer_script() {
    CompleteEnv::with_factory(program_name::command).var(VARIABLE).complete();
}

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<()> {
    let file = program_name::file_name();
    let mut script = Vec::new();
    if args.names {
        let shells = Shells::builtins();
        let shell = shells.completer(&args.shell.to_string());
        let shell = shell.with_context(|| format!("{} cannot complete names", args.shell))?;
        shell.write_registration(VARIABLE, file, file, file, &mut script)?;
    } else {
        clap_complete::generate(args.shell, &mut program_name::command(), file, &mut script);
    }
    output::print(&String::from_utf8_lossy(&script))
}
