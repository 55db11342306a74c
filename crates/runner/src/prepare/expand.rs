//! `$(NAME)` in commands, arguments and variables.
//!
//! `$$` stands for `$`, so `$$(NAME)` is left as `$(NAME)`. A name that is not known is left as it
//! was written.

use super::Env;

/// Puts values in the place of names.
pub(super) fn expand(text: &str, env: &Env) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let (piece, next) = reference(after, env);
        expanded.push_str(&piece);
        rest = next;
    }
    expanded.push_str(rest);
    expanded
}

/// What stands for a `$` and what follows it, and what comes after that.
fn reference<'a>(after: &'a str, env: &Env) -> (String, &'a str) {
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
    fn names_are_replaced_as_kubernetes_does() {
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
