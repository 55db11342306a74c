//! Finds idioms that save a line and are harder to read: `let (a, b) = (x, y)`, `.filter(|_| flag)`, `match` on a
//! bool and tuple parameters.

use super::{
    rust_source::TokenList,
    source::{SourceFile, TidyFinding, rust_files},
};

pub(super) const CHECK: &str = "line-saving-idioms";
const CONSTANT_FILTER: &str =
    "`.filter(|_| ..)` does not look at the value: use `if` or `bool::then`";
const MATCH_ON_BOOL: &str = "`match` on a bool: use `if` and `else`";
const TUPLE_LET: &str = "`let (a, b) = (x, y)`: use one `let` for each name";
const TUPLE_PARAMETER: &str = "tuple parameter: use a struct or separate parameters";

/// Finds the idioms in shipped code and in tests.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (file, rust) in rust_files(files) {
        for list in &rust.token_lists {
            for at in 0..list.texts.len() {
                if let Some(message) = find_idiom(list, at) {
                    findings.push(TidyFinding::at(CHECK, file, list.line(at), message));
                }
            }
        }
        for function in rust.functions().filter(|it| has_tuple_parameter(&it.signature)) {
            findings.push(TidyFinding::at(CHECK, file, function.line, TUPLE_PARAMETER));
        }
    }
    findings
}

/// The idiom that begins at a token.
fn find_idiom(list: &TokenList, at: usize) -> Option<&'static str> {
    match list.window::<5>(at) {
        [".", "filter", "(", ..] => {
            (list.group(at + 2)?.window(0) == ["|", "_", "|"]).then_some(CONSTANT_FILTER)
        }
        ["true", "=", ">", ..] => {
            let previous = at.checked_sub(1).map(|at| list.text(at));
            matches!(previous, None | Some("," | "{")).then_some(MATCH_ON_BOOL)
        }
        ["let", "(", "=", "(", ";"] => list.is_tuple(at + 3).then_some(TUPLE_LET),
        _ => None,
    }
}

/// Whether a parameter other than of a closure has a tuple as its type.
fn has_tuple_parameter(signature: &TokenList) -> bool {
    let parameters = signature.with_angle_depth().position(|token| token == (0, "("));
    let Some(parameters) = parameters.and_then(|at| signature.group(at)) else {
        return false;
    };
    let depths = parameters.with_angle_depth().enumerate();
    let mut colons = depths.filter(|(_, token)| *token == (0, ":")).map(|(at, _)| at);
    colons.any(|colon| {
        let kind = parameters.texts.iter().skip(colon + 1);
        let marks = kind.take_while(|text| ["&", "mut"].contains(&text.as_str())).count();
        parameters.is_tuple(colon + 1 + marks)
    })
}
