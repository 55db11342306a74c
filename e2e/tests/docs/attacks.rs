//! Checks `docs/attacks.md`: it has every item, and every item has tests that exist.

use std::fs;

use anyhow::Context;
use punctual_e2e::files::repository_root;

use super::design_documents::{KnownNames, inline_codes};

const PAGE: &str = "docs/attacks.md";
/// The lists of items, and how many each has.
const LISTS: [(&str, usize); 3] = [("Server", 15), ("Runner", 9), ("Correctness", 2)];

/// A row of the page's tables.
#[derive(Debug, PartialEq, Eq)]
struct AttackItem<'a> {
    /// The list and the number, such as `Server 1`.
    name: &'a str,
    tests: Vec<&'a str>,
}

/// What is wrong with the page, one line each.
pub(super) fn problems() -> anyhow::Result<Vec<String>> {
    let page = fs::read_to_string(repository_root().join(PAGE)).context(PAGE)?;
    let mut names = KnownNames::read()?;
    let items = items(&page);
    let mut problems = Vec::new();
    let wanted = LISTS
        .into_iter()
        .flat_map(|(list, count)| (1..=count).map(move |number| format!("{list} {number}")));
    for wanted in wanted {
        let count = items.iter().filter(|item| item.name == wanted).count();
        if count != 1 {
            problems.push(format!("{wanted} has {count} rows"));
        }
    }
    for AttackItem { name, tests } in &items {
        if tests.is_empty() {
            problems.push(format!("{name} has no test"));
        }
        for test in tests {
            if !test.contains("::") || !names.contains(test)? {
                problems.push(format!("{name}: the test {test} does not exist"));
            }
        }
    }
    Ok(problems)
}

/// The rows with four columns whose first one is an item.
fn items(page: &str) -> Vec<AttackItem<'_>> {
    let item = |row| {
        let columns: Vec<&str> = str::split(row, " | ").collect();
        let [item, _, _, tests] = columns.as_slice() else { return None };
        let (name, _) = item.strip_prefix("| ")?.split_once(": ")?;
        Some(AttackItem { name, tests: inline_codes(tests).collect() })
    };
    page.lines().filter_map(item).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn items_are_the_rows_with_a_name_and_tests() {
        let page = "| item | before | now | tests |\n|---|---|---|---|\n\
                    | Server 1: x | a | b | `store::c`, `cli::d` |\n| Server 2: y | a | b | |\n";
        let first = AttackItem { name: "Server 1", tests: vec!["store::c", "cli::d"] };
        assert_eq!(items(page).first(), Some(&first));
    }
}
