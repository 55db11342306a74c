//! The table of manifests: a verdict and the changes to a base in every line.

use anyhow::{Context, bail};
use serde_json::{Map, Value};

const BASE: &str = include_str!("../../testdata/crd/base.yaml");
const TABLE: &str = include_str!("../../testdata/crd/manifests.txt");

/// What the first word of a path stands for.
const PLACES: [(&str, &str); 5] = [
    ("meta", "/metadata"),
    ("spec", "/spec"),
    ("job", "/spec/jobTemplate/spec"),
    ("pod", "/spec/jobTemplate/spec/template/spec"),
    ("container", "/spec/jobTemplate/spec/template/spec/containers/0"),
];

/// Who accepts a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Both.
    Accepted,
    /// Neither.
    Refused,
    /// The cluster alone; the Job is refused when it is made.
    Later,
    /// `punctual validate` alone.
    Stricter,
}

impl Verdict {
    pub(super) fn of(ours_accepts: bool, cluster_accepts: bool) -> Verdict {
        match (ours_accepts, cluster_accepts) {
            (true, true) => Verdict::Accepted,
            (false, false) => Verdict::Refused,
            (false, true) => Verdict::Later,
            (true, false) => Verdict::Stricter,
        }
    }

    fn parse(word: &str) -> anyhow::Result<Verdict> {
        Ok(match word {
            "accepted" => Verdict::Accepted,
            "refused" => Verdict::Refused,
            "later" => Verdict::Later,
            "stricter" => Verdict::Stricter,
            _ => bail!("{word} is no verdict"),
        })
    }
}

/// A line of the table.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) line: usize,
    pub(super) text: &'static str,
    pub(super) verdict: Verdict,
    pub(super) object: Value,
}

/// The manifest that all others are made of.
pub(super) fn base() -> anyhow::Result<Value> {
    Ok(serde_saphyr::from_str(BASE)?)
}

/// The whole table.
pub(super) fn read() -> anyhow::Result<Vec<Manifest>> {
    let base = base()?;
    let lines = TABLE.lines().enumerate().map(|(index, text)| (index + 1, text));
    lines
        .filter(|(_, text)| !text.is_empty() && !text.starts_with('#'))
        .map(|(line, text)| parse(line, text, &base).with_context(|| format!("line {line}")))
        .collect()
}

fn parse(line: usize, text: &'static str, base: &Value) -> anyhow::Result<Manifest> {
    let (verdict, changes) = text.split_once(' ').context("no verdict")?;
    let changes: Map<String, Value> = serde_json::from_str(changes)?;
    let mut object = base.clone();
    for (path, value) in changes {
        change(&mut object, &path, value).with_context(|| path.clone())?;
    }
    Ok(Manifest { line, text, verdict: Verdict::parse(verdict)?, object })
}

/// Sets what is at a path, or removes it.
fn change(object: &mut Value, path: &str, value: Value) -> anyhow::Result<()> {
    let (path, is_removed) = match path.strip_prefix('-') {
        Some(path) => (path, true),
        None => (path, false),
    };
    let (pointer, name) = locate(path);
    let parent = make(object, &pointer)?.as_object_mut().context("nothing to change")?;
    match is_removed {
        true => parent.remove(&name),
        false => parent.insert(name, value),
    };
    Ok(())
}

/// The pointer of what holds a field, and the field's name.
fn locate(path: &str) -> (String, String) {
    let Some((first, rest)) = path.split_once('/') else {
        return (String::new(), path.to_owned());
    };
    let place = PLACES.iter().find(|(word, _)| *word == first).map_or("", |(_, place)| place);
    match rest.rsplit_once('/') {
        Some((inner, name)) => (format!("{place}/{inner}"), name.to_owned()),
        None => (place.to_owned(), rest.to_owned()),
    }
}

/// What a pointer points to, with the objects on the way made where they are missing.
fn make<'a>(object: &'a mut Value, pointer: &str) -> anyhow::Result<&'a mut Value> {
    pointer.split('/').skip(1).try_fold(object, |at, name| match at {
        Value::Object(fields) => {
            Ok(fields.entry(name).or_insert_with(|| Value::Object(Map::new())))
        }
        Value::Array(items) => {
            let index: usize = name.parse()?;
            items.get_mut(index).context("no such item")
        }
        _ => bail!("{name} is inside of no object"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_is_read_and_has_every_verdict() {
        let manifests = read().unwrap();
        let count = |verdict| manifests.iter().filter(|it| it.verdict == verdict).count();
        assert!(count(Verdict::Accepted) > 100);
        assert!(count(Verdict::Refused) > 150);
        assert!(count(Verdict::Later) + count(Verdict::Stricter) < 12, "nearly none differ");
    }

    #[test]
    fn no_two_lines_make_one_manifest() {
        let mut seen = std::collections::HashMap::new();
        for manifest in read().unwrap() {
            let other = seen.insert(manifest.object.to_string(), manifest.line);
            assert_eq!(other, None, "line {}", manifest.line);
        }
    }

    #[test]
    fn a_path_sets_makes_and_removes() {
        let mut object = json!({ "spec": { "a": 1 } });
        change(&mut object, "spec/b/c", json!(2)).unwrap();
        change(&mut object, "-spec/a", json!(0)).unwrap();
        change(&mut object, "kind", json!("K")).unwrap();
        assert_eq!(object, json!({ "spec": { "b": { "c": 2 } }, "kind": "K" }));
        assert!(change(&mut object, "spec/b/c/d/e", json!(2)).is_err());
    }
}
