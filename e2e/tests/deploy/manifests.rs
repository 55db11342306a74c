//! Files with several manifests, and their comparison.

use std::collections::BTreeMap;

use anyhow::ensure;
use punctual_e2e::json::text;
use serde_json::Value;

/// Labels that Helm adds.
const HELM_LABELS: [&str; 2] = ["helm.sh/chart:", "app.kubernetes.io/managed-by:"];

/// Removes Helm's comments and labels from rendered manifests.
pub(super) fn strip_helm_lines(rendered: &str) -> String {
    let is_kept = |line: &&str| {
        let line = line.trim_start();
        !line.starts_with("# Source:") && !HELM_LABELS.iter().any(|it| line.starts_with(it))
    };
    let lines = rendered.split_inclusive('\n').filter(is_kept);
    let text: String = lines.collect();
    // A template ends with an empty line.
    text.replace("\n\n---\n", "\n---\n").trim_start_matches("---\n").to_owned()
}

/// Returns an error with the first difference between two lists of objects, ignoring their order.
pub(super) fn compare(ours: &[Value], theirs: &[Value]) -> anyhow::Result<()> {
    let ours = by_identity(ours)?;
    let theirs = by_identity(theirs)?;
    let names = |all: &BTreeMap<String, &Value>| all.keys().cloned().collect::<Vec<_>>();
    ensure!(names(&ours) == names(&theirs), "{:#?}\nand\n{:#?}", names(&ours), names(&theirs));
    for ((name, ours), theirs) in ours.iter().zip(theirs.values()) {
        ensure!(ours == theirs, "{name}:\n{ours:#}\nand\n{theirs:#}");
    }
    Ok(())
}

fn by_identity(documents: &[Value]) -> anyhow::Result<BTreeMap<String, &Value>> {
    let named: BTreeMap<_, _> = documents.iter().map(|it| (identity(it), it)).collect();
    ensure!(named.len() == documents.len(), "two objects have the same name");
    Ok(named)
}

/// Kind, namespace and name.
fn identity(document: &Value) -> String {
    let kind = text(document, "/kind");
    let namespace = text(document, "/metadata/namespace");
    format!("{kind} {namespace}/{}", text(document, "/metadata/name"))
}

#[cfg(test)]
pub(crate) mod tests {
    use punctual_e2e::controller::parse_manifests;

    use super::*;

    const RENDERED: &str = "---\n# Source: a\nkind: A\nmetadata:\n  name: a\n  labels:\n    \
                            helm.sh/chart: c\n    b: c\n\n---\n# Source: b\n\n---\nkind: B\n";

    pub(crate) fn lines_of_helm_are_removed() {
        let want = "kind: A\nmetadata:\n  name: a\n  labels:\n    b: c\n---\n\n---\nkind: B\n";
        assert_eq!(strip_helm_lines(RENDERED), want);
        assert_eq!(parse_manifests(&strip_helm_lines(RENDERED)).unwrap().len(), 2);
    }

    pub(crate) fn a_difference_is_reported_with_the_name() {
        let a = parse_manifests("kind: A\nx: 1\n").unwrap();
        let b = parse_manifests("kind: A\nx: 2\n").unwrap();
        compare(&a, &a).unwrap();
        assert!(compare(&a, &b).unwrap_err().to_string().starts_with("A /:"));
        assert!(compare(&a, &[]).is_err());
    }
}
