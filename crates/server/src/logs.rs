//! Requests for Pod logs, and the interface to the component that has them.

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use jiff::Timestamp;
use punctual_api::field::{FieldError, FieldPath};
use punctual_api::status::GroupKind;
use punctual_api::{Pod, Status};

use crate::request::QueryParams;

/// The options of a log request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogQuery {
    /// The container.
    pub container: String,
    /// Whether to stream new lines until the container ends.
    pub follow: bool,
    /// Whether to read the log of the previous run of the container.
    pub previous: bool,
    /// Returns only lines of the last so many seconds.
    pub since_seconds: Option<i64>,
    /// Returns only lines since this time.
    pub since_time: Option<Timestamp>,
    /// Whether each line starts with its time.
    pub timestamps: bool,
    /// Returns at most so many lines, the last ones.
    pub tail_lines: Option<u64>,
    /// Returns at most so many bytes.
    pub limit_bytes: Option<u64>,
}

/// A stream of log lines.
pub type LogStream = BoxStream<'static, std::io::Result<Bytes>>;

/// The component that runs Pods and stores their logs.
pub trait LogSource: Send + Sync {
    /// Returns the log of a Pod's container, or `None` if it has not started.
    fn logs(&self, pod: Pod, query: LogQuery) -> BoxFuture<'_, Result<Option<LogStream>, Status>>;
}

impl LogQuery {
    /// Parses and validates the query of a log request.
    pub(crate) fn parse(query: &QueryParams, pod: &Pod) -> Result<LogQuery, Status> {
        let number =
            |name: &str| query.number(name).map_err(|error| Status::bad_request(error.to_string()));
        let mut errors = Vec::new();
        let mut at_least = |name: &str, least: i64| -> Result<Option<i64>, Status> {
            let value = number(name)?;
            if let Some(value) = value.filter(|value| *value < least) {
                let detail = format!("must be greater than or equal to {least}");
                errors.push(FieldError::invalid(&FieldPath::root(name), value, detail));
            }
            Ok(value)
        };
        let since_seconds = at_least("sinceSeconds", 1)?;
        let tail_lines = at_least("tailLines", 0)?;
        let limit_bytes = at_least("limitBytes", 1)?;
        let stream = query.text("stream");
        if !["", "All"].contains(&stream) {
            errors.push(FieldError::not_supported(&FieldPath::root("stream"), stream, &["All"]));
        }
        if !errors.is_empty() {
            let kind = GroupKind { group: "", kind: "PodLogOptions" };
            return Err(Status::invalid(kind, &pod.metadata.name, &errors));
        }
        let since_time = match query.text("sinceTime") {
            "" => None,
            text => Some(text.parse().map_err(|why| {
                Status::bad_request(format!("sinceTime {text:?} is not a valid time: {why}"))
            })?),
        };
        Ok(LogQuery {
            container: choose_container(query.text("container"), pod)?,
            follow: query.flag("follow"),
            previous: query.flag("previous"),
            since_seconds,
            since_time,
            timestamps: query.flag("timestamps"),
            tail_lines: tail_lines.and_then(|lines| u64::try_from(lines).ok()),
            limit_bytes: limit_bytes.and_then(|bytes| u64::try_from(bytes).ok()),
        })
    }
}

/// Returns the requested container, or the only one if none is requested.
fn choose_container(requested: &str, pod: &Pod) -> Result<String, Status> {
    let name = &pod.metadata.name;
    let main: Vec<&str> = pod.spec.containers.iter().map(|c| c.name.as_str()).collect();
    let init: Vec<&str> = pod.spec.init_containers.iter().map(|c| c.name.as_str()).collect();
    match (requested, main.as_slice()) {
        ("", [only]) => Ok((*only).to_owned()),
        ("", _) => {
            let mut message = format!(
                "a container name must be specified for pod {name}, choose one of: [{}]",
                main.join(" ")
            );
            if !init.is_empty() {
                message = format!("{message} or one of the init containers: [{}]", init.join(" "));
            }
            Err(Status::bad_request(message))
        }
        (requested, main) if main.contains(&requested) || init.contains(&requested) => {
            Ok(requested.to_owned())
        }
        (requested, _) => {
            Err(Status::bad_request(format!("container {requested} is not valid for pod {name}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(containers: &[&str]) -> Pod {
        let containers: Vec<_> =
            containers.iter().map(|name| json!({"name": name, "image": "x"})).collect();
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": containers,
            "initContainers": [{"name": "first", "image": "x"}]}});
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn container_defaults_to_the_only_one_and_must_be_named_otherwise() {
        let container = |query: &str, containers: &[&str]| {
            LogQuery::parse(&QueryParams::parse(query), &pod(containers))
                .map(|query| query.container)
                .map_err(|status| status.message)
        };
        assert_eq!(container("", &["a"]), Ok("a".to_owned()));
        assert_eq!(container("container=first", &["a"]), Ok("first".to_owned()));
        let message = "a container name must be specified for pod p, choose one of: [a b] or one \
                       of the init containers: [first]";
        assert_eq!(container("", &["a", "b"]), Err(message.to_owned()));
        let message = "container c is not valid for pod p";
        assert_eq!(container("container=c", &["a"]), Err(message.to_owned()));
    }

    #[test]
    fn invalid_numbers_and_times_are_refused() {
        let parse = |query: &str| LogQuery::parse(&QueryParams::parse(query), &pod(&["a"]));
        let query = parse("tailLines=5&sinceTime=2026-01-01T00:00:00Z&follow=true").unwrap();
        assert_eq!((query.tail_lines, query.follow), (Some(5), true));
        for (bad, code) in [
            ("tailLines=-1", 422),
            ("sinceSeconds=0", 422),
            ("stream=Stderr", 422),
            ("limitBytes=x", 400),
            ("sinceTime=x", 400),
        ] {
            assert_eq!(parse(bad).unwrap_err().code, code, "{bad}");
        }
    }
}
