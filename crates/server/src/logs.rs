//! What Pods write: the questions about it, and whoever has the answers.

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use jiff::Timestamp;
use punctual_api::field::{FieldError, FieldPath};
use punctual_api::status::GroupKind;
use punctual_api::{Pod, Status};

use crate::request::Query;

/// Which lines are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogQuery {
    /// The container.
    pub container: String,
    /// Whether to go on with what it writes.
    pub follow: bool,
    /// Whether the run before the last is meant.
    pub previous: bool,
    /// Only lines of the last so many seconds.
    pub since_seconds: Option<i64>,
    /// Only lines since then.
    pub since_time: Option<Timestamp>,
    /// Whether each line begins with its time.
    pub timestamps: bool,
    /// Only so many of the last lines.
    pub tail_lines: Option<u64>,
    /// Only so many bytes.
    pub limit_bytes: Option<u64>,
}

/// Lines as they come.
pub type LogStream = BoxStream<'static, std::io::Result<Bytes>>;

/// Whoever runs Pods and keeps what they write.
pub trait LogSource: Send + Sync {
    /// The lines of a Pod's container; none if it has not begun.
    fn logs(&self, pod: Pod, query: LogQuery) -> BoxFuture<'_, Result<Option<LogStream>, Status>>;
}

impl LogQuery {
    /// Reads what a client asks about a Pod.
    pub(crate) fn parse(query: &Query, pod: &Pod) -> Result<LogQuery, Status> {
        let number = |name: &str| query.number(name).map_err(Status::bad_request);
        let mut errors = Vec::new();
        let mut natural = |name: &str, least: i64| -> Result<Option<i64>, Status> {
            let value = number(name)?;
            if let Some(value) = value.filter(|value| *value < least) {
                let detail = format!("must be greater than or equal to {least}");
                errors.push(FieldError::invalid(&FieldPath::root(name), value, detail));
            }
            Ok(value)
        };
        let since_seconds = natural("sinceSeconds", 1)?;
        let tail_lines = natural("tailLines", 0)?;
        let limit_bytes = natural("limitBytes", 1)?;
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
                Status::bad_request(format!("sinceTime {text:?} is no time: {why}"))
            })?),
        };
        Ok(LogQuery {
            container: container(query.text("container"), pod)?,
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

/// The container that is meant: the only one if none is named.
fn container(asked: &str, pod: &Pod) -> Result<String, Status> {
    let name = &pod.metadata.name;
    let main: Vec<&str> = pod.spec.containers.iter().map(|c| c.name.as_str()).collect();
    let init: Vec<&str> = pod.spec.init_containers.iter().map(|c| c.name.as_str()).collect();
    match (asked, main.as_slice()) {
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
        (asked, main) if main.contains(&asked) || init.contains(&asked) => Ok(asked.to_owned()),
        (asked, _) => {
            Err(Status::bad_request(format!("container {asked} is not valid for pod {name}")))
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
    fn the_only_container_is_meant_and_of_several_one_must_be_named() {
        let container = |query: &str, containers: &[&str]| {
            LogQuery::parse(&Query::parse(query), &pod(containers))
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
    fn numbers_and_times_are_checked() {
        let parse = |query: &str| LogQuery::parse(&Query::parse(query), &pod(&["a"]));
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
