//! One entry of a crontab: when, as which user, and the command.

use punctual_schedule::{Lint, Schedule, Zone};

use super::{
    CrontabFormat, CrontabState,
    fields::{self, CronFieldError},
};
use crate::{
    calendar_fields::{ConvertedSchedule, weekday_names},
    command,
    draft::{DEADLINE_WITHOUT_CATCH_UP_SECONDS, JobDraft},
    importer::Importer,
    object_name,
};

/// The reason why an entry cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EntryError {
    #[error(transparent)]
    Field(#[from] CronFieldError),
    #[error("the line has no command")]
    NoCommand,
    #[error("the line is neither an assignment nor five fields and a command")]
    TooFewFields,
    #[error("cron rejects a line whose command begins with *; are there six fields?")]
    StarCommand,
    #[error(
        "@reboot runs once when cron starts, which a CronJob cannot express; start the command with \
         the service manager of the machine"
    )]
    Reboot,
    #[error("{0} is not a name that cron knows")]
    UnknownName(String),
    #[error("the period {0:?} is not a number of days or a name such as @monthly")]
    Period(String),
    #[error("the delay {0:?} is not a number of minutes")]
    Delay(String),
}

/// A draft and what differs from the source.
pub(super) type ImportedEntry = Result<(JobDraft, Vec<String>), EntryError>;

impl Importer {
    pub(super) fn cron_entry(&self, line: &str, state: &CrontabState<'_>) -> ImportedEntry {
        // A hyphen before the fields only suppresses a log message.
        let line = line.strip_prefix('-').unwrap_or(line);
        let (schedule, rest) = split_schedule(line, &state.zone)?;
        let mut warnings = Vec::new();
        let (user_name, shell_command) = match state.format {
            CrontabFormat::System => {
                let (user, rest) = take_word(rest).ok_or(EntryError::NoCommand)?;
                (Some(user), rest)
            }
            _ => (state.owner, rest),
        };
        if shell_command.is_empty() {
            return Err(EntryError::NoCommand);
        }
        if rest.starts_with('*') {
            return Err(EntryError::StarCommand);
        }
        let user = user_name.and_then(|name| self.find_user(name, &mut warnings));
        let CommandParts { command, input } = split_percent(shell_command);
        let shell = state.environment.shell();
        let name = object_name::program_name(&command);
        let words = match input {
            Some(input) => command::in_shell_with_input(shell, &command, &input),
            None => command::in_shell(shell, &command),
        };
        warnings.extend(schedule_warnings(&schedule, &state.zone, self.options.now));
        let draft = JobDraft {
            name,
            schedule,
            time_zone: state.zone.name().into(),
            command: words,
            env: state.environment.variables_for(user.as_ref()),
            working_dir: state.environment.working_dir(user.as_ref()),
            user,
            concurrency_policy: "Allow",
            starting_deadline: Some(DEADLINE_WITHOUT_CATCH_UP_SECONDS),
            active_deadline: None,
            jitter: None,
        };
        Ok((draft, warnings))
    }
}

/// Splits a line into its schedule and the rest.
fn split_schedule<'a>(
    line: &'a str,
    zone: &Zone,
) -> Result<(ConvertedSchedule, &'a str), EntryError> {
    if line.starts_with('@') {
        let (name, rest) = take_word(line).unwrap_or((line, ""));
        let text = match name {
            "@reboot" => return Err(EntryError::Reboot),
            "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight"
            | "@hourly" => name,
            "@every_minute" => "* * * * *",
            _ => return Err(EntryError::UnknownName(name.into())),
        };
        return Ok((ConvertedSchedule::new(text), rest));
    }
    let mut rest = line;
    let mut texts = [""; 5];
    for text in &mut texts {
        let (word, after) = take_word(rest).ok_or(EntryError::TooFewFields)?;
        *text = word;
        rest = after;
    }
    let converted = fields::parse(texts)?.convert();
    let source = texts.join(" ");
    let converted = match converted.only_weekdays {
        Some(_) => converted,
        None => converted.prefer_source(&source, zone),
    };
    Ok((converted, rest))
}

/// Splits off the first word and the blanks after it. None if the text has no blank.
fn take_word(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.split_once([' ', '\t'])?;
    (!word.is_empty()).then(|| (word, rest.trim_start_matches([' ', '\t'])))
}

/// Warns about weekdays that the command itself checks, and about clock changes.
pub(super) fn schedule_warnings(
    converted: &ConvertedSchedule,
    zone: &Zone,
    now: jiff::Timestamp,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(weekdays) = converted.only_weekdays {
        warnings.push(format!(
            "cron runs this on days that match both day fields, because one of them begins with *; \
             a CronJob cannot express that, so a Job starts on each day of the month that matches, \
             and the command runs only if it is {}",
            weekday_names(weekdays),
        ));
    }
    let Ok(schedule) = Schedule::parse(&converted.text, zone) else { return warnings };
    for lint in schedule.lints(now) {
        match lint {
            Lint::SkippedByDst { civil, zone, .. } => warnings.push(format!(
                "{} does not exist in {zone}: cron runs the command soon after the clocks change, \
                 here that run is left out",
                civil.strftime("%H:%M on %Y-%m-%d"),
            )),
            Lint::RepeatedByDst { civil, zone } => warnings.push(format!(
                "{} occurs twice in {zone}: cron runs the command once, here it runs twice",
                civil.strftime("%H:%M on %Y-%m-%d"),
            )),
            Lint::NeverMatches { .. } => warnings.push(format!("the line {lint}")),
            _ => {}
        }
    }
    warnings
}

/// A command and its standard input.
#[derive(Debug, PartialEq, Eq)]
struct CommandParts {
    command: String,
    input: Option<String>,
}

/// Splits a command at its first percent sign. The rest is the standard input, in which further percent
/// signs are newlines. A backslash makes a percent sign an ordinary character.
fn split_percent(text: &str) -> CommandParts {
    let mut command = String::new();
    let mut is_escaped = false;
    for (index, letter) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
            if letter == '%' {
                command.pop();
            }
        } else if letter == '\\' {
            is_escaped = true;
        } else if letter == '%' {
            let input = text.get(index + 1..).unwrap_or_default();
            return CommandParts { command, input: Some(expand_input(input)) };
        }
        command.push(letter);
    }
    CommandParts { command, input: None }
}

fn expand_input(text: &str) -> String {
    let mut input = String::new();
    let mut is_escaped = false;
    for letter in text.chars() {
        let was_escaped = is_escaped;
        is_escaped = letter == '\\';
        if was_escaped && letter != '%' {
            input.push('\\');
        }
        match letter {
            '\\' => {}
            '%' if !was_escaped => input.push('\n'),
            other => input.push(other),
        }
    }
    if is_escaped {
        input.push('\\');
    }
    if !input.is_empty() && !input.ends_with('\n') {
        input.push('\n');
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_separate_command_and_input() {
        for (text, command, input) in [
            ("date", "date", None),
            (r"date +\%H:\%M", "date +%H:%M", None),
            ("cat%one%two", "cat", Some("one\ntwo\n")),
            (r"cat%50\% off", "cat", Some("50% off\n")),
            ("mail x%", "mail x", Some("")),
            (r"echo \\ x", r"echo \\ x", None),
            (r"printf 'a\tb'%a\tb", r"printf 'a\tb'", Some("a\\tb\n")),
        ] {
            let wanted = CommandParts { command: command.into(), input: input.map(String::from) };
            assert_eq!(split_percent(text), wanted, "{text}");
        }
    }
}
