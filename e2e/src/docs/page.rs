//! A page: its blocks, and what is to be done for those that are played.

use std::fmt;

use anyhow::{Context, bail};

/// A page of the documentation.
#[derive(Debug)]
pub(super) struct Page {
    /// Its path in the project.
    pub(super) name: String,
    pub(super) blocks: Vec<Block>,
}

/// Something between fences.
#[derive(Debug, Default)]
pub(super) struct Block {
    is_played: bool,
    /// None for one that is only shown.
    pub(super) steps: Vec<Step>,
}

/// A command and what it must print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The number of its line, from 1.
    pub(super) line: usize,
    pub(super) act: Act,
    pub(super) expected: Vec<String>,
}

/// What is done for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// It is given to a shell.
    Run(String),
    /// It ends with `&`: it is started, and goes on while the page does.
    Start(String),
    /// It is `kill %1`: what was started as the first, say, is told to stop, and does.
    Stop(usize),
}

impl Page {
    pub(super) fn parse(name: &str, text: &str) -> anyhow::Result<Page> {
        let mut blocks = Vec::new();
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        while let Some((number, line)) = lines.next() {
            if let Some(language) = line.strip_prefix("```") {
                let inside = lines.by_ref().take_while(|(_, line)| *line != "```").collect();
                let block = Block::parse(language, inside);
                blocks.push(block.with_context(|| format!("the block in line {number}"))?);
            }
        }
        Ok(Page { name: name.to_owned(), blocks })
    }

    /// What is to be done, in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.blocks.iter().flat_map(|block| &block.steps)
    }
}

impl Block {
    fn parse(language: &str, lines: Vec<(usize, &str)>) -> anyhow::Result<Block> {
        let mut block = Block { is_played: language == "console", steps: Vec::new() };
        let mut lines = lines.into_iter().filter(|_| block.is_played);
        let mut steps: Vec<Step> = Vec::new();
        while let Some((number, line)) = lines.next() {
            if let Some(command) = line.strip_prefix("$ ") {
                let command = whole(command, &mut lines);
                steps.push(Step { line: number, act: Act::of(&command), expected: Vec::new() });
            } else if let Some(step) = steps.last_mut() {
                step.expected.push(line.to_owned());
            } else {
                bail!("begins with output of no command: {line}");
            }
        }
        drop(lines);
        for step in &mut steps {
            // An empty line before the next command is for people.
            while step.expected.pop_if(|line| line.is_empty()).is_some() {}
        }
        block.steps = steps;
        Ok(block)
    }
}

/// A command with the lines that belong to it: those after a backslash, and the document after `<<`.
fn whole<'a>(first: &str, lines: &mut impl Iterator<Item = (usize, &'a str)>) -> String {
    let mut command = first.to_owned();
    while command.ends_with('\\')
        && let Some((_, line)) = lines.next()
    {
        command.extend(["\n", line]);
    }
    if let Some((_, rest)) = first.split_once("<<") {
        let end = rest.split_whitespace().next().unwrap_or_default().trim_matches('\'');
        for (_, line) in lines {
            command.extend(["\n", line]);
            if line == end {
                break;
            }
        }
    }
    command
}

impl Act {
    fn of(command: &str) -> Act {
        let number = command.strip_prefix("kill %").and_then(|number| number.parse().ok());
        match (number, command.strip_suffix(" &")) {
            (Some(number), _) => Act::Stop(number),
            (None, Some(command)) => Act::Start(command.to_owned()),
            (None, None) => Act::Run(command.to_owned()),
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Act::Run(command) => f.write_str(command),
            Act::Start(command) => write!(f, "{command} &"),
            Act::Stop(number) => write!(f, "kill %{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A page\n\n```sh\nonly shown\n```\n\n```console\n$ punctual up &\nserving\n\
                        $ cat <<'END'\n$ no command\nEND\n$ no command\n$ a \\\n  b\n\n$ kill %1\n```\n";

    #[test]
    fn commands_have_their_documents_and_outputs() {
        let page = Page::parse("page", TEXT).unwrap();
        let step = |line, act, expected: &[&str]| Step {
            line,
            act,
            expected: expected.iter().map(|line| (*line).to_owned()).collect(),
        };
        let steps: Vec<Step> = page.steps().cloned().collect();
        let want = [
            step(8, Act::Start("punctual up".into()), &["serving"]),
            step(10, Act::Run("cat <<'END'\n$ no command\nEND".into()), &[]),
            step(13, Act::Run("no command".into()), &[]),
            step(14, Act::Run("a \\\n  b".into()), &[]),
            step(17, Act::Stop(1), &[]),
        ];
        assert_eq!(steps, want);
        assert_eq!(page.blocks.len(), 2);
        assert!(page.blocks[0].steps.is_empty());
    }

    #[test]
    fn output_without_a_command_is_a_mistake() {
        let error = Page::parse("page", "```console\nhello\n```\n").unwrap_err();
        let want = "the block in line 1: begins with output of no command: hello";
        assert_eq!(format!("{error:#}"), want);
    }
}
