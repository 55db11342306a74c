//! The environment lines of a crontab.

use crate::draft::{Variable, set_variable};
use crate::users::UserEntry;

/// The search path that cron sets.
const DEFAULT_PATH: &str = "/usr/bin:/bin";
const DEFAULT_SHELL: &str = "/bin/sh";

/// The variables that the lines of a crontab set for the lines below them.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment(Vec<Variable>);

impl Environment {
    pub(super) fn set(&mut self, name: &str, value: &str) {
        set_variable(&mut self.0, name, value);
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|variable| variable.name == name);
        found.map(|variable| variable.value.as_str())
    }

    /// Returns the shell that runs the commands.
    pub(super) fn shell(&self) -> &str {
        self.get("SHELL").filter(|shell| !shell.is_empty()).unwrap_or(DEFAULT_SHELL)
    }

    /// Returns the variables of a command that runs as a user, if the user is known.
    pub(super) fn variables_for(&self, user: Option<&UserEntry>) -> Vec<Variable> {
        let mut variables = Vec::new();
        set_variable(&mut variables, "PATH", DEFAULT_PATH);
        set_variable(&mut variables, "SHELL", DEFAULT_SHELL);
        if let Some(user) = user {
            set_variable(&mut variables, "HOME", &user.home);
        }
        for Variable { name, value } in &self.0 {
            set_variable(&mut variables, name, value);
        }
        // A crontab cannot change these.
        if let Some(user) = user {
            set_variable(&mut variables, "LOGNAME", &user.name);
            set_variable(&mut variables, "USER", &user.name);
        }
        variables
    }

    /// Returns the directory that commands start in: HOME.
    pub(super) fn working_dir(&self, user: Option<&UserEntry>) -> Option<String> {
        let home = self.get("HOME").or(user.map(|user| user.home.as_str()));
        home.filter(|home| home.starts_with('/')).map(String::from)
    }
}

/// Parses a line like `NAME = value`. None if the line is not an assignment.
pub(super) fn parse_assignment(line: &str) -> Option<(String, String)> {
    let (name, rest) = take_name(line)?;
    let value = rest.trim_start_matches([' ', '\t']).strip_prefix('=')?;
    Some((name, unquote(value.trim_matches([' ', '\t']))))
}

/// Splits off a name, which may be quoted. An unquoted one ends before a blank or an equals sign.
fn take_name(line: &str) -> Option<(String, &str)> {
    for quote in ['"', '\''] {
        if let Some(quoted) = line.strip_prefix(quote) {
            let (name, rest) = quoted.split_once(quote)?;
            return Some((name.into(), rest));
        }
    }
    let end = line.find([' ', '\t', '='])?;
    let (name, rest) = line.split_at_checked(end)?;
    (!name.is_empty()).then(|| (name.into(), rest))
}

fn unquote(value: &str) -> String {
    for quote in ['"', '\''] {
        let inner = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner.into();
        }
    }
    value.into()
}

/// Whether a name can be the name of an environment variable of a container.
pub(crate) fn is_variable_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_are_distinguished_from_entries() {
        for (line, wanted) in [
            ("MAILTO=root", Some(("MAILTO", "root"))),
            ("PATH = \"/bin:/sbin\"  ", Some(("PATH", "/bin:/sbin"))),
            ("'A' = ' x '", Some(("A", " x "))),
            ("EMPTY=", Some(("EMPTY", ""))),
            ("A=b=c # no comment", Some(("A", "b=c # no comment"))),
            ("*/5 * * * * A=1 x", None),
            ("@daily A=1 x", None),
            ("= x", None),
        ] {
            let found = parse_assignment(line);
            let found = found.as_ref().map(|(name, value)| (name.as_str(), value.as_str()));
            assert_eq!(found, wanted, "{line}");
        }
    }
}
