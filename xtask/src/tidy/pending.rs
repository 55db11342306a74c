//! Temporary: the checks that some parts of the repository do not pass yet.
//!
//! Each line of the file is `check part`. To end the exemption, delete the file; then delete this module.

use std::{collections::HashSet, fs, io, path::Path};

use super::finding::TidyFinding;

/// The list, relative to the root of the repository.
pub(super) const FILE: &str = "xtask/tidy-pending.txt";

/// Pairs of check and part whose findings do not count.
#[derive(Default)]
pub(super) struct PendingList(HashSet<(String, String)>);

impl PendingList {
    pub(super) fn contains(&self, finding: &TidyFinding) -> bool {
        self.0.contains(&(finding.check.to_owned(), finding.part.clone()))
    }
}

/// Reads the list. A repository without the file has nothing pending.
pub(super) fn read(root: &Path) -> anyhow::Result<PendingList> {
    match fs::read_to_string(root.join(FILE)) {
        Ok(text) => Ok(parse(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(PendingList::default()),
        Err(error) => Err(error.into()),
    }
}

fn parse(text: &str) -> PendingList {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    PendingList(pairs.map(|(check, part)| (check.to_owned(), part.to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_listed_check_of_the_listed_part_is_exempt() {
        let list = parse("# comment\nsizes cli\n");
        let finding = |check, part: &str| TidyFinding {
            check,
            part: part.into(),
            location: "x".into(),
            message: "y".into(),
        };
        assert!(list.contains(&finding("sizes", "cli")));
        assert!(!list.contains(&finding("sizes", "api")));
        assert!(!list.contains(&finding("tricks", "cli")));
    }
}
