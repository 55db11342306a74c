//! The CustomResourceDefinitions that `punctual crd` prints.

use std::{path::Path, process::Command};

use anyhow::{Context, ensure};

use crate::controller::parse_manifests;
use crate::{Client, probe};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const RESOURCES: [&str; 2] =
    ["/apis/punctual.dev/v1/scheduledjobs", "/apis/punctual.dev/v1/runrequests"];

/// Creates the definitions of ScheduledJobs and RunRequests and waits until the server serves them.
pub fn install_crd(client: &mut Client, binary: &Path) -> anyhow::Result<()> {
    let printed = Command::new(binary)
        .args(["crd", "--tzdata", "bundled"])
        .output()
        .context("punctual crd")?;
    ensure!(printed.status.success(), "punctual crd: {}", printed.status);
    let definitions = parse_manifests(&String::from_utf8(printed.stdout)?)?;
    ensure!(definitions.len() == RESOURCES.len(), "{} definitions", definitions.len());
    for definition in &definitions {
        client.create(DEFINITIONS, definition)?;
    }
    for path in RESOURCES {
        probe::wait_for("the definition is served", || {
            Ok(client.send("GET", path, None)?.is_success())
        })?;
    }
    Ok(())
}
