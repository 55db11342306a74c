//! The name by which a user started the program: `punctual`, or `kubectl punctual` as a plugin of kubectl.

use std::path::Path;

use clap::{Command, CommandFactory as _, FromArgMatches as _};

use crate::args::CliArgs;

/// The file name that makes the program a plugin of kubectl.
const PLUGIN_FILE: &str = "kubectl-punctual";

/// Returns the name for help texts and hints.
pub(crate) fn program_name() -> &'static str {
    if is_started_as_plugin() { "kubectl punctual" } else { "punctual" }
}

/// Returns the name of the file, for completion scripts.
pub(crate) fn file_name() -> &'static str {
    if is_started_as_plugin() { PLUGIN_FILE } else { "punctual" }
}

fn is_started_as_plugin() -> bool {
    let started = std::env::args_os().next().unwrap_or_default();
    is_plugin(Path::new(&started))
}

/// Returns the command line with the name of the program in its usage and help texts.
pub(crate) fn command() -> Command {
    let command = CliArgs::command();
    match program_name() {
        "punctual" => command,
        name => command.bin_name(name).display_name(name),
    }
}

/// Parses the command line. Exits with a message if it is invalid.
pub(crate) fn parse_args() -> CliArgs {
    let matches = command().get_matches();
    CliArgs::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

fn is_plugin(program: &Path) -> bool {
    program.file_stem().is_some_and(|name| name == PLUGIN_FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_name_makes_the_program_a_plugin() {
        assert!(is_plugin(Path::new("/usr/bin/kubectl-punctual")));
        for path in ["punctual", "/usr/bin/punctual", "", "kubectl-punctual-x"] {
            assert!(!is_plugin(Path::new(path)), "{path}");
        }
    }
}
