//! The CustomResourceDefinition that `punctual crd` prints.

use std::{path::Path, process::Command};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::{Client, probe};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SCHEDULED_JOBS: &str = "/apis/punctual.dev/v1/scheduledjobs";

/// Creates the definition of ScheduledJobs and waits until the server serves them.
pub fn install_crd(client: &mut Client, binary: &Path) -> anyhow::Result<()> {
    let printed = Command::new(binary)
        .args(["crd", "--tzdata", "bundled"])
        .output()
        .context("punctual crd")?;
    ensure!(printed.status.success(), "punctual crd: {}", printed.status);
    let definition: Value = serde_saphyr::from_slice(&printed.stdout)?;
    client.create(DEFINITIONS, &definition)?;
    probe::wait_for("the definition is served", || {
        Ok(client.send("GET", SCHEDULED_JOBS, None)?.is_success())
    })
}
