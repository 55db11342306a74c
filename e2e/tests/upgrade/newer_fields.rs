//! What a newer version writes must survive an older one, which does not know its fields.

use std::time::Duration;

use anyhow::ensure;
use punctual_e2e::{Client, Punctual, json::number, probe};
use serde_json::{Value, json};

use super::{
    data_directory::jobs_of,
    recorded_data::{CRON_JOBS, cron_job},
};

const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// The controllers write the status of an object with unknown fields, and the server restarts. The
/// fields stay, and a Job has those of its template.
pub(super) fn survive(punctual: &Punctual) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let cluster = punctual.up(home.path(), &[])?;
    let mut client = Client::new(&cluster)?;
    let path = format!("{CRON_JOBS}/newer");
    client.create(CRON_JOBS, &newer_cron_job())?;
    client.patch(&format!("{path}/status"), &json!({ "status": { "newerCount": 7 } }))?;
    probe::wait_for("two runs", || Ok(number(&client.get(&path)?, "/status/successfulRuns") >= 2))?;
    client.patch(&path, &json!({ "spec": { "suspend": true } }))?;
    check_fields(&client.get(&path)?)?;
    for job in jobs_of(&mut client, "newer")? {
        let field = job.pointer("/spec/newerJobField");
        ensure!(field == Some(&json!("kept")), "the Job lost the field of its template: {job}");
    }
    cluster.stop(STOP_TIMEOUT)?;
    let server = punctual.start(home.path())?;
    check_fields(&Client::new(&server)?.get(&path)?)?;
    server.stop(STOP_TIMEOUT)
}

fn newer_cron_job() -> Value {
    let spec = json!({ "schedule": "@every 2s", "newerField": { "list": [1, null, "two"] } });
    let mut object = cron_job("newer", "true", &spec);
    if let Some(job) = object.pointer_mut("/spec/jobTemplate/spec").and_then(Value::as_object_mut) {
        job.insert("newerJobField".to_owned(), json!("kept"));
    }
    object
}

fn check_fields(object: &Value) -> anyhow::Result<()> {
    for (pointer, want) in [
        ("/spec/newerField", json!({ "list": [1, null, "two"] })),
        ("/spec/jobTemplate/spec/newerJobField", json!("kept")),
        ("/status/newerCount", json!(7)),
    ] {
        ensure!(object.pointer(pointer) == Some(&want), "{pointer} was lost: {object}");
    }
    Ok(())
}
