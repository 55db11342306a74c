//! The commands of the manifests in `examples/` work as processes of this machine.

use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};

use crate::program::{TestHome, api, examples, log, wait_for_status};

/// Writes an example to the test's directory. Its host paths are moved there too.
fn copy_example(home: &TestHome, file: &str) -> String {
    let text = std::fs::read_to_string(format!("{}/{file}", examples())).unwrap();
    let folder = home.path().join("host").display().to_string();
    home.write(file, &text.replace("/tmp/punctual-example", &folder))
}

/// Runs the Job template of a CronJob and returns the output of its Pod.
async fn run_now(home: &TestHome, cron_job: &str) -> String {
    let client = home.client().await;
    let found = api(&client, "batch/v1", "CronJob").get(cron_job).await.unwrap();
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": cron_job},
        "spec": found.data["spec"]["jobTemplate"]["spec"]});
    let job = serde_json::from_value(job).unwrap();
    let jobs = api(&client, "batch/v1", "Job");
    jobs.create(&PostParams::default(), &job).await.unwrap();
    wait_for_status(jobs, cron_job, |status| status["succeeded"] == 1).await;
    let params = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={cron_job}"));
    let pods = api(&client, "v1", "Pod").list(&params).await.unwrap();
    let name = pods.items[0].metadata.name.as_deref().unwrap();
    log(&client, &format!("{name}/log")).await.unwrap()
}

#[tokio::test]
async fn the_commands_of_the_examples_succeed() {
    let home = TestHome::new();
    let files = ["hello.yaml", "hourly.yaml", "once.yaml", "timezone.yaml", "suspend.yaml"];
    let files = files.map(|file| copy_example(&home, file));
    let up = home.start(&files.each_ref().map(String::as_str));
    for (cron_job, wanted) in [
        ("hello", "Hello from Punctual"),
        ("hourly", "UTC"),
        ("new-year", "Happy new century"),
        ("opening-berlin", "Guten Morgen"),
        ("opening-new-york", "Good morning"),
        ("cleanup", "cleaning up"),
    ] {
        let output = run_now(&home, cron_job).await;
        assert!(output.contains(wanted), "{cron_job}: {output}");
    }
    up.stop();
}

#[tokio::test]
async fn the_backup_archives_the_files_of_its_source() {
    let home = TestHome::new();
    let source = home.path().join("host/files");
    std::fs::create_dir_all(&source).unwrap();
    std::fs::write(source.join("letter"), "dear").unwrap();
    let up = home.start(&[&copy_example(&home, "backup.yaml")]);
    let output = run_now(&home, "backup").await;
    assert!(output.contains(".tar.gz"), "{output}");
    let archives: Vec<_> = std::fs::read_dir(home.path().join("host/backups")).unwrap().collect();
    let [Ok(archive)] = &archives[..] else { panic!("{archives:?}") };
    let list = std::process::Command::new("tar").arg("-tzf").arg(archive.path()).output().unwrap();
    assert!(String::from_utf8(list.stdout).unwrap().contains("letter"));
    up.stop();
}

#[tokio::test]
async fn each_report_receives_the_end_of_the_one_before_it() {
    let home = TestHome::new();
    let file = copy_example(&home, "report.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    home.write("report.yaml", &text.replace("\"0 * * * *\"", "\"@every 1s\""));
    let up = home.start(&[&file]);
    let client = home.client().await;
    let has_run = |status: &Value| status["successfulRuns"].as_i64() >= Some(3);
    wait_for_status(api(&client, "batch/v1", "CronJob"), "report", has_run).await;
    let pods = api(&client, "v1", "Pod").list(&ListParams::default()).await.unwrap();
    let mut reports = Vec::new();
    for pod in pods.items.iter().filter(|pod| pod.data["status"]["phase"] == "Succeeded") {
        let name = pod.metadata.name.as_deref().unwrap();
        let output = log(&client, &format!("{name}/log")).await.unwrap();
        let interval = output.trim().strip_prefix("report: what happened from ").unwrap();
        let (since, until) = interval.split_once(" until ").unwrap();
        reports.push((until.to_owned(), since.to_owned()));
    }
    reports.sort();
    assert!(reports.len() >= 2, "{reports:?}");
    for pair in reports.windows(2) {
        assert_eq!(pair[0].0, pair[1].1, "{reports:?}");
    }
    up.stop();
}
