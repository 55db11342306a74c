//! Tests of applying manifests: all or none, and errors have a location.

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
async fn invalid_manifests_are_reported_with_their_location_and_nothing_is_stored() {
    let home = TestHome::new();
    let good = home.write("good.yaml", GOOD);
    let cron_job = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: bad}\nspec:\n  \
                    schedule: 61 * * * *\n";
    let bad = home.write("bad.yaml", &format!("{GOOD}---\n{cron_job}---\na: [\n"));
    let output = home.start_error(&[&good, &bad]);
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
    assert!(!home.path().join("data").exists(), "the data directory was not created");
}

#[tokio::test]
async fn one_rejected_object_prevents_all_writes() {
    let home = TestHome::new();
    let good = home.write("good.yaml", GOOD);
    let fixed = home.write("fixed.yaml", &job("a"));
    let up = home.start(&[&fixed]);
    assert_eq!(up.output[2], "Job default/fixed created");
    up.stop();
    home.write("fixed.yaml", &job("b"));
    let output = home.start_error(&[&good, &fixed]);
    let place =
        format!("  {fixed}, document 1 (line 1), Job fixed: Job.batch \"fixed\" is invalid");
    assert!(output.contains(&place) && output.contains("field is immutable"), "{output}");
    let up = home.start(&[]);
    assert_eq!(count(&home, "v1", "ConfigMap").await, 0);
    up.stop();
    let up = home.start(&[&good]);
    assert_eq!(count(&home, "v1", "ConfigMap").await, 1);
    up.stop();
}

#[test]
fn unknown_kinds_and_duplicate_objects_and_generated_names_are_rejected() {
    let home = TestHome::new();
    let good = home.write("good.yaml", GOOD);
    let other = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n";
    let other = home.write("other.yaml", &format!("{other}---\n{GOOD}"));
    let output = home.start_error(&[&good, &other]);
    let kind = "Deployment web: no matches for kind \"Deployment\" in version \"apps/v1\"";
    assert!(output.contains(kind), "{output}");
    let duplicate = format!("ConfigMap good: is already in {good}, document 1 (line 1)");
    assert!(output.contains(&duplicate), "{output}");
    let nameless = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n";
    let output = home.start_error(&[&home.write("nameless.yaml", nameless)]);
    assert!(output.contains("ConfigMap: metadata.name: Required value: "), "{output}");
}
