//! Content negotiation: the `Content-Type` and `Accept` headers.

use punctual_api::Status;
use punctual_api::status::{StatusDetails, StatusReason};

/// A text format of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextFormat {
    Json,
    Yaml,
}

/// The encoding of a request body. Responses are always text, since every client accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyEncoding {
    Text(TextFormat),
    Protobuf,
}

const KNOWN: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Returns the encoding of a request body that holds an object. It defaults to JSON.
pub(crate) fn encoding(content_type: &str) -> Result<BodyEncoding, Status> {
    match media_type(content_type) {
        "" | "application/json" | "*/*" => Ok(BodyEncoding::Text(TextFormat::Json)),
        "application/yaml" => Ok(BodyEncoding::Text(TextFormat::Yaml)),
        "application/vnd.kubernetes.protobuf" => Ok(BodyEncoding::Protobuf),
        _ => Err(Status::failure(
            StatusReason::UnsupportedMediaType,
            format!(
                "the body of the request was in an unknown format - accepted media types \
                 include: {KNOWN}"
            ),
        )),
    }
}

/// The representation of an object in a response: the parameter `as` of the media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Representation {
    /// The whole object.
    Full,
    /// A table with rows and columns, for people.
    Table,
    /// The metadata only (`PartialObjectMetadata`).
    Metadata,
}

/// The format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseFormat {
    pub(crate) text_format: TextFormat,
    pub(crate) representation: Representation,
}

impl ResponseFormat {
    /// Plain JSON, the default.
    pub(crate) const JSON: ResponseFormat =
        ResponseFormat { text_format: TextFormat::Json, representation: Representation::Full };

    /// Returns the client's most preferred format that the server supports.
    pub(crate) fn negotiate(accept: &str) -> Result<ResponseFormat, Status> {
        if accept.trim().is_empty() {
            return Ok(ResponseFormat::JSON);
        }
        let mut clauses: Vec<_> = accept.split(',').map(AcceptClause::parse).collect();
        clauses.sort_by_key(|clause| std::cmp::Reverse(clause.quality));
        let mut acceptable = clauses.iter().filter(|clause| clause.quality > 0);
        acceptable
            .find_map(AcceptClause::response_format)
            .ok_or_else(ResponseFormat::not_acceptable)
    }

    /// Returns the error for a client that accepts no supported format.
    pub(crate) fn not_acceptable() -> Status {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {KNOWN}");
        Status::failure(StatusReason::NotAcceptable, message).with_details(StatusDetails::default())
    }

    /// Returns the `Content-Type` of the response.
    pub(crate) fn content_type(self) -> &'static str {
        match self.text_format {
            TextFormat::Json => "application/json",
            TextFormat::Yaml => "application/yaml",
        }
    }
}

/// Returns the versions of aggregated discovery that a client prefers over plain JSON, in order.
pub(crate) fn discovery_versions(accept: &str) -> impl Iterator<Item = &str> {
    let clauses = accept.split(',').map(AcceptClause::parse);
    let json = clauses.filter(|clause| clause.media == "application/json");
    json.take_while(|clause| !clause.representation.is_empty())
        .filter(|clause| clause.representation == "APIGroupDiscoveryList")
        .map(|clause| clause.version)
}

/// One media type of an `Accept` header, with its parameters.
struct AcceptClause<'a> {
    media: &'a str,
    representation: &'a str,
    group: &'a str,
    version: &'a str,
    /// The quality in thousandths.
    quality: u16,
}

impl<'a> AcceptClause<'a> {
    fn parse(text: &'a str) -> AcceptClause<'a> {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let mut clause =
            AcceptClause { media, representation: "", group: "", version: "", quality: 1000 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name {
                "as" => clause.representation = value,
                "g" => clause.group = value,
                "v" => clause.version = value,
                "q" => clause.quality = thousandths(value),
                _ => {}
            }
        }
        clause
    }

    fn response_format(&self) -> Option<ResponseFormat> {
        let text_format = match self.media {
            "application/json" | "*/*" | "application/*" => TextFormat::Json,
            "application/yaml" => TextFormat::Yaml,
            _ => return None,
        };
        let is_meta = self.group == "meta.k8s.io" && self.version == "v1";
        let representation = match self.representation {
            "" => Representation::Full,
            "Table" if is_meta => Representation::Table,
            "PartialObjectMetadata" | "PartialObjectMetadataList" if is_meta => {
                Representation::Metadata
            }
            _ => return None,
        };
        Some(ResponseFormat { text_format, representation })
    }
}

/// Parses a quality: `0.75` becomes 750. Invalid qualities become 1000.
fn thousandths(text: &str) -> u16 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let padded: String = part.chars().chain("000".chars()).take(3).collect();
    match (whole, padded.parse::<u16>()) {
        ("0", Ok(part)) => part,
        _ => 1000,
    }
}

/// Returns a `Content-Type` without its parameters.
pub(crate) fn media_type(header: &str) -> &str {
    header.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negotiation_returns_the_first_supported_format() {
        let format = |accept: &str| ResponseFormat::negotiate(accept).unwrap();
        assert_eq!(format(""), ResponseFormat::JSON);
        assert_eq!(format("application/vnd.kubernetes.protobuf, */*"), ResponseFormat::JSON);
        assert_eq!(format("application/yaml").text_format, TextFormat::Yaml);
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,\
                       application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(format(kubectl).representation, Representation::Table);
        assert_eq!(
            format("application/json;as=Table;v=v9;g=meta.k8s.io,application/json").representation,
            Representation::Full
        );
        assert_eq!(format("application/yaml;q=0.5,application/json").text_format, TextFormat::Json);
        let client_go = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(format(client_go), ResponseFormat::JSON);
        let protobuf = "application/vnd.kubernetes.protobuf";
        assert_eq!(ResponseFormat::negotiate(protobuf).unwrap_err().code, 406);
        assert_eq!(ResponseFormat::negotiate("text/csv").unwrap_err().code, 406);
        assert_eq!(ResponseFormat::negotiate("application/json;q=0").unwrap_err().code, 406);
    }

    #[test]
    fn body_encoding_defaults_to_json() {
        let json = Ok(BodyEncoding::Text(TextFormat::Json));
        assert_eq!(encoding(""), json);
        assert_eq!(encoding("application/json; charset=utf-8"), json);
        assert_eq!(encoding("application/yaml"), Ok(BodyEncoding::Text(TextFormat::Yaml)));
        assert_eq!(encoding("application/vnd.kubernetes.protobuf"), Ok(BodyEncoding::Protobuf));
        assert_eq!(encoding("text/plain").unwrap_err().code, 415);
        assert_eq!(encoding("application/vnd.kubernetes.protobuf+x").unwrap_err().code, 415);
    }
}
