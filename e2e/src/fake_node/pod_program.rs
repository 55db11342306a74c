//! What the command of a Pod tells the fake node to do.

use std::time::Duration;

use serde_json::Value;

use crate::json;

/// What the command of a Pod's first container does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PodProgram {
    /// Exits at once with this code.
    Exit(u8),
    /// Runs for this time and succeeds.
    Sleep(Duration),
    /// Never starts, as if its image could not be pulled.
    Never,
}

impl PodProgram {
    pub(super) fn from_pod(pod: &Value) -> PodProgram {
        let container = |list: &str| json::items(pod, &format!("/spec/containers/0/{list}"));
        let words = container("command").iter().chain(container("args"));
        match words.filter_map(Value::as_str).collect::<Vec<_>>().as_slice() {
            ["false" | "/bin/false", ..] => PodProgram::Exit(1),
            ["never"] => PodProgram::Never,
            ["sleep", seconds] => {
                PodProgram::Sleep(Duration::from_secs(seconds.parse().unwrap_or(u32::MAX.into())))
            }
            _ => PodProgram::Exit(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_command_determines_the_program() {
        for (command, want) in [
            (json!(["true"]), PodProgram::Exit(0)),
            (json!(["false"]), PodProgram::Exit(1)),
            (json!(["/bin/false"]), PodProgram::Exit(1)),
            (json!(["sleep", "5"]), PodProgram::Sleep(Duration::from_secs(5))),
            (json!(["never"]), PodProgram::Never),
            (json!(null), PodProgram::Exit(0)),
        ] {
            let pod = json!({ "spec": { "containers": [{ "command": command }] } });
            assert_eq!(PodProgram::from_pod(&pod), want, "{command}");
        }
    }
}
