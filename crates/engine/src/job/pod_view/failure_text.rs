//! Describes in one short line why a Pod failed, for the condition of its Job.

use punctual_api::Pod;
use punctual_api::pod::ContainerStatus;
use punctual_api::pod::status::{ContainerStateTerminated, phase};

/// The maximum length of the text, in characters.
const CHARS_MAX: usize = 300;

/// Why a Pod failed or restarts a container; `None` if its status has no message about that.
pub(super) fn describe_pod(pod: &Pod) -> Option<String> {
    let status = &pod.status;
    let init = status.init_container_statuses.iter();
    let containers = init.chain(&status.container_statuses);
    let text = containers.filter_map(describe_container).next().or_else(|| {
        let has_message = status.phase == phase::FAILED && !status.message.is_empty();
        has_message.then(|| format!("{}: {}", status.reason, status.message))
    })?;
    Some(one_line(&format!("Pod {}: {text}", pod.metadata.name)))
}

fn describe_container(status: &ContainerStatus) -> Option<String> {
    let states = [&status.state, &status.last_state].into_iter();
    let failed = |end: &&ContainerStateTerminated| end.exit_code != 0 && !end.message.is_empty();
    let end = states.filter_map(|state| state.terminated.as_ref()).find(failed)?;
    let code = end.exit_code;
    let text = match end.message.as_str() {
        // The message says how the container ended.
        message if end.started_at.is_none() || message.contains(&format!("exit code {code}")) => {
            message.to_owned()
        }
        message if message.starts_with("killed") => message.to_owned(),
        message => format!("exit code {code}: {message}"),
    };
    Some(format!("container {:?}: {text}", status.name))
}

/// Joins lines and shortens the text.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    if text.chars().count() <= CHARS_MAX {
        return text;
    }
    text.chars().take(CHARS_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn text(status: Value) -> Option<String> {
        let pod = json!({"metadata": {"name": "p"}, "status": status});
        describe_pod(&serde_json::from_value(pod).unwrap())
    }

    fn ended(state: Value) -> Value {
        json!({"phase": "Failed", "containerStatuses": [{"name": "c", "state": {"terminated": state}}]})
    }

    #[test]
    fn the_text_has_exit_code_and_message_in_one_line() {
        let at = "2026-01-01T00:00:00Z";
        let own =
            json!({"exitCode": 3, "message": "exit code 3; last output:\na\nb", "startedAt": at});
        let want = "Pod p: container \"c\": exit code 3; last output: a b";
        assert_eq!(text(ended(own)).as_deref(), Some(want));
        let written = json!({"exitCode": 4, "message": "no disk", "startedAt": at});
        let want = "Pod p: container \"c\": exit code 4: no disk";
        assert_eq!(text(ended(written)).as_deref(), Some(want));
        let unstarted = json!({"exitCode": 127, "message": "cannot run \"x\""});
        let want = "Pod p: container \"c\": cannot run \"x\"";
        assert_eq!(text(ended(unstarted)).as_deref(), Some(want));
        let restarted = json!({"phase": "Running", "containerStatuses": [{"name": "c",
            "lastState": {"terminated": {"exitCode": 1, "message": "x", "startedAt": at}}}]});
        let want = "Pod p: container \"c\": exit code 1: x";
        assert_eq!(text(restarted).as_deref(), Some(want));
        let unsupported =
            json!({"phase": "Failed", "reason": "UnsupportedPod", "message": "volume"});
        assert_eq!(text(unsupported).as_deref(), Some("Pod p: UnsupportedPod: volume"));
    }

    #[test]
    fn a_pod_without_messages_has_no_text_and_long_messages_are_shortened() {
        assert_eq!(text(ended(json!({"exitCode": 3}))), None);
        assert_eq!(text(json!({"phase": "Running"})), None);
        let long = json!({"exitCode": 1, "message": "x".repeat(5000)});
        assert_eq!(text(ended(long)).unwrap().chars().count(), CHARS_MAX);
    }
}
