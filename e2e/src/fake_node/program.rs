//! What a Pod does.

use std::time::Duration;

use serde_json::Value;

const CONTAINER: &str = "/spec/containers/0";

/// What a Pod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// It ends at once with this exit code.
    Ends(u8),
    /// It runs for a while and ends well.
    Sleeps(Duration),
}

impl Program {
    pub(super) fn of(pod: &Value) -> Program {
        let words = ["command", "args"].into_iter().flat_map(|list| {
            let words = pod.pointer(&format!("{CONTAINER}/{list}")).and_then(Value::as_array);
            words.into_iter().flatten().filter_map(Value::as_str)
        });
        match words.collect::<Vec<_>>().as_slice() {
            ["false", ..] => Program::Ends(1),
            ["sleep", seconds] => {
                Program::Sleeps(Duration::from_secs(seconds.parse().unwrap_or(u32::MAX.into())))
            }
            _ => Program::Ends(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_does_what_its_command_says() {
        for (command, want) in [
            (json!(["true"]), Program::Ends(0)),
            (json!(["false"]), Program::Ends(1)),
            (json!(["sleep", "5"]), Program::Sleeps(Duration::from_secs(5))),
            (json!(null), Program::Ends(0)),
        ] {
            let pod = json!({ "spec": { "containers": [{ "command": command }] } });
            assert_eq!(Program::of(&pod), want, "{command}");
        }
    }
}
