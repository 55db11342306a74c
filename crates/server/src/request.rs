//! Parses requests: path, query, options and content types.

mod media_type;
mod options;
mod query;
mod target;

pub(crate) use self::media_type::{
    BodyEncoding, Representation, ResponseFormat, TextFormat, discovery_versions, encoding,
    media_type,
};
pub(crate) use self::options::{
    DeleteOptions, ListOptions, Propagation, VersionMatch, WriteOptions, WriteVerb,
};
pub(crate) use self::query::QueryParams;
pub(crate) use self::target::{KUBERNETES_SERVICE_PATH, RequestTarget};
