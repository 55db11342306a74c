//! Names of generated objects: derived from the command, valid as DNS labels, and unique.

use std::collections::HashSet;

/// The longest name of a CronJob. The names of its Jobs are longer.
const NAME_LENGTH_MAX: usize = 52;

/// The name of a command that has no usable word.
const FALLBACK: &str = "job";

/// Commands that prepare for the actual command of a line, such as `cd /srv && ./backup`.
const PREPARING: [&str; 12] =
    ["cd", "test", "[", "[[", "true", ":", "export", "umask", ".", "source", "ulimit", "sleep"];

/// Commands that run the command after their options.
const WRAPPERS: [&str; 14] = [
    "nice",
    "ionice",
    "nohup",
    "time",
    "env",
    "exec",
    "sudo",
    "chronic",
    "setsid",
    "command",
    "if",
    "then",
    "!",
    "run-parts",
];

/// Commands whose first operand is not the command that they run.
const WRAPPERS_WITH_OPERAND: [&str; 2] = ["flock", "timeout"];

/// Programs that run the script after their options.
const INTERPRETERS: [&str; 10] =
    ["sh", "bash", "dash", "zsh", "ksh", "perl", "ruby", "php", "node", "java"];

/// The names that are taken.
#[derive(Debug, Default)]
pub(crate) struct NameTable(HashSet<String>);

impl NameTable {
    /// Returns the name, with a number at its end if it is taken.
    pub(crate) fn take(&mut self, wanted: &str) -> String {
        let base = to_object_name(wanted).unwrap_or_else(|| FALLBACK.into());
        let mut name = base.clone();
        let mut number = 2;
        while !self.0.insert(name.clone()) {
            let suffix = format!("-{number}");
            let kept: String = base.chars().take(NAME_LENGTH_MAX - suffix.len()).collect();
            name = format!("{}{suffix}", kept.trim_end_matches('-'));
            number += 1;
        }
        name
    }
}

/// Converts a text into a valid name of a CronJob. Returns `None` if it has no usable character.
pub fn to_object_name(text: &str) -> Option<String> {
    let mut label = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            label.push(letter.to_ascii_lowercase());
        } else if !label.is_empty() && !label.ends_with('-') {
            label.push('-');
        }
    }
    let label: String = label.chars().take(NAME_LENGTH_MAX).collect();
    let label = label.trim_end_matches('-');
    (!label.is_empty()).then(|| label.to_owned())
}

/// Returns the name of the program or script that a shell command runs.
pub(crate) fn program_name(command: &str) -> String {
    let parts = command.split(['&', '|', ';', '(', ')', '{', '}', '\n']);
    let found = parts.filter_map(|part| find_program(part.split_whitespace())).next();
    found.unwrap_or_else(|| FALLBACK.into())
}

/// Returns the base name of the program that the words run. None if they only prepare for one.
fn find_program<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut is_operand_next = false;
    loop {
        let word = words.next()?.trim_matches(['"', '\'']);
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
        if word.starts_with('-') || is_assignment || word.chars().all(|c| c.is_ascii_digit()) {
            continue;
        }
        let base = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if PREPARING.contains(&base) {
            return None;
        }
        if WRAPPERS_WITH_OPERAND.contains(&base) {
            is_operand_next = base == "flock";
            continue;
        }
        if is_operand_next {
            is_operand_next = false;
            continue;
        }
        let is_interpreter = INTERPRETERS.contains(&base) || base.starts_with("python");
        if WRAPPERS.contains(&base) {
            continue;
        }
        if is_interpreter {
            return find_program(words).or_else(|| Some(base.into()));
        }
        return base.chars().any(|c| c.is_ascii_alphanumeric()).then(|| base.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_that_of_the_program_or_script() {
        for (command, wanted) in [
            ("/usr/local/bin/backup.sh --all", "backup.sh"),
            ("cd / && run-parts --report /etc/cron.hourly", "cron.hourly"),
            ("test -x /usr/sbin/anacron || ( cd / && run-parts /etc/cron.daily )", "cron.daily"),
            ("FOO=1 nice -n 19 python3 -u /srv/report.py", "report.py"),
            ("flock -n /tmp/lock sync-mail > /dev/null 2>&1", "sync-mail"),
            ("timeout 60 curl -s http://example.com/", "curl"),
            ("bash", "bash"),
            ("((", "job"),
            ("", "job"),
        ] {
            assert_eq!(program_name(command), wanted, "{command}");
        }
    }

    #[test]
    fn names_are_valid_and_unique() {
        let mut names = NameTable::default();
        assert_eq!(names.take("Backup_DB.sh"), "backup-db-sh");
        assert_eq!(names.take("backup.db.sh"), "backup-db-sh-2");
        assert_eq!(names.take("ä"), "job");
        let long = "a".repeat(80);
        assert_eq!(names.take(&long).len(), 52);
        let second = names.take(&long);
        assert!(second.len() <= 52 && second.ends_with("a-2"), "{second}");
    }
}
