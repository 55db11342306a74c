//! Tests of applying manifests at the start: a wrong file is reported with a location and keeps no other from running.

use kube::api::ListParams;

use crate::program::{TestHome, api};

const GOOD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n";

fn job(command: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: fixed}}\nspec:\n  suspend: true\n  \
         template:\n    spec:\n      restartPolicy: Never\n      containers:\n      \
         - {{name: a, image: a, command: [{command}]}}\n"
    )
}

async fn count(home: &TestHome, version: &str, kind: &str) -> usize {
    let found = api(&home.client().await, version, kind).list(&ListParams::default()).await;
    found.unwrap().items.iter().filter(|it| it.metadata.name.as_deref() == Some("good")).count()
}

#[tokio::test]
async fn if_nothing_can_run_the_errors_are_reported_and_nothing_is_stored() {
    let home = TestHome::new();
    let cron_job = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: bad}\nspec:\n  \
                    schedule: 61 * * * *\n";
    let bad = home.write("bad.yaml", &format!("{GOOD}---\n{cron_job}---\na: [\n"));
    let output = home.start_error(&[&bad]);
    assert!(
        output.starts_with(
            "error: nothing was applied or started, because the manifests have errors:\n"
        ),
        "{output}"
    );
    let place =
        format!("  {bad}, document 2 (line 5), CronJob bad: spec.schedule: Invalid value: ");
    assert!(output.contains(&place), "{output}");
    assert!(output.contains(&format!("  {bad}, document 3 (line 11): YAML: ")), "{output}");
    let missing = home.path().join("missing.yaml").display().to_string();
    let output = home.start_error(&[&missing]);
    assert!(output.contains(&format!("  {missing}: No such file")), "{output}");
    assert!(!home.path().join("data").exists(), "the data directory was not created");
}

#[tokio::test]
async fn a_wrong_file_keeps_neither_the_other_files_nor_the_stored_objects_from_running() {
    let home = TestHome::new();
    let good = home.write("good.yaml", GOOD);
    let bad = home.write("bad.yaml", &format!("{}---\na: [\n", GOOD.replace("good", "half")));
    let up = home.start(&[&good, &bad]);
    assert_eq!(up.output[2], "ConfigMap default/good created");
    assert_eq!(up.output.len(), 4, "nothing of a wrong file is applied: {:?}", up.output);
    up.stop();
    let up = home.start(&[&bad]);
    assert_eq!(count(&home, "v1", "ConfigMap").await, 1, "stored objects run without a manifest");
    up.stop();
}

#[tokio::test]
async fn a_rejected_object_prevents_all_writes_of_its_file_only() {
    let home = TestHome::new();
    let good = home.write("good.yaml", GOOD);
    let fixed = home.write("fixed.yaml", &job("a"));
    let up = home.start(&[&fixed]);
    assert_eq!(up.output[2], "Job default/fixed created");
    up.stop();
    home.write("fixed.yaml", &format!("{}---\n{}", GOOD.replace("good", "other"), job("b")));
    let log = home.path().join("log");
    let up = home.start_logging_to(std::fs::File::create(&log).unwrap().into(), &[&good, &fixed]);
    assert_eq!(up.output[2..up.output.len() - 1], ["ConfigMap default/good created"]);
    up.stop();
    let log = std::fs::read_to_string(log).unwrap();
    let place =
        format!("  {fixed}, document 2 (line 5), Job fixed: Job.batch \"fixed\" is invalid");
    assert!(log.contains(&place) && log.contains("field is immutable"), "{log}");
}

#[test]
fn unknown_kinds_and_generated_names_are_rejected() {
    let home = TestHome::new();
    let other = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n";
    let output = home.start_error(&[&home.write("other.yaml", &format!("{other}---\n{GOOD}"))]);
    let kind = "Deployment web: kind: no matches for kind \"Deployment\" in version \"apps/v1\"";
    assert!(output.contains(kind), "{output}");
    let nameless = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n";
    let output = home.start_error(&[&home.write("nameless.yaml", nameless)]);
    assert!(output.contains("ConfigMap a-: metadata.name: Required value: "), "{output}");
}
