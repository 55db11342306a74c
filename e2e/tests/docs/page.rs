//! A page of the documentation: its code blocks and their commands.

use std::fmt;

use anyhow::{Context, bail};

/// A page of the documentation.
#[derive(Debug)]
pub(super) struct DocPage {
    /// Its path in the repository.
    pub(super) name: String,
    pub(super) blocks: Vec<CodeBlock>,
}

/// A fenced code block.
#[derive(Debug)]
pub(super) struct CodeBlock {
    /// Empty for a block that does not run.
    pub(super) steps: Vec<PageStep>,
}

/// A command and its expected output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageStep {
    /// Its line, counted from 1.
    pub(super) line: usize,
    pub(super) action: StepAction,
    pub(super) expected: Vec<String>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StepAction {
    /// Runs a shell command.
    Run(String),
    /// Starts a command in the background, written with a final `&`.
    Start(String),
    /// Stops the background job with this number, written as `kill %1`.
    Stop(usize),
}

impl DocPage {
    pub(super) fn parse(name: &str, text: &str) -> anyhow::Result<DocPage> {
        let mut blocks = Vec::new();
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        while let Some((number, line)) = lines.next() {
            if let Some(language) = line.strip_prefix("```") {
                let inside = lines.by_ref().take_while(|(_, line)| *line != "```").collect();
                let block = CodeBlock::parse(language, inside);
                blocks.push(block.with_context(|| format!("the code block in line {number}"))?);
            }
        }
        Ok(DocPage { name: name.to_owned(), blocks })
    }

    /// The steps of all blocks in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = &PageStep> {
        self.blocks.iter().flat_map(|block| &block.steps)
    }
}

impl CodeBlock {
    fn parse(language: &str, lines: Vec<(usize, &str)>) -> anyhow::Result<CodeBlock> {
        let mut steps: Vec<PageStep> = Vec::new();
        if language != "console" {
            return Ok(CodeBlock { steps });
        }
        let mut lines = lines.into_iter();
        while let Some((number, line)) = lines.next() {
            if let Some(command) = line.strip_prefix("$ ") {
                let command = read_command(command, &mut lines);
                let action = StepAction::parse(&command);
                steps.push(PageStep { line: number, action, expected: Vec::new() });
            } else if let Some(step) = steps.last_mut() {
                step.expected.push(line.to_owned());
            } else {
                bail!("begins with output without a command: {line}");
            }
        }
        for step in &mut steps {
            // Empty lines before the next command are not a part of the output.
            while step.expected.pop_if(|line| line.is_empty()).is_some() {}
        }
        Ok(CodeBlock { steps })
    }
}

/// Reads a command with its continuation lines and its here-document.
fn read_command<'a>(first: &str, lines: &mut impl Iterator<Item = (usize, &'a str)>) -> String {
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

impl StepAction {
    fn parse(command: &str) -> StepAction {
        let number = command.strip_prefix("kill %").and_then(|number| number.parse().ok());
        match (number, command.strip_suffix(" &")) {
            (Some(number), _) => StepAction::Stop(number),
            (None, Some(command)) => StepAction::Start(command.to_owned()),
            (None, None) => StepAction::Run(command.to_owned()),
        }
    }
}

impl fmt::Display for StepAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepAction::Run(command) => f.write_str(command),
            StepAction::Start(command) => write!(f, "{command} &"),
            StepAction::Stop(number) => write!(f, "kill %{number}"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const TEXT: &str = "# A page\n\n```sh\nonly shown\n```\n\n```console\n$ punctual up &\nserving\n\
                        $ cat <<'END'\n$ no command\nEND\n$ no command\n$ a \\\n  b\n\n$ kill %1\n```\n";

    pub(crate) fn commands_have_their_here_documents_and_outputs() {
        let page = DocPage::parse("page", TEXT).unwrap();
        let step = |line, action, expected: &[&str]| PageStep {
            line,
            action,
            expected: expected.iter().map(|line| (*line).to_owned()).collect(),
        };
        let steps: Vec<PageStep> = page.steps().cloned().collect();
        let want = [
            step(8, StepAction::Start("punctual up".into()), &["serving"]),
            step(10, StepAction::Run("cat <<'END'\n$ no command\nEND".into()), &[]),
            step(13, StepAction::Run("no command".into()), &[]),
            step(14, StepAction::Run("a \\\n  b".into()), &[]),
            step(17, StepAction::Stop(1), &[]),
        ];
        assert_eq!(steps, want);
        assert_eq!(page.blocks.len(), 2);
        assert!(page.blocks[0].steps.is_empty());
    }

    pub(crate) fn output_without_a_command_is_an_error() {
        let error = DocPage::parse("page", "```console\nhello\n```\n").unwrap_err();
        let want = "the code block in line 1: begins with output without a command: hello";
        assert_eq!(format!("{error:#}"), want);
    }
}
