//! Runs the commands that need no server.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "../../schedule/tests/recorded/mod.rs"]
mod recorded;

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

/// Returns the program with the bundled time zone data and a fixed environment.
fn punctual(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.env_remove("PUNCTUAL_TIME_ZONE").env("PUNCTUAL_TZDATA", "bundled").env("TZ", "UTC");
    command.args(args);
    command
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn stdout(args: &[&str]) -> String {
    let output = punctual(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", text(output.stderr));
    text(output.stdout)
}

/// Returns standard error and the exit status.
fn stderr_and_status(args: &[&str]) -> (String, i32) {
    let Output { status, stderr, .. } = punctual(args).output().unwrap();
    (text(stderr), status.code().unwrap())
}

/// Returns the answers of `next --stdin`.
fn next_stdin(requests: String) -> Vec<Value> {
    let mut command = punctual(&["next", "--stdin"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(requests.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    text(output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn next_stdin_returns_the_recorded_slots() {
    let recorded = recorded::read_slots();
    let request = |slots: &recorded::RecordedSlots| {
        let count = slots.next.len();
        json!({"expr": slots.expr, "tz": slots.tz, "after": slots.after, "count": count})
    };
    let requests = recorded.iter().map(|slots| format!("{}\n", request(slots))).collect();
    let answers = next_stdin(requests);
    assert_eq!(answers.len(), recorded.len());
    for (slots, answer) in recorded.iter().zip(answers) {
        assert_eq!(answer, json!({ "next": slots.next }), "{} in {}", slots.expr, slots.tz);
    }
}

#[test]
fn next_stdin_returns_the_recorded_errors() {
    let recorded = recorded::read_parse_results();
    let requests = recorded.iter().map(|text| format!("{}\n", json!({"expr": text.expr})));
    let answers = next_stdin(requests.collect());
    assert_eq!(answers.len(), recorded.len());
    for (text, answer) in recorded.iter().zip(answers) {
        assert_ne!(answer["next"].is_array(), answer["error"].is_string(), "{}", text.expr);
        text.compare(answer["error"].as_str());
    }
}

#[test]
fn invalid_requests_are_answered_with_errors() {
    let long = format!("{{\"expr\":\"{}\"}}\n", "x".repeat(17 << 20));
    let requests = [
        "nonsense\n",
        "[\"* * * * *\", null, null, null]\n",
        "\n",
        "{\"expr\":5}\n",
        "{\"tz\":\"UTC\"}\n",
        "{\"expr\":\"* * * * *\",\"tz\":\"utc\"}\n",
        "{\"expr\":\"* * * * *\",\"after\":\"yesterday\"}\n",
        "{\"expr\":\"* * * * *\",\"count\":4000000000}\n",
        &long,
        "{\"expr\":\"0 0 1 1 *\",\"after\":\"2026-06-01T00:00:00Z\",\"count\":1,\"more\":true}",
    ];
    let answers = next_stdin(requests.concat());
    let errors: Vec<&str> = answers.iter().filter_map(|answer| answer["error"].as_str()).collect();
    let wanted = "expected an object like {\"expr\":\"0 9 * * *\",\"tz\":\"Europe/Berlin\"}";
    assert!(errors[0].starts_with(wanted), "{}", errors[0]);
    assert_eq!(errors[1], wanted);
    assert!(errors[2].contains("invalid type: integer `5`"), "{}", errors[2]);
    assert!(errors[3].contains("missing field `expr`"), "{}", errors[3]);
    assert_eq!(errors[4], "unknown time zone utc");
    assert!(errors[5].starts_with("\"yesterday\" is not a time"), "{}", errors[5]);
    assert_eq!(errors[6], "count must be at most 100000, not 4000000000");
    assert_eq!(errors[7], "the line is longer than 16777216 bytes");
    assert_eq!(answers.last(), Some(&json!({"next": ["2027-01-01T00:00:00Z"]})));
    assert_eq!(answers.len(), 9, "a blank line is ignored");
}

#[test]
fn next_shows_local_time_and_utc() {
    let args = ["next", "30 2 * * *", "--time-zone", "Europe/Berlin", "--count", "3"];
    let table = stdout(&[&args[..], &["--after", "2026-10-24T12:00"]].concat());
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].starts_with("LOCAL (Europe/Berlin)"), "{table}");
    assert_eq!(lines[1], "Sun 2026-10-25 02:30:00 +02:00  2026-10-25T00:30:00Z  14h 30m");
    assert_eq!(lines[2], "Sun 2026-10-25 02:30:00 +01:00  2026-10-25T01:30:00Z  15h 30m");
    assert_eq!(lines[3], "Mon 2026-10-26 02:30:00 +01:00  2026-10-26T01:30:00Z  1d 15h");
}

#[test]
fn next_accepts_unquoted_schedules_and_prints_json() {
    let args = ["next", "0", "0", "29", "2", "?", "--after", "2096-03-01T00:00:00Z"];
    let answer = stdout(&[&args[..], &["-n1", "-o", "json"]].concat());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["schedule"], "0 0 29 2 ?");
    assert_eq!(answer["slots"][0]["utc"], "2104-02-29T00:00:00Z");
    assert_eq!(answer["slots"].as_array().unwrap().len(), 1);
}

#[test]
fn a_schedule_without_slots_prints_no_further_slot() {
    assert_eq!(stdout(&["next", "0 0 31 2 *"]), "no further slot\n");
    let past = stdout(&["next", "@at 2020-01-01T00:00:00Z"]);
    assert_eq!(past, "no further slot\n");
}

#[test]
fn explain_prints_a_description_and_lints() {
    let text = stdout(&["explain", "30 2 13 * 5", "--time-zone", "America/New_York", "-n", "1"]);
    let wanted = "At 02:30 on day 13 of the month and on every Friday, in America/New_York.\n";
    assert!(text.starts_with(wanted), "{text}");
    assert!(text.contains("[either-day]") && text.contains("LOCAL (America/New_York)"), "{text}");
    let answer = stdout(&["explain", "*/40 * * * *", "-o", "json"]);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["lints"][0]["code"], "uneven-step");
}

#[test]
fn errors_are_explained_and_set_the_exit_status() {
    let cases: [(&[&str], &str, i32); 6] = [
        (
            &["next", "0 24 * * *"],
            "error: schedule \"0 24 * * *\", hour field: end of range (24) above maximum (23): 24\n",
            1,
        ),
        (
            &["next", "* * * *"],
            "error: schedule \"* * * *\": expected exactly 5 fields, found 4: [* * * *]\n",
            1,
        ),
        (
            &["next", "@daily", "--time-zone", "europe/berlin"],
            "error: unknown time zone europe/berlin; did you mean Europe/Berlin?\n",
            1,
        ),
        (&["next", "@daily", "--tzdata", "/nowhere"], "error: no time zone data in /nowhere", 1),
        (
            &["up", "/nowhere.yaml"],
            "error: nothing was applied or started, because the manifests have errors:\n  /nowhere.yaml: No such file",
            1,
        ),
        (&["next"], "error: the following required arguments were not provided", 2),
    ];
    for (args, wanted, code) in cases {
        let (message, status) = stderr_and_status(args);
        assert!(message.starts_with(wanted), "{args:?}: {message}");
        assert_eq!(status, code, "{args:?}");
    }
}

#[test]
fn version_prints_program_and_time_zone_data() {
    let text = stdout(&["version"]);
    let wanted = format!("punctual {}\ntzdata 20", env!("CARGO_PKG_VERSION"));
    assert!(text.starts_with(&wanted), "{text}");
}

#[test]
fn help_lists_every_command() {
    let text = stdout(&["--help"]);
    for command in
        ["up", "serve", "next", "explain", "validate", "decide", "version", "completions"]
    {
        assert!(text.contains(&format!("\n  {command} ")), "{command}");
    }
}

#[test]
fn completions_exist_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(stdout(&["completions", shell]).contains("explain"), "{shell}");
    }
}
