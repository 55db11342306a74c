//! Adds to an object what kubectl and we need to know about it later.
//!
//! The annotation `kubectl.kubernetes.io/last-applied-configuration` has the bytes that `kubectl apply` would write, so
//! `kubectl apply` and `kubectl diff` work with the same manifest afterwards. A label and an annotation of ours name the
//! manifest file, for pruning and for readers.

use std::path::Path;

use serde_json::{Map, Value, json};

/// The annotation of `kubectl apply`.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// All annotations of an object together may have this many bytes. kubectl fails beyond it; we leave the annotation out.
const ANNOTATIONS_LEN_MAX: usize = 256 << 10;
/// The label of the objects of manifest files.
pub(super) const APPLIED_BY: &str = "punctual.dev/applied-by";
/// Its value.
pub(super) const APPLIED_BY_UP: &str = "punctual-up";
/// The annotation with the path of the manifest file.
pub(super) const MANIFEST_FILE: &str = "punctual.dev/manifest-file";

/// Returns the object to apply. `namespace` is empty for cluster-scoped objects, `file` is absent for standard input.
pub(super) fn annotate(mut object: Value, namespace: &str, file: Option<&Path>) -> Value {
    let Some(metadata) = section(&mut object, "metadata") else { return object };
    if !namespace.is_empty() {
        metadata.insert("namespace".into(), namespace.into());
    }
    let Some(annotations) = section_of(metadata, "annotations") else { return object };
    annotations.remove(LAST_APPLIED);
    let used: usize = annotations.iter().map(|(key, value)| key.len() + text_len(value)).sum();
    let configuration = kubectl_json(&object);
    let Some(metadata) = section(&mut object, "metadata") else { return object };
    if let Some(annotations) = section_of(metadata, "annotations") {
        let file = file.map(|file| file.to_string_lossy().into_owned());
        let needed = used + LAST_APPLIED.len() + configuration.len();
        let file_len = file.as_ref().map_or(0, |file| MANIFEST_FILE.len() + file.len());
        if needed + file_len <= ANNOTATIONS_LEN_MAX {
            annotations.insert(LAST_APPLIED.into(), configuration.into());
        }
        if let Some(file) = file
            && used + file_len <= ANNOTATIONS_LEN_MAX
        {
            annotations.insert(MANIFEST_FILE.into(), file.into());
        }
    }
    if file.is_some()
        && let Some(labels) = section_of(metadata, "labels")
    {
        labels.insert(APPLIED_BY.into(), APPLIED_BY_UP.into());
    }
    object
}

fn text_len(value: &Value) -> usize {
    value.as_str().map_or(0, str::len)
}

fn section<'a>(object: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    section_of(object.as_object_mut()?, name)
}

/// Returns a field that is an object, and creates it if it is absent or null.
fn section_of<'a>(
    fields: &'a mut Map<String, Value>,
    name: &str,
) -> Option<&'a mut Map<String, Value>> {
    let field = fields.entry(name).or_insert_with(|| json!({}));
    if field.is_null() {
        *field = json!({});
    }
    field.as_object_mut()
}

/// Encodes an object as Go's JSON encoder does: sorted keys, markup escaped, a line feed at the end.
fn kubectl_json(object: &Value) -> String {
    let text = object.to_string();
    let mut encoded = String::with_capacity(text.len() + 1);
    // These characters only occur in strings.
    for letter in text.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                encoded.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => encoded.push(letter),
        }
    }
    encoded.push('\n');
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_annotation_is_that_of_kubectl() {
        let manifest = json!({
            "kind": "ConfigMap", "apiVersion": "v1",
            "metadata": {"name": "a", "annotations": {LAST_APPLIED: "old", "team": "x"}},
            "data": {"b": "a < b && c\n\u{7}", "a": "ü"},
        });
        let applied = annotate(manifest, "default", Some(Path::new("/m/a.yaml")));
        let annotations = &applied["metadata"]["annotations"];
        // The form that kubectl 1.36 writes.
        let want = "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"ü\",\"b\":\"a \\u003c b \\u0026\\u0026 c\\n\\u0007\"},\
                    \"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{\"team\":\"x\"},\"name\":\"a\",\
                    \"namespace\":\"default\"}}\n";
        assert_eq!(annotations[LAST_APPLIED], want);
        assert_eq!(annotations["team"], "x");
        assert_eq!(annotations[MANIFEST_FILE], "/m/a.yaml");
        assert_eq!(applied["metadata"]["labels"][APPLIED_BY], APPLIED_BY_UP);
    }

    #[test]
    fn kubectl_writes_empty_annotations_and_no_namespace_of_a_namespace() {
        let manifest = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}});
        let applied = annotate(manifest, "", None);
        let want = "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"annotations\":{},\"name\":\"a\"}}\n";
        assert_eq!(applied["metadata"]["annotations"][LAST_APPLIED], want);
        assert!(applied["metadata"].get("labels").is_none(), "standard input is not pruned");
    }

    #[test]
    fn an_object_that_is_too_large_for_the_annotation_has_none() {
        let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "data": {"big": "x".repeat(ANNOTATIONS_LEN_MAX)}});
        let applied = annotate(manifest, "default", Some(Path::new("/m/a.yaml")));
        assert!(applied["metadata"]["annotations"].get(LAST_APPLIED).is_none());
        assert_eq!(applied["metadata"]["annotations"][MANIFEST_FILE], "/m/a.yaml");
    }
}
