//! Constructions that save a line and cost the reader a moment.

use super::{
    finding::TidyFinding,
    items::FunctionItem,
    source::{RustSource, SourceFile, rust_files},
};

pub(super) const CHECK: &str = "tricks";
const CONSTANT_FILTER: &str =
    "`.filter(|_| ..)` does not look at the value: use `if` or `bool::then`";
const MATCH_ON_BOOL: &str = "`match` on a bool: use `if` and `else`";
const TUPLE_LET: &str = "`let (a, b) = (x, y)`: use one `let` for each name";
const TUPLE_PARAMETER: &str = "tuple parameter: use a struct or separate parameters";

/// Finds the constructions in shipped code and in tests.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    rust_files(files)
        .flat_map(|(file, rust)| {
            let found = find(rust).into_iter();
            found.map(|(line, message)| TidyFinding::at(CHECK, file, line, message))
        })
        .collect()
}

fn find(rust: &RustSource) -> Vec<(usize, &'static str)> {
    let tokens: Vec<&str> = rust.items.tokens.iter().map(|token| token.text.as_str()).collect();
    let mut found = Vec::new();
    for (at, token) in rust.items.tokens.iter().enumerate() {
        let rest = tokens.get(at..).unwrap_or_default();
        let message = match rest {
            [".", "filter", "(", "|", "_", "|", ..] => CONSTANT_FILTER,
            ["{" | "," | "}", "true", "=>", ..] => MATCH_ON_BOOL,
            ["let", "(", ..] if is_tuple_let(rest) => TUPLE_LET,
            _ => continue,
        };
        found.push((token.line, message));
    }
    let functions = rust.items.functions.iter();
    let with_tuples = functions.filter(|function| has_tuple_parameter(rust, function));
    found.extend(with_tuples.map(|function| (function.line, TUPLE_PARAMETER)));
    found
}

/// Whether `let (..) = (..);` assigns a literal tuple.
fn is_tuple_let(tokens: &[&str]) -> bool {
    let pattern_end = 1 + group_length(tokens.get(1..).unwrap_or_default());
    let Some(["=", value @ ..]) = tokens.get(pattern_end..) else {
        return false;
    };
    value.first() == Some(&"(")
        && value.get(group_length(value)) == Some(&";")
        && top_level_commas(value) > 0
}

/// Whether a parameter other than of a closure has a tuple as its type.
fn has_tuple_parameter(rust: &RustSource, function: &FunctionItem) -> bool {
    let tokens = rust.items.texts(&function.signature);
    let Some(start) = tokens.iter().position(|token| *token == "(") else {
        return false;
    };
    let parameters = tokens.get(start..).unwrap_or_default();
    let parameters = parameters.get(..group_length(parameters)).unwrap_or_default();
    let mut depth = 0_usize;
    for (at, token) in parameters.iter().enumerate() {
        match *token {
            "(" | "[" | "<" => depth += 1,
            ")" | "]" | ">" => depth = depth.saturating_sub(1),
            ":" if depth == 1 => {
                let mut kind = parameters.get(at + 1..).unwrap_or_default();
                while let ["&" | "mut", rest @ ..] = kind {
                    kind = rest;
                }
                if kind.first() == Some(&"(") && top_level_commas(kind) > 0 {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// The number of tokens of the group in brackets that the tokens begin with.
fn group_length(tokens: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// The number of commas directly inside the group in brackets that the tokens begin with.
fn top_level_commas(tokens: &[&str]) -> usize {
    let mut depth = 0_usize;
    let mut commas = 0;
    for token in tokens.iter().take(group_length(tokens)) {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "," if depth == 1 => commas += 1,
            _ => {}
        }
    }
    commas
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&'static str> {
        let file = SourceFile::new("crates/a/src/x.rs", text);
        find(&file.rust.unwrap()).into_iter().map(|(_, message)| message).collect()
    }

    #[test]
    fn tricks_are_found() {
        assert_eq!(found("a.filter(|_| flag)"), [CONSTANT_FILTER]);
        assert_eq!(found("match a { true => 1, false => 2 }"), [MATCH_ON_BOOL]);
        assert_eq!(found("let (a, mut b) = (f(1, 2), 3);"), [TUPLE_LET]);
        assert_eq!(found("fn f(a: u8, b: &(u8, u8)) {}"), [TUPLE_PARAMETER]);
        assert_eq!(found("fn f((a, b): (u8, u8)) {}"), [TUPLE_PARAMETER]);
    }

    #[test]
    fn look_alikes_are_allowed() {
        for text in [
            "a.filter(|b| flag)",
            "match a { (true, false) => 1, _ => 2 }",
            "let (a, b) = f(1, 2);",
            "let (a, b) = (f)(1);",
            "let (a, b) = (x, y).sorted();",
            "fn f(a: &[(u8, u8)], b: impl Fn((u8, u8))) -> (u8, u8) {}",
            "// a.filter(|_| flag)",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
    }
}
