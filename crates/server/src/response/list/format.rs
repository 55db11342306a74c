//! The parts of a list in each format: its head, its items one by one, and its tail.

use punctual_api::Status;
use serde_json::{Value, json};

use super::super::ResponseOptions;
use crate::registry::ListMetadata;
use crate::request::{Representation, TextFormat};
use crate::resource::ServedResource;
use crate::stored::{StoredObject, TypeMeta};
use crate::table::{self, partial_metadata};

/// How the items of a list are rendered.
#[derive(Clone, Copy)]
pub(in crate::response) struct ListFormat {
    pub(in crate::response) served: ServedResource,
    pub(in crate::response) options: ResponseOptions,
}

impl ListFormat {
    /// Writes everything before the first item.
    pub(in crate::response) fn write_head(&self, list: &ListMetadata, out: &mut Vec<u8>) {
        let head = self.head(list);
        match self.options.format.text_format {
            TextFormat::Json => {
                let text = head.to_string();
                // The items become the last field of the object.
                out.extend_from_slice(text.strip_suffix('}').unwrap_or(&text).as_bytes());
                out.extend_from_slice(format!(",\"{}\":[", self.items_field()).as_bytes());
            }
            TextFormat::Yaml => out.extend_from_slice(to_yaml(&head).as_bytes()),
        }
    }

    /// Writes an item.
    pub(in crate::response) fn write_item(
        &self,
        stored: &StoredObject,
        is_first: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Status> {
        match self.options.format.text_format {
            TextFormat::Yaml => {
                if is_first {
                    out.extend_from_slice(format!("{}:\n", self.items_field()).as_bytes());
                }
                let item = self.item(&stored.to_served_json()?);
                out.extend_from_slice(to_yaml(&json!([item])).as_bytes());
            }
            TextFormat::Json => {
                if !is_first {
                    out.push(b',');
                }
                match self.options.format.representation {
                    Representation::Full => stored.write(TypeMeta::Omit, out)?,
                    Representation::Metadata => stored.write_metadata(out)?,
                    Representation::Table => {
                        let row = self.item(&stored.to_served_json()?);
                        out.extend_from_slice(row.to_string().as_bytes());
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes everything after the last item.
    pub(in crate::response) fn write_tail(&self, is_empty: bool, out: &mut Vec<u8>) {
        match self.options.format.text_format {
            TextFormat::Json => out.extend_from_slice(b"]}\n"),
            TextFormat::Yaml if is_empty => {
                out.extend_from_slice(format!("{}: []\n", self.items_field()).as_bytes());
            }
            TextFormat::Yaml => {}
        }
    }

    fn items_field(&self) -> &'static str {
        match self.options.format.representation {
            Representation::Table => "rows",
            Representation::Full | Representation::Metadata => "items",
        }
    }

    /// Returns the list without its items.
    fn head(&self, list: &ListMetadata) -> Value {
        let served = self.served;
        match self.options.format.representation {
            Representation::Full => json!({
                "kind": format!("{}List", served.resource.kind),
                "apiVersion": served.group_version.api_version,
                "metadata": metadata(list),
            }),
            Representation::Metadata => json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata(list),
            }),
            Representation::Table => json!({
                "kind": "Table",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata(list),
                "columnDefinitions": table::column_definitions(served),
            }),
        }
    }

    fn item(&self, tree: &Value) -> Value {
        match self.options.format.representation {
            Representation::Full => tree.clone(),
            Representation::Metadata => partial_metadata::object(tree),
            Representation::Table => {
                table::render_row(self.served, tree, self.options.table_options())
            }
        }
    }
}

fn to_yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_default()
}

fn metadata(list: &ListMetadata) -> Value {
    let mut metadata = json!({"resourceVersion": list.revision.to_string()});
    if let Value::Object(fields) = &mut metadata {
        if !list.continue_token.is_empty() {
            fields.insert("continue".to_owned(), list.continue_token.clone().into());
        }
        fields.extend(list.remaining.map(|count| ("remainingItemCount".to_owned(), count.into())));
    }
    metadata
}
