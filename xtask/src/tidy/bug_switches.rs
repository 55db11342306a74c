//! Deliberate bugs in product code. They belong to the catalogue of mutations.

use super::{finding::TidyFinding, source::SourceFile};

pub(super) const CHECK: &str = "bug-switches";
/// Parts that apply, list or look for deliberate bugs.
const TEST_PARTS: [&str; 3] = ["mutations", "sim", "xtask"];

/// Finds each switch in shipped code of a product crate.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    files.iter().filter(|file| !TEST_PARTS.contains(&file.part())).flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<TidyFinding> {
    let Some(rust) = &file.rust else {
        return Vec::new();
    };
    let lines = rust.views.code.lines().take(rust.shipped_lines).enumerate();
    lines
        .filter(|(_, line)| line.contains("has(Bug"))
        .map(|(index, _)| {
            let message = "deliberate bug in product code: move it to crates/mutations/catalogue";
            TidyFinding::at(CHECK, file, index + 1, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_found_in_product_code_only() {
        let text = "// has(Bug::A)\nif has(Bug::A) {}\n";
        let found = |path| check(&[SourceFile::new(path, text)]).len();
        assert_eq!(found("crates/engine/src/x.rs"), 1);
        assert_eq!(found("crates/sim/src/x.rs"), 0);
    }
}
