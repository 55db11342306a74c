//! Expands `$(NAME)` in commands, arguments and variables.
//!
//! `$$` expands to `$`, so `$$(NAME)` becomes `$(NAME)`. A reference to an unknown name is not changed.

use super::Env;

/// Replaces references by the values of variables.
pub(super) fn expand(text: &str, env: &Env) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let (value, next) = expand_reference(after, env);
        expanded.push_str(&value);
        rest = next;
    }
    expanded.push_str(rest);
    expanded
}

/// Expands the reference that follows a `$`. Returns its value and the text after it.
fn expand_reference<'a>(after: &'a str, env: &Env) -> (String, &'a str) {
    if let Some(next) = after.strip_prefix('$') {
        return ("$".to_owned(), next);
    }
    let Some(inner) = after.strip_prefix('(') else { return ("$".to_owned(), after) };
    let Some((name, next)) = inner.split_once(')') else { return ("$(".to_owned(), inner) };
    let value = env.get(name).cloned();
    (value.unwrap_or_else(|| format!("$({name})")), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_expanded_as_in_kubernetes() {
        let env = Env::from([("A".into(), "one".into()), ("E".into(), String::new())]);
        for (text, want) in [
            ("$(A)", "one"),
            ("x$(A)y$(A)", "xoney one".replace(' ', "").as_str()),
            ("$(E)", ""),
            ("$(NONE)", "$(NONE)"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$one"),
            ("$A", "$A"),
            ("$(A", "$(A"),
            ("cost: 5$", "cost: 5$"),
            ("$$", "$"),
            ("$()", "$()"),
            ("", ""),
        ] {
            assert_eq!(expand(text, &env), want, "{text}");
        }
    }
}
