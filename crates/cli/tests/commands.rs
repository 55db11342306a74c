//! Tests of the commands that need no server.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "../../schedule/tests/recorded/mod.rs"]
mod recorded;

mod program;

use std::{
    io::Write,
    process::{Output, Stdio},
};

use serde_json::{Value, json};

use crate::program::punctual;

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
    let answers: Vec<Value> =
        text(output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has_error = answers.iter().any(|answer| answer.get("error").is_some());
    assert_eq!(output.status.code(), Some(i32::from(has_error)), "the exit status tells failures");
    answers
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
            "error: schedule \"* * * *\": expected exactly 5 fields, found 4: [* * * *]; a schedule has \
             five fields: minute, hour, day of month, month, day of week\n",
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

/// Returns the object that `run --dry-run` prints as YAML.
fn dry_run(args: &[&str]) -> Value {
    let yaml = stdout(&[&["run", "--dry-run", "-o", "yaml"], args].concat());
    let parsed = punctual_api::yaml::parse_document(&yaml, 0, &mut Default::default());
    parsed.unwrap_or_else(|error| panic!("{error}: {yaml}")).0
}

#[test]
fn run_prints_the_object_that_it_would_create() {
    let args = ["--schedule", "0 14 21 7 *", "--image", "perl", "--name", "pi", "-n", "math"];
    let more = ["--env", "DIGITS=2000", "--env", "EMPTY=", "--concurrency-policy", "Forbid"];
    let command = ["--time-zone", "Asia/Kolkata", "--", "perl", "-wle", "print: 'x' # \n@\ty"];
    let container = json!({"name": "main", "image": "perl",
        "command": ["perl", "-wle", "print: 'x' # \n@\ty"],
        "env": [{"name": "DIGITS", "value": "2000"}, {"name": "EMPTY", "value": ""}]});
    let pod = json!({"restartPolicy": "OnFailure", "containers": [container]});
    let wanted = json!({"apiVersion": "batch/v1", "kind": "CronJob",
        "metadata": {"name": "pi", "namespace": "math"},
        "spec": {"schedule": "0 14 21 7 *", "timeZone": "Asia/Kolkata",
            "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": {"template": {"spec": pod}}}}});
    assert_eq!(dry_run(&[&args[..], &more, &command].concat()), wanted);
}

#[test]
fn run_sets_the_restart_policy() {
    for (args, policy) in [(&["--restart", "Never"][..], "Never"), (&[], "OnFailure")] {
        let object = dry_run(&[&["--schedule", "@hourly"], args, &["--", "date"]].concat());
        let pod = object["spec"]["jobTemplate"]["spec"]["template"]["spec"].clone();
        assert_eq!(pod["restartPolicy"], policy);
    }
}

#[test]
fn run_creates_a_scheduled_job_for_what_kubernetes_does_not_accept_in_a_cron_job() {
    let once = dry_run(&["--at", "2090-01-31T08:00", "--", "/bin/date"]);
    assert_eq!(once["apiVersion"], "punctual.dev/v1");
    assert_eq!(once["kind"], "ScheduledJob");
    assert_eq!(once["metadata"], json!({"name": "date"}));
    assert_eq!(once["spec"]["schedule"], "@at 2090-01-31T08:00");
    assert_eq!(once["spec"]["timeZone"], "UTC");
    let policy = ["--schedule", "@hourly", "--concurrency-policy", "CatchUp", "--", "date"];
    assert_eq!(dry_run(&policy)["kind"], "ScheduledJob");
    assert_eq!(dry_run(&["--every", "1h30m", "--", "date"])["kind"], "CronJob");
    let chosen = ["--at", "2090-01-31T08:00", "--kind", "CronJob", "--", "date"];
    assert_eq!(dry_run(&chosen)["kind"], "CronJob");
}

#[test]
fn run_reports_the_first_run_and_what_is_wrong() {
    let args = ["run", "--dry-run", "--at", "2090-01-31T08:00Z", "--time-zone", "Europe/Berlin"];
    let text = stdout(&[&args[..], &["--", "date"]].concat());
    let wanted = "scheduledjob.punctual.dev/date created (dry run)\n\
                  first run: Tue 2090-01-31 09:00:00 +01:00\n";
    assert_eq!(text, wanted);
    let cases: [(&[&str], &str, i32); 9] = [
        (&["--", "date"], "error: the following required arguments were not provided", 2),
        (&["--every", "1h"], "error: the following required arguments were not provided", 2),
        (&["--every", "1h", "--at", "x", "--", "date"], "error: the argument '--every", 2),
        (&["--every", "1h", "--env", "A", "--", "date"], "error: invalid value 'A' for '--env", 2),
        (
            &["--every", "soon", "--", "date"],
            "error: schedule \"@every soon\": failed to parse duration",
            1,
        ),
        (
            &["--at", "2001-01-01T00:00Z", "--", "date"],
            "error: schedule \"@at 2001-01-01T00:00Z\" has no time in the future",
            1,
        ),
        (&["--every", "1h", "--", "/"], "error: could not derive a name from the program", 1),
        (
            &["--every", "1h", "--name", "A b", "--", "date"],
            "error: CronJob A b: metadata.name: Invalid value: \"A b\"",
            1,
        ),
        (
            &["--every", "1h", "--kubeconfig", "/nowhere", "--", "date"],
            "error: could not read /nowhere",
            1,
        ),
    ];
    for (args, wanted, code) in cases {
        let (message, status) = stderr_and_status(&[&["run"], args].concat());
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
        ["up", "serve", "run", "next", "explain", "validate", "decide", "version", "completions"]
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

#[test]
fn errors_suggest_a_correction() {
    for (schedule, wanted) in [
        (
            "0 0 * * 7",
            "end of range (7) above maximum (6): 7; Sunday is 0, not 7; write \"0 0 * * 0\"",
        ),
        ("@dialy", "unrecognized descriptor: @dialy; did you mean @daily?"),
        ("@reboot", "; a schedule cannot run at the start of the machine; "),
    ] {
        for command in ["next", "explain"] {
            let (stderr, status) = stderr_and_status(&[command, schedule]);
            assert!(status == 1 && stderr.contains(wanted), "{stderr}");
        }
    }
    let (stderr, status) = stderr_and_status(&["next", "@daily", "--time-zone", "Europe/Berln"]);
    assert!(status == 1 && stderr.ends_with("did you mean Europe/Berlin?\n"), "{stderr}");
}

#[test]
fn a_wrong_tz_variable_is_an_error_and_a_posix_rule_is_not() {
    let run = |value: &str| {
        let mut command =
            punctual(&["next", "0 0 * * *", "--after", "2026-07-01T00:00:00Z", "-n1"]);
        command.env("TZ", value).env_remove("PUNCTUAL_TIME_ZONE").output().unwrap()
    };
    let wrong = run("Europe/Berln");
    let stderr = text(wrong.stderr);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        stderr.contains("TZ is \"Europe/Berln\"") && stderr.contains("Europe/Berlin?"),
        "{stderr}"
    );
    let posix = run("EST5EDT,M3.2.0,M11.1.0");
    let stdout = text(posix.stdout);
    assert!(stdout.contains("2026-07-01T04:00:00Z"), "{stdout}{}", text(posix.stderr));
}

#[test]
fn listen_addresses_may_be_a_port_or_localhost() {
    let (stderr, status) = stderr_and_status(&["serve", "--listen", "example.com:1"]);
    assert!(status == 2 && stderr.contains("localhost:6443 or 6443"), "{stderr}");
}
