//! The list of deliberate bugs, read from the files of `catalogue/`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::edit::Edit;

/// One file for each crate of the product.
const FILES: [&str; 8] = [
    include_str!("../catalogue/client.toml"),
    include_str!("../catalogue/controller.toml"),
    include_str!("../catalogue/engine.toml"),
    include_str!("../catalogue/lease.toml"),
    include_str!("../catalogue/queue.toml"),
    include_str!("../catalogue/runner.toml"),
    include_str!("../catalogue/server.toml"),
    include_str!("../catalogue/store.toml"),
];

/// A deliberate bug.
#[derive(Clone, Debug)]
pub struct Mutation {
    /// The name, such as `deadline-ignored`.
    pub name: String,
    /// What goes wrong, in one sentence.
    pub summary: String,
    /// The changes of the sources.
    pub edits: Vec<Edit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogueEntry {
    summary: String,
    edits: Vec<Edit>,
}

/// All bugs, in a fixed order: the position is the index that [`arm`](crate::arm) takes.
#[expect(clippy::expect_used, reason = "the files are part of the program, and a test reads them")]
pub fn catalogue() -> &'static [Mutation] {
    static CATALOGUE: LazyLock<Vec<Mutation>> = LazyLock::new(|| {
        let read = |file: &&str| -> BTreeMap<String, CatalogueEntry> {
            toml::from_str(file).expect("a file of catalogue/ is not valid")
        };
        let entries = FILES.iter().flat_map(read);
        entries
            .map(|(name, CatalogueEntry { summary, edits })| Mutation { name, summary, edits })
            .collect()
    });
    &CATALOGUE
}
