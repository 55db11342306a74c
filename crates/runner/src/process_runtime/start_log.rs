//! The durable record of the Pods that may have been started: `pods/.started`.
//!
//! A Pod is recorded before its supervisor starts, so its programs never run twice, even if the machine loses
//! power. All Pods that wait for their records share one write to the disk. Nothing else that the runner writes
//! needs to reach the disk before a program starts: what a loss of power leaves of it is judged by this record.
//!
//! The file has a line for each Pod: `+` and its UID when it is recorded, `-` and its UID when its data is
//! removed. It begins with the ID of the boot in which it was written.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::bounded_file;
use crate::pod_folder::{PodFolder, is_file_name, sync_folder};
use crate::pod_plan::current_boot_id;

const NAME: &str = ".started";
const TEMPORARY_NAME: &str = ".started.new";
/// More than a million Pods.
const BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The file is written anew if it has this many lines more than there are Pods.
const SURPLUS_MAX: usize = 4096;

/// The Pods that may have been started, and the thread that writes the file. The thread ends when this is
/// dropped.
#[derive(Debug)]
pub(super) struct StartLog {
    uids: Arc<Mutex<HashSet<String>>>,
    changes: Sender<RecordChange>,
}

#[derive(Debug)]
enum RecordChange {
    Started { uid: String, written: oneshot::Sender<io::Result<()>> },
    Removed { uid: String },
}

impl StartLog {
    /// Reads the file. If the machine was restarted since it was written, plans that are damaged are removed.
    /// Without a file, an earlier version wrote the folders.
    pub(super) fn open(pods: &Path) -> io::Result<StartLog> {
        let content = match bounded_file::read(&pods.join(NAME), BYTES_MAX) {
            Ok(bytes) => LogContent::parse(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => LogContent::of_folders(pods)?,
            Err(error) => return Err(error),
        };
        if content.boot_id != current_boot_id() {
            remove_unusable_plans(pods, &content.uids);
        }
        let uids = Arc::new(Mutex::new(content.uids));
        let mut writer =
            LogWriter { pods: pods.to_owned(), uids: uids.clone(), file: None, lines: 0 };
        writer.rewrite()?;
        let (changes, receiver) = channel();
        std::thread::Builder::new()
            .name("pod-start-log".to_owned())
            .spawn(move || writer.run(&receiver))?;
        Ok(StartLog { uids, changes })
    }

    /// Whether a Pod may have been started.
    pub(super) fn contains(&self, uid: &str) -> bool {
        lock(&self.uids).contains(uid)
    }

    pub(super) fn uids(&self) -> Vec<String> {
        lock(&self.uids).iter().cloned().collect()
    }

    /// Records a Pod. Returns when the record is durable.
    pub(super) async fn record(&self, uid: &str) -> io::Result<()> {
        let (written, result) = oneshot::channel();
        let _ = self.changes.send(RecordChange::Started { uid: uid.to_owned(), written });
        result.await.map_err(io::Error::other)?
    }

    /// Removes the record of a Pod whose data is removed.
    pub(super) fn remove(&self, uid: &str) {
        if lock(&self.uids).remove(uid) {
            let _ = self.changes.send(RecordChange::Removed { uid: uid.to_owned() });
        }
    }
}

fn lock(uids: &Mutex<HashSet<String>>) -> MutexGuard<'_, HashSet<String>> {
    uids.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes plans that did not reach the disk as a whole, with the states of their Pods, which cannot be continued.
fn remove_unusable_plans(pods: &Path, uids: &HashSet<String>) {
    for uid in uids {
        let folder = PodFolder::new(pods.join(uid));
        let is_final = folder.state().is_ok_and(|it| it.is_some_and(|it| it.phase.is_final()));
        if !is_final && folder.plan().is_err() {
            let _ = folder.remove_plan_and_state();
        }
    }
}

/// The content of the file.
#[derive(Debug, Default, PartialEq, Eq)]
struct LogContent {
    boot_id: String,
    uids: HashSet<String>,
}

impl LogContent {
    fn parse(bytes: &[u8]) -> LogContent {
        let text = String::from_utf8_lossy(bytes);
        let mut content = LogContent::default();
        for line in text.lines() {
            if let Some(boot_id) = line.strip_prefix("boot ") {
                boot_id.clone_into(&mut content.boot_id);
            } else if let Some(uid) = line.strip_prefix('+').filter(|uid| is_file_name(uid)) {
                content.uids.insert(uid.to_owned());
            } else if let Some(uid) = line.strip_prefix('-') {
                content.uids.remove(uid);
            }
        }
        content
    }

    /// The Pods that an earlier version has prepared. It made their plans durable.
    fn of_folders(pods: &Path) -> io::Result<LogContent> {
        let mut content = LogContent { boot_id: current_boot_id(), uids: HashSet::new() };
        for entry in fs::read_dir(pods)? {
            let uid = entry?.file_name().to_string_lossy().into_owned();
            if is_file_name(&uid) && PodFolder::new(pods.join(&uid)).has_plan()? {
                content.uids.insert(uid);
            }
        }
        Ok(content)
    }
}

/// Writes the file.
struct LogWriter {
    pods: PathBuf,
    uids: Arc<Mutex<HashSet<String>>>,
    /// `None` after a failure: what the file contains is not known, so it is written anew.
    file: Option<File>,
    lines: usize,
}

impl LogWriter {
    fn run(mut self, changes: &Receiver<RecordChange>) {
        while let Ok(first) = changes.recv() {
            let batch: Vec<RecordChange> =
                std::iter::once(first).chain(changes.try_iter()).collect();
            let result = self.append(&batch);
            if result.is_err() {
                self.file = None;
            }
            for change in batch {
                let RecordChange::Started { uid, written } = change else { continue };
                let result = match &result {
                    Ok(()) => {
                        lock(&self.uids).insert(uid);
                        Ok(())
                    }
                    Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
                };
                // The Pod may be deleted by now.
                let _ = written.send(result);
            }
        }
    }

    /// Appends changes. A removal need not be durable: the data of the Pod is removed again.
    fn append(&mut self, batch: &[RecordChange]) -> io::Result<()> {
        if self.file.is_none() || self.lines > lock(&self.uids).len() + SURPLUS_MAX {
            self.rewrite()?;
        }
        let mut text = String::new();
        let mut must_sync = false;
        for change in batch {
            match change {
                RecordChange::Started { uid, .. } => {
                    must_sync = true;
                    text.push_str(&format!("+{uid}\n"));
                }
                RecordChange::Removed { uid } => text.push_str(&format!("-{uid}\n")),
            }
        }
        let file = self.file.as_mut().ok_or_else(|| io::Error::other("the file is not open"))?;
        file.write_all(text.as_bytes())?;
        if must_sync {
            file.sync_data()?;
        }
        self.lines += batch.len();
        Ok(())
    }

    /// Writes the whole file.
    fn rewrite(&mut self) -> io::Result<()> {
        self.file = None;
        let mut text = format!("boot {}\n", current_boot_id());
        let mut lines = 1;
        for uid in &*lock(&self.uids) {
            text.push_str(&format!("+{uid}\n"));
            lines += 1;
        }
        let temporary = self.pods.join(TEMPORARY_NAME);
        let mut file = bounded_file::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        fs::rename(&temporary, self.pods.join(NAME))?;
        sync_folder(&self.pods)?;
        self.lines = lines;
        self.file = Some(file);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_plan(pods: &Path, uid: &str, text: &str) {
        fs::create_dir_all(pods.join(uid)).unwrap();
        fs::write(pods.join(uid).join("pod.json"), text).unwrap();
    }

    #[tokio::test]
    async fn records_survive_and_removed_ones_do_not() {
        let pods = tempfile::tempdir().unwrap();
        let log = StartLog::open(pods.path()).unwrap();
        for uid in ["a", "b", "c"] {
            log.record(uid).await.unwrap();
        }
        log.remove("b");
        // The write of this record follows the removal.
        log.record("d").await.unwrap();
        drop(log);
        let log = StartLog::open(pods.path()).unwrap();
        let mut uids = log.uids();
        uids.sort();
        assert_eq!(uids, ["a", "c", "d"]);
        assert!(log.contains("a") && !log.contains("b"));
    }

    #[test]
    fn a_torn_or_damaged_file_keeps_the_other_records() {
        let content = LogContent::parse(b"boot x\n+a\n+b\n\0\0\n+../c\n-b\n+d");
        let uids = ["a", "d"].map(str::to_owned).into();
        assert_eq!(content, LogContent { boot_id: "x".to_owned(), uids });
    }

    #[test]
    fn the_pods_of_an_earlier_version_count_as_started() {
        let pods = tempfile::tempdir().unwrap();
        write_plan(pods.path(), "prepared", "{}");
        fs::create_dir(pods.path().join("empty")).unwrap();
        fs::create_dir(pods.path().join(".removed-1")).unwrap();
        let log = StartLog::open(pods.path()).unwrap();
        assert_eq!(log.uids(), ["prepared"]);
    }

    #[test]
    fn after_a_restart_of_the_machine_a_damaged_plan_is_removed_and_the_pod_stays_recorded() {
        let pods = tempfile::tempdir().unwrap();
        write_plan(pods.path(), "torn", "{\"uid\":");
        let plan = pods.path().join("torn/pod.json");
        for (boot_id, is_kept) in [(current_boot_id(), true), ("earlier".to_owned(), false)] {
            fs::write(pods.path().join(NAME), format!("boot {boot_id}\n+torn\n")).unwrap();
            let log = StartLog::open(pods.path()).unwrap();
            assert!(log.contains("torn"));
            assert_eq!(plan.exists(), is_kept, "{boot_id}");
        }
    }

    #[tokio::test]
    async fn the_file_does_not_grow_with_the_number_of_pods_that_were_removed() {
        let pods = tempfile::tempdir().unwrap();
        let log = StartLog::open(pods.path()).unwrap();
        for number in 0..SURPLUS_MAX {
            let uid = number.to_string();
            let _ = log.changes.send(RecordChange::Removed { uid });
        }
        log.record("a").await.unwrap();
        log.record("b").await.unwrap();
        let text = fs::read_to_string(pods.path().join(NAME)).unwrap();
        assert!(text.lines().count() <= SURPLUS_MAX + 3, "{}", text.lines().count());
        assert!(text.contains("+a\n") && text.contains("+b\n"));
    }

    #[tokio::test]
    async fn a_record_that_cannot_be_written_is_reported_and_can_be_written_later() {
        let pods = tempfile::tempdir().unwrap();
        let log = StartLog::open(pods.path()).unwrap();
        let blocked = pods.path().join(TEMPORARY_NAME);
        // Makes the writer start anew, which a folder of that name prevents.
        for _ in 0..=SURPLUS_MAX + 1 {
            let _ = log.changes.send(RecordChange::Removed { uid: "x".to_owned() });
        }
        log.record("a").await.unwrap();
        fs::create_dir(&blocked).unwrap();
        fs::write(blocked.join("file"), "").unwrap();
        assert!(log.record("b").await.is_err());
        assert!(!log.contains("b"));
        fs::remove_dir_all(&blocked).unwrap();
        log.record("b").await.unwrap();
        assert!(log.contains("a") && log.contains("b"));
    }
}
