//! Tests of `punctual validate`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod program;

use std::{fs, io::Write, path::PathBuf, process::Stdio};

use serde_json::{Value, json};

use crate::program::{empty_directory, punctual};

/// The output and exit status of the program.
struct ProgramOutput {
    stdout: String,
    stderr: String,
    status: i32,
}

impl ProgramOutput {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }

    fn documents(&self) -> Vec<Value> {
        self.json()["documents"].as_array().unwrap().clone()
    }
}

/// Runs the command in the directory of the test data, with the bundled time zone data.
fn validate_input(args: &[&str], input: &[u8]) -> ProgramOutput {
    let mut command = punctual(&["validate"]);
    command.current_dir(testdata()).args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The program may exit before it has read all input, so a write error is ignored.
    let writer = std::thread::spawn(move || _ = stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    ProgramOutput {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code().unwrap(),
    }
}

fn validate(args: &[&str]) -> ProgramOutput {
    validate_input(args, b"")
}

fn testdata() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

/// Returns a CronJob manifest with an additional line in its spec.
fn cron_job(line: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: a}}\nspec:\n  {line}\n  \
         jobTemplate: {{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: a, \
         image: a}}]}}}}}}}}\n"
    )
}

#[test]
fn valid_manifests_are_listed_with_their_next_slots() {
    let ProgramOutput { stdout, stderr, status } = validate(&["-f", "good.yaml", "-n", "2"]);
    assert_eq!((status, stderr.as_str()), (0, ""), "{stdout}");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines[0], "good.yaml, document 3 (line 41), Job by-hand-: ok");
    assert_eq!(lines[6], "good.yaml, document 9 (line 75), Lease leader: ok");
    let note = "Deployment web: Deployment of apps/v1 is not checked";
    assert_eq!(lines[7], format!("note: good.yaml, document 10 (line 80), {note}"));
    let titles: Vec<&str> = lines[9].split("  ").filter(|title| !title.is_empty()).collect();
    let wanted = ["KIND", "NAMESPACE", "NAME", "SCHEDULE", "TIME ZONE", "NEXT", "UTC"];
    assert_eq!(titles.iter().map(|title| title.trim()).collect::<Vec<_>>(), wanted);
    assert!(lines[10].starts_with("CronJob       backups    nightly  30 2 * * *  "), "{stdout}");
    assert!(lines[10].contains(" Europe/Berlin ") && lines[10].contains(" 02:30:00 +0"));
    assert!(lines[11].starts_with("   ") && lines[11].contains(" 02:30:00 +0"), "{stdout}");
    assert!(lines[12].contains("(suspended)") && lines[12].contains("(default)"), "{stdout}");
    assert!(lines[12].ends_with("no further slot"), "{stdout}");
    assert_eq!(lines.len(), 13);
}

/// Returns the beginnings of the lines that `validate` prints for `bad.yaml`.
fn errors_of_bad_yaml() -> Vec<String> {
    let nightly = "document 1 (line 1), CronJob nightly: ";
    let pod_spec = "spec.jobTemplate.spec.template.spec";
    let strict = "strict decoding error: ";
    let errors = [
        format!("{nightly}spec.retries: {strict}unknown field \"spec.retries\""),
        format!("{nightly}spec.suspend: {strict}duplicate field \"spec.suspend\""),
        format!(
            "{nightly}spec.schedule: Invalid value: \"60 * * * *\": end of range (60) above \
             maximum (59): 60"
        ),
        format!("{nightly}spec.timeZone: Invalid value: \"Europe/Atlantis\": unknown time zone"),
        format!("{nightly}spec.concurrencyPolicy: Unsupported value: \"Sometimes\": "),
        format!("{nightly}{pod_spec}.containers[0].name: Invalid value: \"Dump\": "),
        format!("{nightly}{pod_spec}.containers[0].image: Required value"),
        format!("{nightly}{pod_spec}.restartPolicy: Required value: valid values: "),
        "document 2 (line 19), CronJob mistyped: spec.schedule: CronJob in version \"v1\" cannot \
         be handled as a CronJob: json: cannot unmarshal number into Go struct field \
         CronJobSpec.spec.schedule of type string"
            .into(),
        "document 3 (line 25), CronJob misplaced: kind: no matches for kind \"CronJob\" in version \
         \"v1\""
            .into(),
        "document 4 (line 29), CronJob homeless: apiVersion: Required value".into(),
        "document 5 (line 32): expected an object with apiVersion and kind, found a list".into(),
        "document 6 (line 35): YAML: mapping values are not allowed in this context at line 39, \
         column 8"
            .into(),
        "document 7 (line 41), ConfigMap Settings: data.enabled: ConfigMap in ".into(),
        "document 8 (line 46), ConfigMap Settings: metadata.name: Invalid ".into(),
        "document 8 (line 46), ConfigMap Settings: data[a/b]: Invalid value: ".into(),
    ];
    errors.map(|error: String| format!("bad.yaml, {error}")).to_vec()
}

#[test]
fn errors_name_file_document_object_and_field() {
    let ProgramOutput { stdout, stderr, status } = validate(&["-f", "bad.yaml"]);
    assert_eq!((status, stderr.as_str()), (1, "error: 8 of 8 documents are not valid\n"));
    let expected = errors_of_bad_yaml();
    for (line, want) in stdout.lines().zip(&expected) {
        assert!(line.starts_with(want), "{line}\nis not\n{want}");
    }
    assert_eq!(stdout.lines().count(), expected.len(), "{stdout}");
}

#[test]
fn only_strict_rejects_our_extensions() {
    assert_eq!(validate(&["ours.yaml"]).status, 0);
    let ProgramOutput { stdout, status, .. } = validate(&["ours.yaml", "--strict"]);
    assert_eq!(status, 1);
    let fields: Vec<&str> =
        stdout.lines().map(|line| line.split(": ").nth(1).unwrap_or_default()).collect();
    assert_eq!(fields, ["spec.jitter", "spec.schedule", "spec.concurrencyPolicy"], "{stdout}");
    let own = fs::read_to_string(testdata().join("ours.yaml")).unwrap();
    let own = own.replace("batch/v1", "punctual.dev/v1").replace("CronJob", "ScheduledJob");
    assert_eq!(validate_input(&["-f", "-", "--strict"], own.as_bytes()).status, 0);
}

#[test]
fn warnings_are_optional_and_do_not_fail() {
    let quiet = validate(&["-f", "odd.yaml"]);
    assert!(!quiet.stdout.contains("warning:"), "{}", quiet.stdout);
    let ProgramOutput { stdout, stderr, status } = validate(&["-f", "odd.yaml", "--warnings"]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    let subject = "warning: odd.yaml, document 1 (line 2), CronJob odd.name: ";
    let warnings: Vec<&str> = stdout.lines().filter_map(|l| l.strip_prefix(subject)).collect();
    assert!(warnings[0].starts_with("metadata.name: this is used in Pod names"), "{stdout}");
    assert!(warnings[1].contains(".env[1]: hides previous definition of \"A\""), "{stdout}");
    assert!(warnings[2].starts_with("spec.schedule: runs on days that match"), "{stdout}");
    let strict = validate(&["-f", "odd.yaml", "--warnings", "--strict"]);
    assert!(!strict.stdout.contains("spec.schedule:"), "strict mode has no schedule warnings");
}

#[test]
fn lists_and_sequences_of_json_objects_are_expanded() {
    let answer = validate(&["list.json", "-o", "json"]);
    let shown: Vec<Value> = answer
        .documents()
        .iter()
        .map(|d| json!([d["document"], d["line"], d["item"], d["name"], d["errors"][0]["field"]]))
        .collect();
    let wanted = json!([
        [1, 1, 1, "first", null],
        [1, 1, 2, "again", "dta"],
        [2, 9, null, "third", null],
        [3, 11, 1, "fourth", "spec.jobTemplate.spec.template.spec.containers"],
    ]);
    assert_eq!(Value::from(shown), wanted);
    assert_eq!(answer.status, 1);
}

#[test]
fn json_output_contains_everything() {
    let input = cron_job("schedule: '0 0 1 1 *'");
    let args = ["-f", "-", "--time-zone", "Asia/Tokyo", "-n", "1", "-o", "json", "--warnings"];
    let answer = validate_input(&args, input.as_bytes());
    let document = answer.documents().remove(0);
    let next = document["next"][0].clone();
    let local = next["local"].as_str().unwrap();
    assert!(local.ends_with("-01-01T00:00:00+09:00"), "{local}");
    let wanted = json!({
        "file": "standard input", "document": 1, "line": 1, "kind": "CronJob",
        "namespace": "default", "name": "a", "errors": [], "warnings": [],
        "schedule": "0 0 1 1 *", "timeZone": "Asia/Tokyo", "suspended": false, "next": [next],
    });
    assert_eq!(document, wanted);
    assert_eq!(answer.status, 0);

    let answer = validate_input(&["-", "-o", "json"], b"a: [");
    let document = answer.documents().remove(0);
    assert_eq!(answer.status, 1);
    assert!(answer.stderr.starts_with("error: 1 of 1 documents are not valid"));
    assert_eq!([&document["kind"], &document["name"]], [&Value::Null, &Value::Null]);
    assert_eq!([&document["errors"][0]["field"], &document["document"]], [&json!(""), &json!(1)]);
}

#[test]
fn a_directory_is_read_in_name_order() {
    let folder = empty_directory("validate-directory");
    fs::create_dir(folder.join("nested.yaml")).unwrap();
    for (name, text) in [
        ("b.yml", cron_job("schedule: '@daily'")),
        ("a.yaml", cron_job("schedule: '@dayly'")),
        ("c.json", r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"c"}}"#.into()),
        ("notes.txt", "not: [a manifest".into()),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    let path = folder.display().to_string();
    let answer = validate(&["-f", &path, "good.yaml", "-o", "json"]);
    let names: Vec<String> = answer.documents().iter().map(|d| d["file"].to_string()).collect();
    let ends = ["/a.yaml\"", "/b.yml\"", "/c.json\"", "good.yaml\""];
    for (name, end) in names.iter().zip(ends) {
        assert!(name.ends_with(end), "{names:?}");
    }
    assert_eq!(answer.status, 1);

    let empty = folder.join("nested.yaml").display().to_string();
    let answer = validate(&["-f", &empty]);
    assert_eq!(answer.stdout, format!("{empty}: no .yaml, .yml or .json file in it\n"));
    assert_eq!(answer.status, 1);
}

#[test]
fn documents_are_invalid_exactly_if_a_server_rejects_them() {
    let config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    for (input, want) in [
        (cron_job("schedule: '*/5 * * * *'"), ""),
        (cron_job("schedule: '@every 90m'"), ""),
        (cron_job("schedule: '0 0 31 2 *'"), ""),
        (cron_job("schedule: '* * * *'"), "spec.schedule: Invalid value: "),
        (cron_job("schedule: 'TZ=UTC * * * * *'"), "spec.schedule: Invalid value: "),
        (cron_job("schedule: '@daily'\n  jitter: 51"), "spec.jitter: Invalid value: 51: "),
        (cron_job("schedule: '@daily'\n  suspend: 'yes'"), "spec.suspend: CronJob in version "),
        (cron_job("schedule: '@daily'\n  startingDeadlineSeconds: 1.0"), ""),
        (cron_job("schedule: '@daily'\n  startingDeadlineSeconds: -1"), "spec.startingDeadline"),
        (cron_job("schedule: '@daily'").replace("batch/v1", "batch/v1beta1"), ""),
        (cron_job("schedule: '@daily'").replace("batch/v1", "batch/v2"), "kind: no matches for"),
        (cron_job("schedule: '@daily'").replace("batch/v1", "jobs.example.com/v1"), ""),
        (cron_job("schedule: '@daily'").replace("CronJob", "Cronjob"), "kind: no matches for"),
        (cron_job("schedule: '@daily'").replace("name: a}", "name: A_b}"), "metadata.name: Inv"),
        (format!("{config_map}data: {{a: \"1\"}}\n"), ""),
        (format!("{config_map}data: {{a: 1}}\n"), "data.a: ConfigMap in version "),
        (format!("{config_map}---\n---\n"), ""),
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: kubernetes.io/tls\n".into(),
            "data[tls.crt]: Required value",
        ),
        ("apiVersion: v1\nkind: Namespace\nmetadata: {name: a.b}\n".into(), "metadata.name: Inv"),
        ("apiVersion: v1\nkind: ServiceAccount\n".into(), "metadata.name: Required value: "),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: 5\n".into(), "metadata: ConfigMap in version"),
        ("apiVersion: 1\nkind: [ConfigMap]\n".into(), "apiVersion: Required value"),
    ] {
        let ProgramOutput { stdout, status, .. } = validate_input(&["-f", "-"], input.as_bytes());
        assert_eq!(status, i32::from(!want.is_empty()), "{input}{stdout}");
        let first = stdout.lines().next().unwrap();
        let message = first.split_once(": ").unwrap_or_default().1;
        assert!(message.starts_with(want), "{input}{stdout}");
    }
}

#[test]
fn unreadable_input_is_an_error_and_never_a_crash() {
    let laughs = "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n".to_owned()
        + "c: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\n"
        + "e: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\n";
    for (input, want) in [
        (b"".to_vec(), ""),
        (vec![0xff, 0xfe, 0], "standard input: the file is not UTF-8 text: byte 1\n"),
        (vec![b' '; (16 << 20) + 1], "standard input: the file is larger than 16 MiB\n"),
        ("[".repeat(100_000).into_bytes(), "standard input, document 1 (line 1): YAML: "),
        ("{\"a\":".repeat(100_000).into_bytes(), "standard input, document 1 (line 1): JSON: "),
        (laughs.into_bytes(), "standard input, document 1 (line 1): YAML: "),
        (b"a: b: c\n".to_vec(), "standard input, document 1 (line 1): YAML: "),
        (
            b"kind: \"a\\nb\\e[0m\"\n".to_vec(),
            "standard input, document 1 (line 1), a\\nb\\u{1b}[0m: apiV",
        ),
    ] {
        let ProgramOutput { stdout, stderr, status } = validate_input(&["-f", "-"], &input);
        assert_eq!(status, 1, "{want}");
        assert!(stdout.starts_with(want), "{stdout}");
        assert!(stderr.starts_with("error: "), "{stderr}");
    }
    let missing = validate(&["/nowhere.yaml", "odd.yaml"]);
    assert!(missing.stdout.starts_with("/nowhere.yaml: No such file"), "{}", missing.stdout);
    assert!(missing.stdout.contains("odd.name"), "the other file is still checked");
    assert_eq!(missing.status, 1);
}

#[test]
fn a_schedule_needs_quotes_only_if_it_begins_with_a_star_or_an_at_sign() {
    let manifest = |schedule: &str| {
        let template = "{spec: {template: {spec: {restartPolicy: Never, containers: \
                        [{name: a, image: a}]}}}}";
        let text = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n";
        format!("{text}  schedule: {schedule}\n  jobTemplate: {template}\n").into_bytes()
    };
    for schedule in ["0 5 * * *", "1-5 * * * *", "'*/5 * * * *'", "\"@hourly\""] {
        let checked = validate_input(&["-f", "-"], &manifest(schedule));
        assert_eq!(checked.status, 0, "{schedule}: {}", checked.stdout);
    }
    for schedule in ["*/5 * * * *", "@hourly"] {
        let checked = validate_input(&["-f", "-"], &manifest(schedule));
        assert_eq!(checked.status, 1, "{schedule}");
        assert!(checked.stdout.contains("line 5, column 13"), "{}", checked.stdout);
    }
}

#[test]
fn a_policy_that_one_run_can_block_forever_is_pointed_out() {
    let warned = |spec: &str| {
        let manifest = cron_job(&format!("schedule: '0 * * * *'\n  {spec}"));
        let checked = validate_input(&["-f", "-", "--warnings"], manifest.as_bytes());
        assert_eq!(checked.status, 0, "{}", checked.stdout);
        checked.stdout.contains("a run that hangs or whose Pods never start blocks all later runs")
    };
    assert!(warned("concurrencyPolicy: Forbid"));
    assert!(warned("concurrencyPolicy: CatchUp"));
    assert!(!warned("concurrencyPolicy: Allow"));
    assert!(!warned("concurrencyPolicy: Replace"));
    assert!(!warned("concurrencyPolicy: Forbid\n  pendingDeadlineSeconds: 600"));
}

#[test]
fn an_invalid_command_line_exits_with_status_2() {
    for args in [&[][..], &["-f"], &["a.yaml", "-o", "xml"], &["a.yaml", "-n", "many"], &["--odd"]]
    {
        assert_eq!(validate(args).status, 2, "{args:?}");
    }
}

#[test]
fn every_example_is_valid() {
    let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let ProgramOutput { stdout, status, .. } =
        validate(&["-f", &examples.display().to_string(), "--warnings"]);
    assert_eq!(status, 0, "{stdout}");
    assert!(stdout.contains("CronJob") && !stdout.contains("warning:"), "{stdout}");
}

#[test]
fn common_mistakes_have_a_hint_after_the_text_of_kubernetes() {
    let pod = "{restartPolicy: Never, containers: [{name: a, image: a, command: date -u}]}";
    let with_command = format!(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: a}}\nspec:\n  schedule: '@daily'\n  \
         jobTemplate: {{spec: {{template: {{spec: {pod}}}}}}}\n"
    );
    for (manifest, wanted) in [
        (cron_job("schedule: 0 0 * * Monday"), "three letters; write \"0 0 * * mon\""),
        (cron_job("schedule: 0 0 L * *"), "; L and # are not supported; "),
        (
            cron_job("schedule: '@every 1d'"),
            "; an interval has no days or weeks; write \"@every 24h\"",
        ),
        (cron_job("schedule: '@daily'\n  timeZone: Europe/Berln"), "; did you mean Europe/Berlin?"),
        (
            cron_job("schedule: */5 * * * *"),
            "; line 5: write the schedule in quotes: schedule: \"*/5 * * * *\"",
        ),
        (with_command, "; command is a list of words; write command: [\"date\",\"-u\"]"),
    ] {
        let ProgramOutput { stdout, status, .. } = validate_input(&["-"], manifest.as_bytes());
        assert!(status == 1 && stdout.contains(wanted), "{stdout}");
    }
}

#[test]
fn up_rejects_unnamed_unserved_and_duplicate_objects() {
    let named = cron_job("schedule: '@daily'");
    let unnamed = named.replace("{name: a}", "{generateName: a-}");
    let unserved = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n";
    let all = [named.as_str(), &named, &unnamed, unserved].join("---\n");
    let ProgramOutput { stdout, status, .. } = validate_input(&["--up", "-"], all.as_bytes());
    let errors = [
        "document 2 (line 8), CronJob a: is already in standard input, document 1 (line 1)",
        "document 3 (line 15), CronJob a-: metadata.name: Required value: `punctual up` applies",
        "Deployment web: kind: no matches for kind \"Deployment\" in version \"apps/v1\"",
    ];
    for error in errors {
        assert!(stdout.contains(error), "{stdout}");
    }
    assert_eq!(status, 1);
    assert_eq!(validate_input(&["-"], all.as_bytes()).status, 0);
}
