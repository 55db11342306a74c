//! OpenAPI documents: what the kinds look like and what can be asked of them.
//!
//! kubectl reads them to explain fields, to learn which query parameters a server knows, and to
//! compute patches. There is one document of version 3 for every group and version, an index of
//! them, and one document of version 2 for everything. All are generated from the tables in
//! [`punctual_api::schema`] and [`crate::resource`], and none before somebody asks for it: most
//! servers never build them.
//!
//! Version 2 comes as JSON for tools and as protobuf for kubectl; version 3 is JSON alone, which
//! everybody takes.

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

/// The media types by which clients ask for version 2 as protobuf; the first is that of the answer.
pub(crate) const PROTOBUF_TYPES: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
];

/// A finished document.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// Its JSON, or its protobuf.
    pub(crate) body: Bytes,
    /// A text that changes with the body, for entity tags and for the addresses in the index.
    pub(crate) hash: String,
}

impl Document {
    fn json(value: &Value) -> Self {
        Document::new(value.to_string().into_bytes())
    }

    fn new(body: Vec<u8>) -> Self {
        let body = Bytes::from(body);
        // Good enough to tell two releases apart, and nobody gains by a collision.
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        Document { body, hash: format!("{:016X}", hasher.finish()) }
    }
}

/// The documents of a server, each made when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    dialect: Dialect,
    index: OnceLock<Document>,
    v3: [OnceLock<Document>; GROUP_VERSIONS.len()],
    v2: OnceLock<Document>,
    v2_protobuf: OnceLock<Document>,
}

impl Documents {
    /// The documents of a server that accepts what the dialect says.
    pub(crate) fn new(dialect: Dialect) -> Self {
        Documents { dialect, ..Documents::default() }
    }

    /// The document at `/openapi/v3`.
    pub(crate) fn index(&self) -> &Document {
        self.index.get_or_init(|| {
            let paths: Map<String, Value> = GROUP_VERSIONS
                .into_iter()
                .filter_map(|group_version| {
                    let path = path_of(group_version);
                    let hash = &self.v3(&path)?.hash;
                    let url = format!("/openapi/v3/{path}?hash={hash}");
                    Some((path, json!({ "serverRelativeURL": url })))
                })
                .collect();
            Document::json(&json!({ "paths": paths }))
        })
    }

    /// The document at `/openapi/v3/<path>`, where the path is such as `apis/batch/v1`.
    pub(crate) fn v3(&self, path: &str) -> Option<&Document> {
        let place =
            GROUP_VERSIONS.into_iter().position(|group_version| path_of(group_version) == path)?;
        let (group_version, document) = (*GROUP_VERSIONS.get(place)?, self.v3.get(place)?);
        Some(document.get_or_init(|| Document::json(&v3_document(group_version, self.dialect))))
    }

    /// The document at `/openapi/v2`, as JSON.
    pub(crate) fn v2(&self) -> &Document {
        self.v2.get_or_init(|| Document::json(&v2_document(self.dialect)))
    }

    /// The document at `/openapi/v2`, as protobuf.
    pub(crate) fn v2_protobuf(&self) -> &Document {
        self.v2_protobuf.get_or_init(|| Document::new(proto::encode(&v2_document(self.dialect))))
    }
}

/// The path of a group and version, without the slash it starts with.
fn path_of(group_version: GroupVersion) -> String {
    match group_version.group {
        "" => format!("api/{}", group_version.version),
        group => format!("apis/{group}/{}", group_version.version),
    }
}

fn v3_document(group_version: GroupVersion, dialect: Dialect) -> Value {
    let components = Components::new(group_version, dialect);
    let paths = paths::of(group_version);
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
