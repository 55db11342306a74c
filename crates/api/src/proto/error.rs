//! Errors of the protobuf decoder, with the texts of Kubernetes' generated decoders.

use crate::json_tree::DEPTH_MAX;

/// An error in a protobuf body.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(test, derive(PartialEq))]
pub(super) enum ProtoError {
    /// The body is empty.
    #[error("empty data")]
    EmptyData,
    /// The body does not start with the prefix of Kubernetes' protobuf messages.
    #[error(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    )]
    WrongPrefix,
    /// The body consists of the prefix only.
    #[error("empty body")]
    EmptyBody,
    /// The message ends inside a field.
    #[error("unexpected EOF")]
    UnexpectedEnd,
    /// An integer has more than ten bytes.
    #[error("proto: integer overflow")]
    Overflow,
    /// A length is negative.
    #[error("proto: negative length found during unmarshaling")]
    NegativeLength,
    /// The wire type of a field does not fit the field.
    #[error("proto: wrong wireType = {wire_type} for field {field}")]
    WrongWireType { wire_type: u8, field: String },
    /// The wire type does not exist.
    #[error("proto: illegal wireType {0}")]
    IllegalWireType(u8),
    /// The end of a group has no matching start.
    #[error("proto: {message}: wiretype end group for non-group")]
    EndGroup { message: String },
    /// The field number is not positive. Kubernetes prints the whole key as the wire type.
    #[error("proto: {message}: illegal tag {number} (wire type {key})")]
    IllegalTag { message: String, number: i32, key: u64 },
    /// A string is not UTF-8.
    #[error("proto: field {field} contains invalid UTF-8")]
    InvalidUtf8 { field: String },
    /// The object is nested too deeply.
    #[error("nested more than {DEPTH_MAX} levels deep")]
    TooDeep,
    /// An instant has a year that RFC 3339 cannot express.
    #[error("Time.MarshalJSON: year outside of range [0,9999]")]
    YearOutOfRange,
    /// An `IntOrString` is neither an integer nor a string.
    #[error("impossible IntOrString.Type")]
    IntOrStringType,
    /// Managed fields are not JSON. The text is that of the JSON parser.
    #[error("{0}")]
    Json(String),
}
