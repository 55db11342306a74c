//! Measures the resources that a server uses at one time: memory, files, store and objects.

use std::{fmt, fs, io, path::Path};

use anyhow::Context;
use punctual_e2e::{
    Cluster,
    load::{
        connection::{Connection, ConnectionTarget},
        create,
        prometheus_text::PrometheusText,
    },
    process_usage,
};
use serde_json::Value;

use crate::{
    instance::UpInstance,
    objects::{items, number},
};

/// The size of the store's file after a burst of writes, without objects.
const STORE_KIB: u64 = 40 << 10;
/// The size that each object may add to the store's file.
const OBJECT_KIB: u64 = 6;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ResourceUsage {
    /// Successful and failed runs so far.
    pub(super) runs: u64,
    pub(super) failed: u64,
    pub(super) memory_kib: u64,
    pub(super) open_files: u64,
    pub(super) supervisors: u64,
    /// The file of the store, which grows in steps and does not shrink.
    pub(super) store_kib: u64,
    /// The data directory without the store and the audit log.
    pub(super) data_kib: u64,
    pub(super) data_files: u64,
    /// Stored objects without Events, which expire after an hour.
    pub(super) objects: u64,
    pub(super) events: u64,
}

/// Measures a server.
pub(super) struct UsageReader<'a> {
    instance: &'a UpInstance,
    pid: u32,
    connection: Connection,
}

impl<'a> UsageReader<'a> {
    pub(super) async fn open(instance: &'a UpInstance, cluster: &Cluster) -> anyhow::Result<Self> {
        let pid = cluster.pids().first().copied().context("the server has no process")?;
        let connection = Connection::open(&ConnectionTarget::from_cluster(cluster)?).await?;
        Ok(UsageReader { instance, pid, connection })
    }

    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub(super) async fn read(&mut self) -> anyhow::Result<ResourceUsage> {
        let list: Value = self.connection.get_json(create::CRON_JOBS).await?;
        let cron_jobs = items(&list, "/items");
        let sum =
            |pointer| cron_jobs.iter().map(|found| number(found, pointer) as u64).sum::<u64>();
        let failed = sum("/status/failedRuns");
        let runs = failed + sum("/status/successfulRuns");
        let page: Value = self.connection.get_json("/api/v1/events?limit=1").await?;
        let remaining = number(&page, "/metadata/remainingItemCount");
        let events = (items(&page, "/items").len() + remaining) as u64;
        let metrics = PrometheusText::read(&mut self.connection).await?;
        let stored = metrics.total("apiserver_storage_objects", &[]);
        let stored = stored.context("no metric apiserver_storage_objects")? as u64;
        let data_dir = self.instance.data_dir();
        let (data_bytes, data_files) = measure_folder(&data_dir);
        let store_bytes = fs::metadata(data_dir.join("store"))?.len();
        Ok(ResourceUsage {
            runs,
            failed,
            memory_kib: process_usage::resident_bytes(self.pid)? / 1024,
            open_files: fs::read_dir(format!("/proc/{}/fd", self.pid))?.count() as u64,
            supervisors: self.instance.supervisor_count() as u64,
            store_kib: store_bytes / 1024,
            data_kib: data_bytes.saturating_sub(store_bytes) / 1024,
            data_files,
            objects: stored.saturating_sub(events),
            events,
        })
    }
}

impl ResourceUsage {
    /// The names of the columns.
    pub(super) fn header() -> String {
        let names = ["runs", "failed", "KiB", "files", "procs", "store KiB", "data KiB"];
        let names = names.into_iter().chain(["data files", "objects", "events"]);
        names.map(|name| format!("{name:>11}")).collect()
    }

    /// Describes what an idle server must not have.
    pub(super) fn idle_violations(&self, cron_jobs: usize) -> Vec<String> {
        let mut violations = Vec::new();
        if self.supervisors > 0 {
            violations
                .push(format!("{} supervisors run although no Job is active", self.supervisors));
        }
        if self.failed > 0 {
            violations.push(format!("{} runs failed", self.failed));
        }
        let store_kib_max = STORE_KIB + OBJECT_KIB * (self.objects + self.events);
        if self.store_kib > store_kib_max {
            let ResourceUsage { store_kib, .. } = self;
            violations.push(format!("the store has {store_kib} KiB, more than {store_kib_max}"));
        }
        // A CronJob, a Job and a Pod each; a few more objects always exist.
        let objects_max = 3 * cron_jobs as u64 + 50;
        if self.objects > objects_max {
            violations.push(format!("{} objects, more than {objects_max}", self.objects));
        }
        violations
    }
}

impl fmt::Display for ResourceUsage {
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

/// The bytes and the number of files below a folder, without the audit log, which has its own limits.
/// Files that are deleted meanwhile are not counted.
fn measure_folder(folder: &Path) -> (u64, u64) {
    let mut bytes = 0;
    let mut files = 0;
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(io::Result::ok) {
            if entry.file_name().to_string_lossy().starts_with("audit.log") {
                continue;
            }
            match entry.metadata() {
                Ok(found) if found.is_dir() => folders.push(entry.path()),
                Ok(found) => {
                    bytes += found.len();
                    files += 1;
                }
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
    fn a_folder_has_the_size_of_its_files_without_the_audit_log() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(folder.path().join("a"), "12").unwrap();
        fs::write(folder.path().join("audit.log.1"), "long").unwrap();
        fs::write(folder.path().join("deep/b"), "345").unwrap();
        assert_eq!(measure_folder(folder.path()), (5, 2));
        assert_eq!(measure_folder(&folder.path().join("none")), (0, 0));
    }

    #[test]
    fn an_idle_server_has_only_the_objects_of_the_history() {
        let idle = ResourceUsage { objects: 80, ..ResourceUsage::default() };
        assert_eq!(idle.idle_violations(10), Vec::<String>::new());
        assert_eq!(idle.idle_violations(9), ["80 objects, more than 77"]);
        let busy = ResourceUsage { supervisors: 1, failed: 2, ..ResourceUsage::default() };
        assert_eq!(busy.idle_violations(1).len(), 2);
    }

    #[test]
    fn the_header_is_as_wide_as_the_rows() {
        assert_eq!(ResourceUsage::header().len(), ResourceUsage::default().to_string().len());
    }
}
