//! Checks kinds that `punctual validate` does not put through all write rules of the server: only
//! their metadata and a few fields.

use punctual_api::{
    FieldError, ObjectMeta, Status,
    core_v1::{ConfigMap, Namespace, Secret},
    lease::Lease,
    validate,
    write_rules::CreateContext,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A kind of which only the metadata and a few fields have rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SimpleKind {
    ConfigMap,
    Secret,
    Namespace,
    Lease,
    Node,
    /// Any other namespaced kind. Only its metadata is checked.
    Other,
}

impl SimpleKind {
    pub(super) fn is_namespaced(self) -> bool {
        !matches!(self, SimpleKind::Namespace | SimpleKind::Node)
    }

    /// Returns the errors of a decoded object.
    pub(super) fn check(
        self,
        mut object: Value,
        context: &CreateContext<'_>,
    ) -> Result<Vec<FieldError>, Status> {
        self.fill_metadata(&mut object, context);
        Ok(match self {
            SimpleKind::ConfigMap => validate::config_map(&typed::<ConfigMap>(object)?, None),
            SimpleKind::Secret => {
                encode_string_data(&mut object);
                validate::secret(&typed::<Secret>(object)?, None)
            }
            SimpleKind::Namespace => validate::namespace_create(&typed::<Namespace>(object)?),
            SimpleKind::Lease => validate::lease(&typed::<Lease>(object)?, None),
            SimpleKind::Node | SimpleKind::Other => {
                let metadata = object.get_mut("metadata").map(Value::take).unwrap_or_default();
                let metadata = if metadata.is_null() { Map::new().into() } else { metadata };
                validate::metadata_create(&typed::<ObjectMeta>(metadata)?, self.is_namespaced())
            }
        })
    }

    /// Sets the namespace and the generated name, as the server does.
    fn fill_metadata(self, object: &mut Value, context: &CreateContext<'_>) {
        let Value::Object(fields) = object else { return };
        let metadata = fields.entry("metadata").or_insert_with(|| Map::new().into());
        let Value::Object(metadata) = metadata else { return };
        if self.is_namespaced() {
            metadata.insert("namespace".into(), context.namespace.into());
        }
        let text = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
        let prefix = text("generateName").to_owned();
        if text("name").is_empty() && !prefix.is_empty() {
            metadata.insert("name".into(), format!("{prefix}{}", context.suffix).into());
        }
    }
}

/// Moves `stringData` into `data` as a placeholder of the encoded length. The rules check only the
/// length, so the secret itself is not copied.
fn encode_string_data(secret: &mut Value) {
    let Value::Object(fields) = secret else { return };
    let Some(Value::Object(texts)) = fields.remove("stringData") else { return };
    let data = fields.entry("data").or_insert_with(|| Map::new().into());
    let Value::Object(data) = data else { return };
    for (key, text) in texts {
        let len = text.as_str().map_or(0, str::len);
        data.insert(key, "A".repeat(len.div_ceil(3) * 4).into());
    }
}

fn typed<T: DeserializeOwned>(object: Value) -> Result<T, Status> {
    serde_json::from_value(object).map_err(|error| Status::bad_request(error.to_string()))
}
