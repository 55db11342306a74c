//! Manifests: a file of many, and whether two of them have the same.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde_json::Value;

/// Labels that say who made an object, not what it is.
const LABELS_OF_HELM: [&str; 2] = ["helm.sh/chart:", "app.kubernetes.io/managed-by:"];

/// All documents of a file.
pub(super) fn parse(text: &str) -> anyhow::Result<Vec<Value>> {
    let texts = text.split("---\n").filter(|text| text.lines().any(is_content));
    texts.map(|text| serde_saphyr::from_str(text).with_context(|| text.to_owned())).collect()
}

fn is_content(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

/// What Helm rendered, without what only Helm says.
pub(super) fn plain(rendered: &str) -> String {
    let is_plain = |line: &&str| {
        let line = line.trim_start();
        !line.starts_with("# Source:") && !LABELS_OF_HELM.iter().any(|it| line.starts_with(it))
    };
    let lines = rendered.split_inclusive('\n').filter(is_plain);
    let text: String = lines.collect();
    // The end of a template is an empty line.
    text.replace("\n\n---\n", "\n---\n").trim_start_matches("---\n").to_owned()
}

/// An error that shows how two lists of objects differ, apart from their order.
pub(super) fn compare(ours: &[Value], theirs: &[Value]) -> anyhow::Result<()> {
    let (ours, theirs) = (by_name(ours)?, by_name(theirs)?);
    let names = |all: &BTreeMap<String, &Value>| all.keys().cloned().collect::<Vec<_>>();
    ensure!(names(&ours) == names(&theirs), "{:#?}\nand\n{:#?}", names(&ours), names(&theirs));
    for ((name, ours), theirs) in ours.iter().zip(theirs.values()) {
        ensure!(ours == theirs, "{name}:\n{ours:#}\nand\n{theirs:#}");
    }
    Ok(())
}

fn by_name(documents: &[Value]) -> anyhow::Result<BTreeMap<String, &Value>> {
    let named: BTreeMap<_, _> = documents.iter().map(|it| (identity(it), it)).collect();
    ensure!(named.len() == documents.len(), "two objects have one name");
    Ok(named)
}

/// Kind, namespace and name.
fn identity(document: &Value) -> String {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or("");
    format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RENDERED: &str = "---\n# Source: a\nkind: A\nmetadata:\n  name: a\n  labels:\n    \
                            helm.sh/chart: c\n    b: c\n\n---\n# Source: b\n\n---\nkind: B\n";

    #[test]
    fn what_only_helm_says_is_left_out() {
        let want = "kind: A\nmetadata:\n  name: a\n  labels:\n    b: c\n---\n\n---\nkind: B\n";
        assert_eq!(plain(RENDERED), want);
        assert_eq!(parse(&plain(RENDERED)).unwrap().len(), 2);
    }

    #[test]
    fn a_difference_is_shown_with_the_name() {
        let (a, b) = (parse("kind: A\nx: 1\n").unwrap(), parse("kind: A\nx: 2\n").unwrap());
        compare(&a, &a).unwrap();
        assert!(compare(&a, &b).unwrap_err().to_string().starts_with("A /:"));
        assert!(compare(&a, &[]).is_err());
    }
}
