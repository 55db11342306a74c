//! Manifests from files and directories, as far as a schedule needs them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use serde::Deserialize;

const FILE_BYTES_MAX: u64 = 16 << 20;

/// A CronJob or a ScheduledJob.
#[derive(Debug, Deserialize)]
pub(crate) struct CronJob {
    pub(crate) kind: String,
    pub(crate) metadata: Metadata,
    pub(crate) spec: Spec,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Spec {
    pub(crate) schedule: String,
    pub(crate) time_zone: Option<String>,
}

/// Any other document: only its kind is looked at.
#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

/// The CronJobs of all files, in the order of the paths and of their documents.
pub(crate) fn read_cron_jobs(paths: &[PathBuf]) -> anyhow::Result<Vec<CronJob>> {
    let mut found = Vec::new();
    for path in paths {
        for file in files(path)? {
            let read = read_file(&file).with_context(|| format!("{}", file.display()))?;
            found.extend(read);
        }
    }
    Ok(found)
}

/// The file itself, or the manifests of a directory in the order of their names.
fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.into()]);
    }
    let entries = fs::read_dir(path).with_context(|| format!("{}", path.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    files.retain(|file| {
        file.extension().is_some_and(|e| ["yaml", "yml", "json"].iter().any(|known| e == *known))
    });
    files.sort();
    if files.is_empty() {
        bail!("{} has no .yaml, .yml or .json file", path.display());
    }
    Ok(files)
}

fn read_file(file: &Path) -> anyhow::Result<Vec<CronJob>> {
    if fs::metadata(file)?.len() > FILE_BYTES_MAX {
        bail!("the file is larger than {} MiB", FILE_BYTES_MAX >> 20);
    }
    let text = fs::read_to_string(file)?;
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(&text)?;
    let documents = documents.into_iter().filter(|document| !document.is_null());
    let cron_jobs = documents.filter_map(|document| match Kind::deserialize(&document) {
        Ok(Kind { kind: Some(kind) }) if kind == "CronJob" || kind == "ScheduledJob" => {
            Some(serde_json::from_value(document).map_err(anyhow::Error::from))
        }
        Ok(Kind { kind: Some(_) }) => None,
        _ => Some(Err(anyhow::anyhow!("a document has no kind"))),
    });
    cron_jobs.collect()
}
