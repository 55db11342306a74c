//! The command lines of `ExecStart=` and similar settings.

use crate::{command, crontab::is_variable_name, draft::Variable};

/// What the specifiers of a unit stand for.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitSpecifiers<'a> {
    /// The name of the service, such as `backup@home.service`.
    pub(super) unit: &'a str,
}

/// A command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExecCommand {
    pub(super) words: Vec<String>,
    /// Whether a failure counts as success.
    pub(super) ignores_failure: bool,
}

/// Parses a value, which may have several command lines separated by semicolons.
pub(super) fn parse(
    text: &str,
    specifiers: UnitSpecifiers<'_>,
    variables: &[Variable],
    warnings: &mut Vec<String>,
) -> Vec<ExecCommand> {
    let words = split_words(text);
    let commands = words.split(|word| word == ";").filter(|words| !words.is_empty());
    commands.filter_map(|words| parse_one(words, specifiers, variables, warnings)).collect()
}

fn parse_one(
    words: &[String],
    specifiers: UnitSpecifiers<'_>,
    variables: &[Variable],
    warnings: &mut Vec<String>,
) -> Option<ExecCommand> {
    let (program, arguments) = words.split_first()?;
    let path = program.trim_start_matches(['@', '-', ':', '+', '!', '|']);
    let prefixes = program.strip_suffix(path).unwrap_or_default();
    if prefixes.contains(['+', '!']) {
        warnings.push(format!("{program}: the prefix that changes privileges is ignored"));
    }
    let mut arguments = arguments.iter();
    if prefixes.contains('@') {
        let own_name = arguments.next();
        let own_name = own_name.map(String::as_str).unwrap_or_default();
        warnings.push(format!("the program gets {path} as its own name, not {own_name}"));
    }
    let mut expanded = vec![specifiers.expand(path, warnings)];
    for word in arguments {
        let word = specifiers.expand(word, warnings);
        if prefixes.contains(':') {
            expanded.push(word);
        } else {
            expand_variables(&word, variables, warnings, &mut expanded);
        }
    }
    Some(ExecCommand { words: expanded, ignores_failure: prefixes.contains('-') })
}

/// Returns the command of a container that runs the command lines one after another, until one fails.
pub(super) fn to_container_command(commands: &[ExecCommand]) -> Vec<String> {
    if let [ExecCommand { words, ignores_failure: false }] = commands {
        return words.clone();
    }
    let script = |command: &ExecCommand| {
        let words: Vec<String> =
            command.words.iter().map(|word| command::shell_quote(word)).collect();
        let line = words.join(" ");
        if command.ignores_failure { format!("{{ {line} || true; }}") } else { line }
    };
    let lines: Vec<String> = commands.iter().map(script).collect();
    command::in_shell("/bin/sh", &lines.join(" &&\n"))
}

/// Expands `${NAME}` within a word, and `$NAME` if it is the whole word, which may become several words.
fn expand_variables(
    word: &str,
    variables: &[Variable],
    warnings: &mut Vec<String>,
    expanded: &mut Vec<String>,
) {
    let mut find = |name: &str| {
        let found = variables.iter().find(|variable| variable.name == name);
        if found.is_none() {
            warnings
                .push(format!("the variable {name} is not set by Environment=; it is empty here"));
        }
        found.map(|variable| variable.value.clone()).unwrap_or_default()
    };
    let whole = word.strip_prefix('$').filter(|name| is_variable_name(name));
    if let Some(name) = whole {
        expanded.extend(split_words(&find(name)));
        return;
    }
    let mut text = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        match (after.strip_prefix('$'), braced) {
            (Some(after), _) => {
                text.push('$');
                rest = after;
            }
            (None, Some((name, after))) if is_variable_name(name) => {
                text.push_str(&find(name));
                rest = after;
            }
            _ => {
                text.push('$');
                rest = after;
            }
        }
    }
    text.push_str(rest);
    expanded.push(text);
}

impl UnitSpecifiers<'_> {
    /// Expands the specifiers of a text. Those that depend on the machine stay as they are.
    pub(super) fn expand(self, text: &str, warnings: &mut Vec<String>) -> String {
        let mut expanded = String::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                expanded.push(letter);
                continue;
            }
            match letters.next() {
                Some('%') => expanded.push('%'),
                Some('n') => expanded.push_str(self.unit),
                Some('N') => expanded.push_str(self.stem()),
                Some('p' | 'P') => {
                    expanded.push_str(self.stem().split('@').next().unwrap_or_default())
                }
                Some('i' | 'I') => {
                    expanded.push_str(self.stem().split_once('@').map_or("", |(_, name)| name));
                }
                other => {
                    let specifier: String = ['%'].into_iter().chain(other).collect();
                    warnings.push(format!("the specifier {specifier} is not expanded"));
                    expanded.push_str(&specifier);
                }
            }
        }
        expanded
    }

    fn stem(&self) -> &str {
        self.unit.rsplit_once('.').map_or(self.unit, |(stem, _)| stem)
    }
}

/// Splits a text into words with the quotes and escapes of systemd.
pub(super) fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', _) => {
                let escaped = unescape(&mut letters);
                word.get_or_insert_default().push_str(&escaped);
            }
            (letter, Some(open)) if letter == open => quote = None,
            (letter, Some(_)) => word.get_or_insert_default().push(letter),
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, None) if letter.is_whitespace() => words.extend(word.take()),
            (letter, None) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Returns what an escape sequence stands for, after its backslash.
fn unescape(letters: &mut std::str::Chars<'_>) -> String {
    match letters.next() {
        Some('n') => "\n".into(),
        Some('t') => "\t".into(),
        Some('r') => "\r".into(),
        Some('s') => " ".into(),
        Some('x') => {
            let digits: String = letters.by_ref().take(2).collect();
            let code = u8::from_str_radix(&digits, 16).ok().filter(u8::is_ascii);
            code.map_or_else(|| format!("\\x{digits}"), |code| char::from(code).into())
        }
        Some(letter @ ('\\' | '"' | '\'' | ';')) => letter.into(),
        Some(letter) => format!("\\{letter}"),
        None => "\\".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_split_and_expanded() {
        let variables = vec![
            Variable { name: "A".into(), value: "x y".into() },
            Variable { name: "B".into(), value: "z".into() },
        ];
        let specifiers = UnitSpecifiers { unit: "sync@home.service" };
        let mut warnings = Vec::new();
        let text = r#"/bin/x "a b" $A ${A} pre${B}$$ '%i' %% ; -/bin/y \x41"#;
        let commands = parse(text, specifiers, &variables, &mut warnings);
        assert_eq!(commands[0].words, ["/bin/x", "a b", "x", "y", "x y", "prez$", "home", "%"]);
        assert_eq!(
            commands[1],
            ExecCommand { words: vec!["/bin/y".into(), "A".into()], ignores_failure: true }
        );
        assert!(warnings.is_empty(), "{warnings:?}");
        let script = to_container_command(&commands);
        assert!(script[2].ends_with(" &&\n{ /bin/y A || true; }"), "{script:?}");
    }
}
