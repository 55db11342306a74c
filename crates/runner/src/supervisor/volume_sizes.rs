//! Checks the sizes of volumes on disk that have a maximum, as a kubelet does: at an interval, because the
//! system does not report when a folder reaches a size.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::pod_plan::SizeLimit;

/// The maximum number of entries of a volume that are counted. More are more than enough work.
const ENTRIES_MAX: usize = 1_000_000;

/// The number of entries after which other work has its turn.
const ENTRIES_PER_TURN: usize = 64;

/// Waits until a volume is larger than its maximum and returns it. Never returns if no volume has one.
pub(super) async fn exceeded(limits: Vec<SizeLimit>, interval: Duration) -> SizeLimit {
    if limits.is_empty() {
        return std::future::pending().await;
    }
    loop {
        tokio::time::sleep(interval).await;
        for limit in &limits {
            if size(&limit.path).await > limit.bytes_max {
                return limit.clone();
            }
        }
    }
}

/// The disk space that the files in a folder use. Does not follow links. The supervisor must have one thread, so
/// this gives other work its turn after some entries.
async fn size(folder: &Path) -> u64 {
    let mut bytes: u64 = 0;
    let mut entries: usize = 0;
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            entries += 1;
            if entries >= ENTRIES_MAX {
                return bytes;
            }
            if entries.is_multiple_of(ENTRIES_PER_TURN) {
                tokio::task::yield_now().await;
            }
            bytes = bytes.saturating_add(metadata.blocks().saturating_mul(512));
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_size_of_a_folder_does_not_include_the_targets_of_links() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join("sub/file"), vec![1; 100_000]).unwrap();
        std::os::unix::fs::symlink("/usr", folder.path().join("link")).unwrap();
        let bytes = size(folder.path()).await;
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
    }
}
