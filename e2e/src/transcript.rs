//! Commands and what they must answer, as text.
//!
//! ```text
//! # Why this is asked.
//! $ kubectl get cronjob hello
//! > NAME    SCHEDULE
//! > hello   0 5 29 2 *
//!
//! $ kubectl get cronjob missing
//! ! Error from server (NotFound): cronjobs.batch "missing" not found
//! ? 1
//! ```
//!
//! `$` starts a step and `+` continues its command, for example with a document; `>` is a line of its
//! standard output, `!` one of its standard error, `?` the exit code where it is not 0, and `~` says
//! why our server rightly answers something else, so that only the exit code is compared there.
//! Everything else is for people.

use std::fmt::{self, Write as _};

use anyhow::{Context, bail};

/// What a command did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit code.
    pub code: i32,
}

/// A command and what it must do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The number of its line, from 1.
    pub line: usize,
    /// What a shell is given.
    pub command: String,
    /// Why our server answers something else, if it does.
    pub differs: Option<String>,
    /// What it must do.
    pub expected: Outcome,
}

/// The text of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Remark(String),
    Step(Step),
}

impl Transcript {
    /// Reads a file.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let mut parts = Vec::new();
        for (at, line) in text.lines().enumerate() {
            add(&mut parts, line, at + 1).with_context(|| format!("line {}", at + 1))?;
        }
        Ok(Transcript { parts })
    }

    /// The steps in order.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.parts.iter().filter_map(|part| match part {
            Part::Step(step) => Some(step),
            Part::Remark(_) => None,
        })
    }

    /// The same commands with what they really did.
    pub fn with_outcomes(&self, outcomes: impl IntoIterator<Item = Outcome>) -> Self {
        let mut transcript = self.clone();
        let mut outcomes = outcomes.into_iter();
        for part in &mut transcript.parts {
            if let Part::Step(step) = part
                && let Some(outcome) = outcomes.next()
            {
                step.expected = outcome;
            }
        }
        transcript
    }
}

fn add(parts: &mut Vec<Part>, line: &str, number: usize) -> anyhow::Result<()> {
    let (mark, rest) = match line.split_at_checked(1) {
        Some((mark @ ("$" | "+" | ">" | "!" | "?" | "~"), rest)) => (mark, rest),
        _ => {
            parts.push(Part::Remark(line.to_owned()));
            return Ok(());
        }
    };
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    if mark == "$" {
        parts.push(Part::Step(Step { line: number, command: rest.to_owned(), ..Step::default() }));
        return Ok(());
    }
    let Some(Part::Step(step)) = parts.last_mut() else { bail!("`{mark}` outside of a step") };
    match mark {
        "+" => step.command.extend(["\n", rest]),
        ">" => step.expected.stdout.extend([rest, "\n"]),
        "!" => step.expected.stderr.extend([rest, "\n"]),
        "~" => step.differs = Some(rest.to_owned()),
        _ => step.expected.code = rest.parse().with_context(|| format!("exit code {rest}"))?,
    }
    Ok(())
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Remark(line) => writeln!(f, "{line}"),
            Part::Step(step) => write!(f, "{step}"),
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, line) in self.command.lines().enumerate() {
            write_line(f, if at == 0 { '$' } else { '+' }, line)?;
        }
        if let Some(reason) = &self.differs {
            write_line(f, '~', reason)?;
        }
        write!(f, "{}", self.expected)
    }
}

impl fmt::Display for Outcome {
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
mod tests {
    use super::*;

    const TEXT: &str = "# A remark.\n\n$ kubectl apply -f - <<.\n+ a: b\n+ .\n~ A reason.\n> one\n>\n> two\n! three\n? 1\n\n$ true\n";

    #[test]
    fn a_transcript_is_written_as_it_was_read() {
        assert_eq!(Transcript::parse(TEXT).unwrap().to_string(), TEXT);
    }

    #[test]
    fn a_step_knows_its_line_and_what_it_must_do() {
        let transcript = Transcript::parse(TEXT).unwrap();
        let steps: Vec<&Step> = transcript.steps().collect();
        let expected = Outcome { stdout: "one\n\ntwo\n".into(), stderr: "three\n".into(), code: 1 };
        assert_eq!(steps.len(), 2);
        assert_eq!((steps[0].line, steps[1].line), (3, 13));
        assert_eq!(steps[0].command, "kubectl apply -f - <<.\na: b\n.");
        assert_eq!(steps[0].expected, expected);
        assert_eq!(steps[1].expected, Outcome::default());
    }

    #[test]
    fn outcomes_replace_expectations_in_order() {
        let transcript = Transcript::parse("$ a\n> old\n$ b\n").unwrap();
        let outcome = |text: &str| Outcome { stdout: text.into(), ..Outcome::default() };
        let blessed = transcript.with_outcomes([outcome("new\n"), outcome("newer\n")]);
        assert_eq!(blessed.to_string(), "$ a\n> new\n$ b\n> newer\n");
    }

    #[test]
    fn an_answer_without_a_command_is_an_error() {
        let error = Transcript::parse("# x\n> y\n").unwrap_err();
        assert_eq!(format!("{error:#}"), "line 2: `>` outside of a step");
    }
}
