//! The command reference, rendered from the output of `--help`.

use std::{path::Path, process::Command};

use anyhow::{Context, ensure};

const HEAD: &str = "# Commands\n\n\
    The output of `punctual --help` and of `--help` of every command. The command\n\
    `cargo test -p punctual-e2e --test docs -- --bless commands` writes this page; the same test fails if it is out of date.\n\n\
    Exit status: 0 success, 1 invalid input or failure, 2 invalid command line.\n";

/// Renders the whole page.
pub(super) fn render(binary: &Path) -> anyhow::Result<String> {
    let help = help(binary, None)?;
    let mut page = format!("{HEAD}{}", section("punctual", &help));
    for name in command_names(&help) {
        page += &section(&format!("punctual {name}"), &self::help(binary, Some(&name))?);
    }
    Ok(page)
}

fn section(title: &str, help: &str) -> String {
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    format!("\n## `{title}`\n\n```text\n{}\n```\n", lines.join("\n"))
}

/// Runs `--help` without an environment, so that no values of variables are shown.
fn help(binary: &Path, command: Option<&str>) -> anyhow::Result<String> {
    let output = Command::new(binary).env_clear().args(command).arg("--help").output();
    let output = output.with_context(|| format!("starting {}", binary.display()))?;
    ensure!(output.status.success(), "{command:?} --help: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The listed commands, except `help`.
fn command_names(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn command_names_are_read_from_the_list() {
        let help =
            "What\n\nCommands:\n  up    Run\n        on and on\n  help  Print\n\nOptions:\n  -h\n";
        assert_eq!(command_names(help), ["up"]);
    }
}
