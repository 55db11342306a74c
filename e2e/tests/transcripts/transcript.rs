//! Transcripts: shell commands and their expected outputs, as text.
//!
//! ```text
//! # The reason for this step.
//! $ kubectl get cronjob hello
//! > NAME    SCHEDULE
//! > hello   0 5 29 2 *
//!
//! $ kubectl get cronjob missing
//! ! Error from server (NotFound): cronjobs.batch "missing" not found
//! ? 1
//! ```
//!
//! `$` starts a step and `+` continues its command, for example with a document. `>` is a line of
//! standard output, `!` a line of standard error, and `?` the exit code if it is not 0. `~` gives the
//! reason why our server's output differs; then only the exit code is compared. All other lines are
//! remarks.

use std::fmt::{self, Write as _};

use anyhow::{Context, bail};

/// The outputs and exit code of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandOutput {
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
    /// Exit code.
    pub(crate) code: i32,
}

/// A command and its expected output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TranscriptStep {
    /// The line in the file, counted from 1.
    pub(crate) line: usize,
    /// The shell command.
    pub(crate) command: String,
    /// The reason why our server's output differs; `None` if it must not.
    pub(crate) difference: Option<String>,
    /// The expected output.
    pub(crate) expected: CommandOutput,
}

/// The content of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transcript {
    parts: Vec<TranscriptPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TranscriptPart {
    Remark(String),
    Step(TranscriptStep),
}

impl Transcript {
    /// Parses the text of a file.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut parts = Vec::new();
        for (at, line) in text.lines().enumerate() {
            add_line(&mut parts, line, at + 1).with_context(|| format!("line {}", at + 1))?;
        }
        Ok(Transcript { parts })
    }

    /// The steps in order.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &TranscriptStep> {
        self.parts.iter().filter_map(|part| match part {
            TranscriptPart::Step(step) => Some(step),
            TranscriptPart::Remark(_) => None,
        })
    }

    /// Replaces the expected outputs by actual ones.
    pub(crate) fn with_outputs(&self, outputs: impl IntoIterator<Item = CommandOutput>) -> Self {
        let mut transcript = self.clone();
        let mut outputs = outputs.into_iter();
        for part in &mut transcript.parts {
            if let TranscriptPart::Step(step) = part
                && let Some(output) = outputs.next()
            {
                step.expected = output;
            }
        }
        transcript
    }
}

fn add_line(parts: &mut Vec<TranscriptPart>, line: &str, number: usize) -> anyhow::Result<()> {
    let (mark, rest) = match line.split_at_checked(1) {
        Some((mark @ ("$" | "+" | ">" | "!" | "?" | "~"), rest)) => (mark, rest),
        _ => {
            parts.push(TranscriptPart::Remark(line.to_owned()));
            return Ok(());
        }
    };
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    if mark == "$" {
        parts.push(TranscriptPart::Step(TranscriptStep {
            line: number,
            command: rest.to_owned(),
            ..TranscriptStep::default()
        }));
        return Ok(());
    }
    let Some(TranscriptPart::Step(step)) = parts.last_mut() else {
        bail!("`{mark}` outside of a step")
    };
    match mark {
        "+" => step.command.extend(["\n", rest]),
        ">" => step.expected.stdout.extend([rest, "\n"]),
        "!" => step.expected.stderr.extend([rest, "\n"]),
        "~" => step.difference = Some(rest.to_owned()),
        _ => step.expected.code = rest.parse().with_context(|| format!("exit code {rest}"))?,
    }
    Ok(())
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            TranscriptPart::Remark(line) => writeln!(f, "{line}"),
            TranscriptPart::Step(step) => write!(f, "{step}"),
        })
    }
}

impl fmt::Display for TranscriptStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, line) in self.command.lines().enumerate() {
            write_line(f, if at == 0 { '$' } else { '+' }, line)?;
        }
        if let Some(reason) = &self.difference {
            write_line(f, '~', reason)?;
        }
        write!(f, "{}", self.expected)
    }
}

impl fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stdout.lines().try_for_each(|line| write_line(f, '>', line))?;
        self.stderr.lines().try_for_each(|line| write_line(f, '!', line))?;
        match self.code {
            0 => Ok(()),
            code => writeln!(f, "? {code}"),
        }
    }
}

fn write_line(f: &mut fmt::Formatter<'_>, mark: char, line: &str) -> fmt::Result {
    f.write_char(mark)?;
    if !line.is_empty() {
        write!(f, " {line}")?;
    }
    f.write_char('\n')
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const TEXT: &str = "# A remark.\n\n$ kubectl apply -f - <<.\n+ a: b\n+ .\n~ A reason.\n> one\n>\n> two\n! three\n? 1\n\n$ true\n";

    pub(crate) fn formatting_restores_the_parsed_text() {
        assert_eq!(Transcript::parse(TEXT).unwrap().to_string(), TEXT);
    }

    pub(crate) fn a_step_has_its_line_and_expected_output() {
        let transcript = Transcript::parse(TEXT).unwrap();
        let steps: Vec<&TranscriptStep> = transcript.steps().collect();
        let expected =
            CommandOutput { stdout: "one\n\ntwo\n".into(), stderr: "three\n".into(), code: 1 };
        assert_eq!(steps.len(), 2);
        assert_eq!((steps[0].line, steps[1].line), (3, 13));
        assert_eq!(steps[0].command, "kubectl apply -f - <<.\na: b\n.");
        assert_eq!(steps[0].expected, expected);
        assert_eq!(steps[1].expected, CommandOutput::default());
    }

    pub(crate) fn actual_outputs_replace_expected_ones_in_order() {
        let transcript = Transcript::parse("$ a\n> old\n$ b\n").unwrap();
        let output = |text: &str| CommandOutput { stdout: text.into(), ..CommandOutput::default() };
        let blessed = transcript.with_outputs([output("new\n"), output("newer\n")]);
        assert_eq!(blessed.to_string(), "$ a\n> new\n$ b\n> newer\n");
    }

    pub(crate) fn output_without_a_command_is_an_error() {
        let error = Transcript::parse("# x\n> y\n").unwrap_err();
        assert_eq!(format!("{error:#}"), "line 2: `>` outside of a step");
    }
}
