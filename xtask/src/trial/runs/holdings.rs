//! What a server holds at one moment.

use std::{fmt, fs, io, path::Path};

use anyhow::Context;
use punctual_e2e::{Cluster, process_usage};
use serde::Deserialize;

use super::super::site::Site;
use punctual_e2e::load::{
    connection::{Connection, ConnectionTarget},
    create,
    prometheus_text::PrometheusText,
};

/// The store's file with nothing much in it, after a burst of writes; and what an object may add to it.
const STORE_KIB: u64 = 40 << 10;
const OBJECT_KIB: u64 = 6;

/// One look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Holdings {
    /// Runs that were counted as successes or failures so far.
    pub(super) runs: u64,
    pub(super) failed: u64,
    pub(super) memory_kib: u64,
    pub(super) open_files: u64,
    pub(super) supervisors: u64,
    /// The file of the store, which grows in steps and does not shrink.
    pub(super) store_kib: u64,
    /// The rest of the data folder.
    pub(super) data_kib: u64,
    pub(super) data_files: u64,
    /// Stored objects without Events, which go after an hour whatever is run.
    pub(super) objects: u64,
    pub(super) events: u64,
}

/// Looks at a server.
pub(super) struct Inspector<'a> {
    site: &'a Site,
    pid: u32,
    connection: Connection,
}

#[derive(Deserialize)]
struct CronJobs {
    items: Vec<CronJob>,
}

#[derive(Deserialize)]
struct CronJob {
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    successful_runs: u64,
    failed_runs: u64,
}

#[derive(Deserialize)]
struct Page {
    metadata: PageMeta,
    items: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    #[serde(default)]
    remaining_item_count: u64,
}

impl<'a> Inspector<'a> {
    pub(super) async fn new(site: &'a Site, cluster: &Cluster) -> anyhow::Result<Self> {
        let pid = cluster.pids().first().copied().context("no process")?;
        Ok(Inspector {
            site,
            pid,
            connection: Connection::open(&ConnectionTarget::of(cluster)?).await?,
        })
    }

    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub(super) async fn look(&mut self) -> anyhow::Result<Holdings> {
        let listed: CronJobs = self.connection.get_json(create::CRON_JOBS).await?;
        let sum =
            |what: fn(&Status) -> u64| listed.items.iter().map(|found| what(&found.status)).sum();
        let (succeeded, failed): (u64, u64) =
            (sum(|status| status.successful_runs), sum(|status| status.failed_runs));
        let page: Page = self.connection.get_json("/api/v1/events?limit=1").await?;
        let events = page.items.len() as u64 + page.metadata.remaining_item_count;
        let exposition = PrometheusText::read(&mut self.connection).await?;
        let stored = exposition.total("apiserver_storage_objects", &[]);
        let stored = stored.context("no metric apiserver_storage_objects")? as u64;
        let (data_bytes, data_files) = size(&self.site.data());
        let store_bytes = fs::metadata(self.site.data().join("store"))?.len();
        Ok(Holdings {
            runs: succeeded + failed,
            failed,
            memory_kib: process_usage::resident_bytes(self.pid)? / 1024,
            open_files: fs::read_dir(format!("/proc/{}/fd", self.pid))?.count() as u64,
            supervisors: self.site.supervisors().len() as u64,
            store_kib: store_bytes / 1024,
            data_kib: data_bytes.saturating_sub(store_bytes) / 1024,
            data_files,
            objects: stored.saturating_sub(events),
            events,
        })
    }
}

impl Holdings {
    /// The names of the columns.
    pub(super) fn head() -> String {
        let names = ["runs", "failed", "KiB", "files", "procs", "store KiB", "data KiB"];
        let names = names.into_iter().chain(["data files", "objects", "events"]);
        names.map(|name| format!("{name:>11}")).collect()
    }

    /// What is there although nothing runs any more.
    pub(super) fn left_over(&self, cron_jobs: usize) -> Vec<String> {
        let mut faults = Vec::new();
        if self.supervisors > 0 {
            faults.push(format!("{} supervisors run, but nothing else does", self.supervisors));
        }
        if self.failed > 0 {
            faults.push(format!("{} runs failed", self.failed));
        }
        let store_kib_max = STORE_KIB + OBJECT_KIB * (self.objects + self.events);
        if self.store_kib > store_kib_max {
            let Holdings { store_kib, .. } = self;
            faults.push(format!("the store has {store_kib} KiB, more than {store_kib_max}"));
        }
        // Each has itself, a Job and a Pod; some more are always there.
        let objects_max = 3 * cron_jobs as u64 + 50;
        if self.objects > objects_max {
            faults.push(format!("{} objects, more than {objects_max}", self.objects));
        }
        faults
    }
}

impl fmt::Display for Holdings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = [self.runs, self.failed, self.memory_kib, self.open_files, self.supervisors]
            .into_iter()
            .chain([self.store_kib, self.data_kib, self.data_files, self.objects, self.events]);
        for number in numbers {
            write!(f, "{number:>11}")?;
        }
        Ok(())
    }
}

/// Bytes and files below a folder, without the audit log: it has bounds of its own. What vanishes
/// meanwhile is not counted.
fn size(folder: &Path) -> (u64, u64) {
    let (mut bytes, mut files) = (0, 0);
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(io::Result::ok) {
            if entry.file_name().to_string_lossy().starts_with("audit.log") {
                continue;
            }
            match entry.metadata() {
                Ok(found) if found.is_dir() => folders.push(entry.path()),
                Ok(found) => (bytes, files) = (bytes + found.len(), files + 1),
                Err(_) => {}
            }
        }
    }
    (bytes, files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_as_large_as_its_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(folder.path().join("a"), "12").unwrap();
        fs::write(folder.path().join("audit.log.1"), "long").unwrap();
        fs::write(folder.path().join("deep/b"), "345").unwrap();
        assert_eq!(size(folder.path()), (5, 2));
        assert_eq!(size(&folder.path().join("none")), (0, 0));
    }

    #[test]
    fn rest_leaves_what_history_keeps() {
        let rest = Holdings { objects: 80, ..Holdings::default() };
        assert_eq!(rest.left_over(10), Vec::<String>::new());
        assert_eq!(rest.left_over(9), ["80 objects, more than 77"]);
        let alive = Holdings { supervisors: 1, failed: 2, ..Holdings::default() };
        assert_eq!(alive.left_over(1).len(), 2);
    }

    #[test]
    fn columns_have_names() {
        assert_eq!(Holdings::head().len(), Holdings::default().to_string().len());
    }
}
