//! The form in which a client sends and the one it wants back (`Content-Type` and `Accept`).

use punctual_api::Status;
use punctual_api::status::{StatusDetails, StatusReason};

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFormat {
    Json,
    Yaml,
}

/// How a body is encoded that comes in. What goes out is always text: every client reads that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Text(BodyFormat),
    Protobuf,
}

const KNOWN: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// The encoding of a body that holds an object. None is said for JSON.
pub(crate) fn encoding(content_type: &str) -> Result<Encoding, Status> {
    match media_type(content_type) {
        "" | "application/json" | "*/*" => Ok(Encoding::Text(BodyFormat::Json)),
        "application/yaml" => Ok(Encoding::Text(BodyFormat::Yaml)),
        "application/vnd.kubernetes.protobuf" => Ok(Encoding::Protobuf),
        _ => Err(Status::failure(
            StatusReason::UnsupportedMediaType,
            format!(
                "the body of the request was in an unknown format - accepted media types \
                 include: {KNOWN}"
            ),
        )),
    }
}

/// What an answer consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The object itself.
    Whole,
    /// Rows and columns for people.
    Table,
    /// Its metadata alone.
    Metadata,
}

/// How an answer is written, and what it consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) format: BodyFormat,
    pub(crate) shape: Shape,
}

impl Form {
    /// Plain JSON, for answers that nobody chose the form of.
    pub(crate) const JSON: Form = Form { format: BodyFormat::Json, shape: Shape::Whole };

    /// The first form of the client's list that we can give.
    pub(crate) fn accepted(accept: &str) -> Result<Form, Status> {
        if accept.trim().is_empty() {
            return Ok(Form::JSON);
        }
        let mut clauses: Vec<_> = accept.split(',').map(Clause::parse).collect();
        clauses.sort_by_key(|clause| std::cmp::Reverse(clause.quality));
        let mut acceptable = clauses.iter().filter(|clause| clause.quality > 0);
        acceptable.find_map(Clause::form).ok_or_else(Form::not_acceptable)
    }

    /// There is no form that both sides know.
    pub(crate) fn not_acceptable() -> Status {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {KNOWN}");
        Status::failure(StatusReason::NotAcceptable, message).with_details(StatusDetails::default())
    }

    /// The header of the answer.
    pub(crate) fn content_type(self) -> &'static str {
        match self.format {
            BodyFormat::Json => "application/json",
            BodyFormat::Yaml => "application/yaml",
        }
    }
}

/// The versions of aggregated discovery that a client would rather have than plain JSON, in order.
pub(crate) fn discovery_versions(accept: &str) -> impl Iterator<Item = &str> {
    let clauses = accept.split(',').map(Clause::parse);
    let json = clauses.filter(|clause| clause.media == "application/json");
    json.take_while(|clause| !clause.shape.is_empty())
        .filter(|clause| clause.shape == "APIGroupDiscoveryList")
        .map(|clause| clause.version)
}

/// One part of an `Accept` header.
struct Clause<'a> {
    media: &'a str,
    shape: &'a str,
    group: &'a str,
    version: &'a str,
    /// In thousandths.
    quality: u16,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Clause<'a> {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let mut clause = Clause { media, shape: "", group: "", version: "", quality: 1000 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name {
                "as" => clause.shape = value,
                "g" => clause.group = value,
                "v" => clause.version = value,
                "q" => clause.quality = thousandths(value),
                _ => {}
            }
        }
        clause
    }

    fn form(&self) -> Option<Form> {
        let format = match self.media {
            "application/json" | "*/*" | "application/*" => BodyFormat::Json,
            "application/yaml" => BodyFormat::Yaml,
            _ => return None,
        };
        let is_meta = self.group == "meta.k8s.io" && self.version == "v1";
        let shape = match self.shape {
            "" => Shape::Whole,
            "Table" if is_meta => Shape::Table,
            "PartialObjectMetadata" | "PartialObjectMetadataList" if is_meta => Shape::Metadata,
            _ => return None,
        };
        Some(Form { format, shape })
    }
}

/// `0.75` is 750; what is no such number is 1.
fn thousandths(text: &str) -> u16 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let padded: String = part.chars().chain("000".chars()).take(3).collect();
    match (whole, padded.parse::<u16>()) {
        ("0", Ok(part)) => part,
        _ => 1000,
    }
}

pub(crate) fn media_type(header: &str) -> &str {
    header.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_we_can_give_is_given() {
        let form = |accept: &str| Form::accepted(accept).unwrap();
        assert_eq!(form(""), Form::JSON);
        assert_eq!(form("application/vnd.kubernetes.protobuf, */*"), Form::JSON);
        assert_eq!(form("application/yaml").format, BodyFormat::Yaml);
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,\
                       application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(form(kubectl).shape, Shape::Table);
        assert_eq!(
            form("application/json;as=Table;v=v9;g=meta.k8s.io,application/json").shape,
            Shape::Whole
        );
        assert_eq!(form("application/yaml;q=0.5,application/json").format, BodyFormat::Json);
        let client_go = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(form(client_go), Form::JSON);
        let protobuf = "application/vnd.kubernetes.protobuf";
        assert_eq!(Form::accepted(protobuf).unwrap_err().code, 406);
        assert_eq!(Form::accepted("text/csv").unwrap_err().code, 406);
        assert_eq!(Form::accepted("application/json;q=0").unwrap_err().code, 406);
    }

    #[test]
    fn a_body_is_json_unless_it_says_otherwise() {
        let json = Ok(Encoding::Text(BodyFormat::Json));
        assert_eq!(encoding(""), json);
        assert_eq!(encoding("application/json; charset=utf-8"), json);
        assert_eq!(encoding("application/yaml"), Ok(Encoding::Text(BodyFormat::Yaml)));
        assert_eq!(encoding("application/vnd.kubernetes.protobuf"), Ok(Encoding::Protobuf));
        assert_eq!(encoding("text/plain").unwrap_err().code, 415);
        assert_eq!(encoding("application/vnd.kubernetes.protobuf+x").unwrap_err().code, 415);
    }
}
