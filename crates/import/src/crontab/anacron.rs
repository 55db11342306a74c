//! The lines of an anacrontab: a period in days, a delay in minutes, a name and a command.

use super::{
    CrontabState,
    entry::{EntryError, ImportedEntry, schedule_warnings},
    environment::Environment,
};
use crate::{calendar_fields::ConvertedSchedule, command, draft::JobDraft, importer::Importer};

/// The user that anacron runs as.
const ROOT: &str = "root";

impl Importer {
    pub(super) fn anacron_entry(&self, line: &str, state: &CrontabState<'_>) -> ImportedEntry {
        let mut rest = line;
        let mut words = [""; 3];
        for word in &mut words {
            let (found, after) = rest.split_once([' ', '\t']).ok_or(EntryError::TooFewFields)?;
            *word = found;
            rest = after.trim_start_matches([' ', '\t']);
        }
        let [period, delay, name] = words;
        if rest.is_empty() {
            return Err(EntryError::NoCommand);
        }
        let delay: u64 = delay.parse().map_err(|_| EntryError::Delay(delay.into()))?;
        let start = delay + 60 * first_hour(&state.environment);
        let schedule = ConvertedSchedule::new(schedule_of(period, start)?);
        let mut warnings = vec![format!(
            "anacron runs this when it finds that the period is over; here it runs at {:?}, and \
             later only if it was missed",
            schedule.text
        )];
        warnings.extend(schedule_warnings(&schedule, &state.zone, self.options.now));
        let user = self.find_user(ROOT, &mut warnings);
        let draft = JobDraft {
            name: name.into(),
            schedule,
            time_zone: state.zone.name().into(),
            command: command::in_shell(state.environment.shell(), rest),
            env: state.environment.variables_for(user.as_ref()),
            working_dir: state.environment.working_dir(user.as_ref()),
            user,
            concurrency_policy: "Forbid",
            starting_deadline: None,
            active_deadline: None,
            jitter: None,
        };
        Ok((draft, warnings))
    }
}

/// Returns the first hour of `START_HOURS_RANGE`.
fn first_hour(environment: &Environment) -> u64 {
    let range = environment.get("START_HOURS_RANGE").unwrap_or_default();
    let first = range.split('-').next().and_then(|hour| hour.trim().parse().ok());
    first.filter(|hour| *hour < 24).unwrap_or(0)
}

/// Returns the schedule of a period. `start` is the minute of the day.
fn schedule_of(period: &str, start: u64) -> Result<String, EntryError> {
    let minute = start % 60;
    let hour = start / 60 % 24;
    Ok(match period {
        "1" | "@daily" => format!("{minute} {hour} * * *"),
        "7" | "@weekly" => format!("{minute} {hour} * * 0"),
        "30" | "31" | "@monthly" => format!("{minute} {hour} 1 * *"),
        "@yearly" | "@annually" => format!("{minute} {hour} 1 1 *"),
        _ => {
            let days = period.parse::<u64>().ok().filter(|days| (1..=36_500).contains(days));
            let days = days.ok_or_else(|| EntryError::Period(period.into()))?;
            format!("@every {}h", 24 * days)
        }
    })
}
