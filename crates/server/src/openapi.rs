//! OpenAPI documents, which describe the served kinds and operations.
//!
//! kubectl reads them to explain fields, to learn which query parameters a server supports, and to
//! compute patches. There is a version 3 document for every group and version, an index of them,
//! and one version 2 document for everything. All are generated from the tables in
//! [`punctual_api::schema`] and [`crate::resource`] on the first request, since most servers never
//! need them.
//!
//! Version 2 is served as JSON for tools and as protobuf for kubectl; version 3 only as JSON.

mod components;
mod descriptions;
mod enums;
mod merge;
mod names;
mod operation;
mod parameters;
mod paths;
mod proto;
mod swagger;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

use bytes::Bytes;
use punctual_api::Dialect;
use serde_json::{Map, Value, json};

use self::components::Components;
use crate::resource::{GROUP_VERSIONS, GroupVersion};

/// The media types of version 2 in protobuf. Responses have the first.
pub(crate) const PROTOBUF_TYPES: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
];

/// An encoded document.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// The encoded JSON or protobuf.
    pub(crate) body: Bytes,
    /// A hash of the body, for entity tags and for the URLs in the index.
    pub(crate) hash: String,
}

impl Document {
    fn json(value: &Value) -> Self {
        Document::new(value.to_string().into_bytes())
    }

    fn new(body: Vec<u8>) -> Self {
        let body = Bytes::from(body);
        // A fast hash suffices to distinguish releases: a collision harms only the client that
        // provokes it.
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        Document { body, hash: format!("{:016X}", hasher.finish()) }
    }
}

/// The documents of a server. Each is generated at its first use.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    /// Whether the documents describe the fields and values that only Punctual has.
    dialect: Dialect,
    index: OnceLock<Document>,
    v3: [OnceLock<Document>; GROUP_VERSIONS.len()],
    v2: OnceLock<Document>,
    v2_protobuf: OnceLock<Document>,
}

impl Documents {
    /// Creates the documents of a server with a dialect.
    pub(crate) fn new(dialect: Dialect) -> Self {
        Documents { dialect, ..Documents::default() }
    }

    /// Returns the document at `/openapi/v3`.
    pub(crate) fn index(&self) -> &Document {
        self.index.get_or_init(|| {
            let paths: Map<String, Value> = GROUP_VERSIONS
                .into_iter()
                .filter_map(|group_version| {
                    let path = group_version_path(group_version);
                    let hash = &self.v3(&path)?.hash;
                    let url = format!("/openapi/v3/{path}?hash={hash}");
                    Some((path, json!({ "serverRelativeURL": url })))
                })
                .collect();
            Document::json(&json!({ "paths": paths }))
        })
    }

    /// Returns the document at `/openapi/v3/<path>`, where a path is for example `apis/batch/v1`.
    pub(crate) fn v3(&self, path: &str) -> Option<&Document> {
        let index = GROUP_VERSIONS
            .into_iter()
            .position(|group_version| group_version_path(group_version) == path)?;
        let group_version = *GROUP_VERSIONS.get(index)?;
        let document = self.v3.get(index)?;
        Some(document.get_or_init(|| Document::json(&v3_document(group_version, self.dialect))))
    }

    /// Returns the document at `/openapi/v2` as JSON.
    pub(crate) fn v2(&self) -> &Document {
        self.v2.get_or_init(|| Document::json(&v2_document(self.dialect)))
    }

    /// Returns the document at `/openapi/v2` as protobuf.
    pub(crate) fn v2_protobuf(&self) -> &Document {
        self.v2_protobuf.get_or_init(|| Document::new(proto::encode(&v2_document(self.dialect))))
    }
}

/// Returns the path of a group and version, without the leading slash.
fn group_version_path(group_version: GroupVersion) -> String {
    match group_version.group {
        "" => format!("api/{}", group_version.version),
        group => format!("apis/{group}/{}", group_version.version),
    }
}

fn v3_document(group_version: GroupVersion, dialect: Dialect) -> Value {
    let components = Components::new(group_version, dialect);
    let paths = paths::render(group_version);
    let schemas = components.reachable_from(&paths);
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Punctual", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "BearerToken": {
                    "type": "apiKey",
                    "description": "The token of the server, as a bearer token.",
                    "name": "authorization",
                    "in": "header",
                },
            },
        },
    })
}

fn v2_document(dialect: Dialect) -> Value {
    swagger::document(
        GROUP_VERSIONS.into_iter().map(|group_version| v3_document(group_version, dialect)),
    )
}

#[cfg(test)]
mod tests;
