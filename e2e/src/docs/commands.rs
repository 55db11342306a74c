//! The page of commands, made of what `--help` says.

use std::{path::Path, process::Command};

use anyhow::{Context, ensure};

const HEAD: &str = "# Commands\n\n\
    What `punctual --help` and `--help` of every command say. This page is written by\n\
    `cargo test -p punctual-e2e --test docs -- --bless commands`, and the same test fails when it is out of date.\n\n\
    Exit status: 0 done, 1 the input was wrong or the work failed, 2 the command line was wrong.\n";

/// The whole page.
pub(super) fn page(binary: &Path) -> anyhow::Result<String> {
    let help = help(binary, None)?;
    let mut page = format!("{HEAD}{}", section("punctual", &help));
    for name in names(&help) {
        page += &section(&format!("punctual {name}"), &self::help(binary, Some(&name))?);
    }
    Ok(page)
}

fn section(title: &str, help: &str) -> String {
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    format!("\n## `{title}`\n\n```text\n{}\n```\n", lines.join("\n"))
}

/// Without an environment, so that its values are not shown.
fn help(binary: &Path, command: Option<&str>) -> anyhow::Result<String> {
    let output = Command::new(binary).env_clear().args(command).arg("--help").output();
    let output = output.with_context(|| format!("starting {}", binary.display()))?;
    ensure!(output.status.success(), "{command:?} --help: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The commands that are listed, but for the one that explains the others.
fn names(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_the_list_of_them() {
        let help =
            "What\n\nCommands:\n  up    Run\n        on and on\n  help  Print\n\nOptions:\n  -h\n";
        assert_eq!(names(help), ["up"]);
    }
}
