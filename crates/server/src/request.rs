//! What a request asks for: which object, how, and in which form.

mod form;
mod options;
mod query;
mod target;

pub(crate) use self::form::{
    BodyFormat, Encoding, Form, Shape, discovery_versions, encoding, media_type,
};
pub(crate) use self::options::{
    DeleteOptions, ListOptions, Propagation, VersionMatch, WriteOptions, WriteVerb,
};
pub(crate) use self::query::Query;
pub(crate) use self::target::{OURSELVES, Target};
