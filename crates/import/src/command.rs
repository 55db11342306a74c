//! Builds the command of a container.

/// Runs the rest of the arguments, as one command.
const RUN_REST: &str = "exec \"$0\" \"$@\"";

/// Runs the command `$0` with the standard input `$1` in the shell `$2`.
const RUN_WITH_INPUT: &str = "printf %s \"$1\" | \"$2\" -c \"$0\"";

/// Returns the command that passes a shell command to a shell, as cron does.
pub(crate) fn in_shell(shell: &str, command: &str) -> Vec<String> {
    vec![shell.into(), "-c".into(), command.into()]
}

/// Returns the command that passes a shell command to a shell, with a text as its standard input.
pub(crate) fn in_shell_with_input(shell: &str, command: &str, input: &str) -> Vec<String> {
    let words = ["/bin/sh", "-c", RUN_WITH_INPUT, command, input, shell];
    words.map(String::from).to_vec()
}

/// Returns the command that runs another command only on some weekdays. Bit 0 is Sunday.
pub(crate) fn on_weekdays(weekdays: u8, zone: &str, command: Vec<String>) -> Vec<String> {
    let digits: String =
        (0..7_u8).filter(|day| weekdays >> day & 1 == 1).map(|day| day.to_string()).collect();
    let script = format!("case $(TZ={zone} date +%w) in [{digits}]) {RUN_REST};; esac");
    let mut words = in_shell("/bin/sh", &script);
    words.extend(command);
    words
}

/// Escapes a text of which Kubernetes expands `$(NAME)` and `$$`.
pub(crate) fn escape_expansion(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        escaped.push(letter);
        if letter == '$' && letters.peek().is_some_and(|next| matches!(next, '$' | '(')) {
            escaped.push('$');
        }
    }
    escaped
}

/// Quotes a word for a shell, unless it needs no quotes.
pub(crate) fn shell_quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expands a text as Kubernetes does if no variable is defined.
    fn expand(text: &str) -> String {
        text.replace("$$", "\u{0}").replace('\u{0}', "$")
    }

    #[test]
    fn escaped_text_expands_to_the_original() {
        for text in ["$HOME", "$$", "$$$", "$(date)", "$$(x) $", "a$b$$(c)$$$d$", "${X}"] {
            let escaped = escape_expansion(text);
            assert_eq!(expand(&escaped), text, "{escaped}");
            assert!(!escaped.replace("$$", "").contains("$("), "{escaped}");
        }
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(shell_quote("/bin/x"), "/bin/x");
        assert_eq!(shell_quote(""), "''");
        assert_eq!(shell_quote("it's"), "'it'\\''s'");
    }
}
