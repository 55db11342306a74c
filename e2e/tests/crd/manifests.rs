//! The tables of manifests, one for each kind. Every line has an expected result and changes to the base manifest.

use anyhow::{Context, bail};
use serde_json::{Map, Value};

/// The manifests of one kind.
struct ManifestTable {
    file: &'static str,
    text: &'static str,
    base: &'static str,
    collection: &'static str,
}

const TABLES: [ManifestTable; 2] = [
    ManifestTable {
        file: "manifests.txt",
        text: include_str!("../../testdata/crd/manifests.txt"),
        base: BASE,
        collection: super::SCHEDULED_JOBS,
    },
    ManifestTable {
        file: "run_requests.txt",
        text: include_str!("../../testdata/crd/run_requests.txt"),
        base: include_str!("../../testdata/crd/run_request_base.yaml"),
        collection: super::RUN_REQUESTS,
    },
];
const BASE: &str = include_str!("../../testdata/crd/base.yaml");

/// The pointers that the first segment of a path stands for.
const PATH_BASES: [(&str, &str); 5] = [
    ("meta", "/metadata"),
    ("spec", "/spec"),
    ("job", "/spec/jobTemplate/spec"),
    ("pod", "/spec/jobTemplate/spec/template/spec"),
    ("container", "/spec/jobTemplate/spec/template/spec/containers/0"),
];

/// Whether `punctual validate` and the cluster accept a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ManifestVerdict {
    /// Both accept it.
    Accepted,
    /// Both reject it.
    Rejected,
    /// Only `punctual validate` rejects it. On the cluster, creating the Job fails.
    RejectedByValidate,
    /// Only the cluster rejects it.
    RejectedByCluster,
}

impl ManifestVerdict {
    pub(super) fn new(ours_accepts: bool, cluster_accepts: bool) -> ManifestVerdict {
        match (ours_accepts, cluster_accepts) {
            (true, true) => ManifestVerdict::Accepted,
            (false, false) => ManifestVerdict::Rejected,
            (false, true) => ManifestVerdict::RejectedByValidate,
            (true, false) => ManifestVerdict::RejectedByCluster,
        }
    }

    fn parse(word: &str) -> anyhow::Result<ManifestVerdict> {
        Ok(match word {
            "accepted" => ManifestVerdict::Accepted,
            "rejected" => ManifestVerdict::Rejected,
            "validate-only" => ManifestVerdict::RejectedByValidate,
            "cluster-only" => ManifestVerdict::RejectedByCluster,
            _ => bail!("{word} is not a result"),
        })
    }
}

/// One line of the table.
#[derive(Debug)]
pub(super) struct ManifestCase {
    pub(super) file: &'static str,
    pub(super) line: usize,
    pub(super) text: &'static str,
    pub(super) verdict: ManifestVerdict,
    pub(super) object: Value,
    /// The path to which the object is posted.
    pub(super) collection: &'static str,
}

/// The manifest of a ScheduledJob to which lines apply their changes.
pub(super) fn base() -> anyhow::Result<Value> {
    Ok(serde_saphyr::from_str(BASE)?)
}

/// Reads all tables.
pub(super) fn read() -> anyhow::Result<Vec<ManifestCase>> {
    let mut cases = Vec::new();
    for table in &TABLES {
        cases.extend(table.read().context(table.file)?);
    }
    Ok(cases)
}

impl ManifestTable {
    fn read(&self) -> anyhow::Result<Vec<ManifestCase>> {
        let base = serde_saphyr::from_str(self.base)?;
        let lines = self.text.lines().enumerate().map(|(index, text)| (index + 1, text));
        lines
            .filter(|(_, text)| !text.is_empty() && !text.starts_with('#'))
            .map(|(line, text)| {
                parse(self, line, text, &base).with_context(|| format!("line {line}"))
            })
            .collect()
    }
}

fn parse(
    table: &ManifestTable,
    line: usize,
    text: &'static str,
    base: &Value,
) -> anyhow::Result<ManifestCase> {
    let (verdict, changes) = text.split_once(' ').context("no result")?;
    let changes: Map<String, Value> = serde_json::from_str(changes)?;
    let mut object = base.clone();
    for (path, value) in changes {
        apply_change(&mut object, &path, value).with_context(|| path.clone())?;
    }
    let verdict = ManifestVerdict::parse(verdict)?;
    let ManifestTable { file, collection, .. } = *table;
    Ok(ManifestCase { file, line, text, verdict, object, collection })
}

/// Sets or removes the field at a path.
fn apply_change(object: &mut Value, path: &str, value: Value) -> anyhow::Result<()> {
    let removed = path.strip_prefix('-');
    let (pointer, name) = split_path(removed.unwrap_or(path));
    let parent = get_or_create(object, &pointer)?.as_object_mut().context("not an object")?;
    if removed.is_some() {
        parent.remove(&name);
    } else {
        parent.insert(name, value);
    }
    Ok(())
}

/// The pointer of the object that has the field, and the field's name.
fn split_path(path: &str) -> (String, String) {
    let Some((first, rest)) = path.split_once('/') else {
        return (String::new(), path.to_owned());
    };
    let base = PATH_BASES.iter().find(|(word, _)| *word == first).map_or("", |(_, base)| base);
    match rest.rsplit_once('/') {
        Some((inner, name)) => (format!("{base}/{inner}"), name.to_owned()),
        None => (base.to_owned(), rest.to_owned()),
    }
}

/// The value at a pointer. Missing objects on the way are created.
fn get_or_create<'a>(object: &'a mut Value, pointer: &str) -> anyhow::Result<&'a mut Value> {
    pointer.split('/').skip(1).try_fold(object, |at, name| match at {
        Value::Object(fields) => {
            Ok(fields.entry(name).or_insert_with(|| Value::Object(Map::new())))
        }
        Value::Array(items) => {
            let index: usize = name.parse()?;
            items.get_mut(index).context("no such item")
        }
        _ => bail!("{name} is not inside an object"),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn the_table_parses_and_has_every_result() {
        let manifests = read().unwrap();
        let count = |verdict| manifests.iter().filter(|it| it.verdict == verdict).count();
        assert!(count(ManifestVerdict::Accepted) > 100);
        assert!(count(ManifestVerdict::Rejected) > 150);
        assert!(
            count(ManifestVerdict::RejectedByValidate) + count(ManifestVerdict::RejectedByCluster)
                <= 16,
            "few lines differ"
        );
    }

    pub(crate) fn no_two_lines_have_the_same_manifest() {
        let mut lines = std::collections::HashMap::new();
        for manifest in read().unwrap() {
            let other = lines.insert(manifest.object.to_string(), manifest.line);
            assert_eq!(other, None, "{}:{}", manifest.file, manifest.line);
        }
    }

    pub(crate) fn changes_set_create_and_remove_fields() {
        let mut object = json!({ "spec": { "a": 1 } });
        apply_change(&mut object, "spec/b/c", json!(2)).unwrap();
        apply_change(&mut object, "-spec/a", json!(0)).unwrap();
        apply_change(&mut object, "kind", json!("K")).unwrap();
        assert_eq!(object, json!({ "spec": { "b": { "c": 2 } }, "kind": "K" }));
        assert!(apply_change(&mut object, "spec/b/c/d/e", json!(2)).is_err());
    }
}
