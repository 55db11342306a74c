//! Checks the sizes of volumes on disk that have a maximum, as a kubelet does: at an interval, because the
//! system does not report when a folder reaches a size.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::pod_plan::{PodPlan, SizeLimit};

/// The maximum number of entries of a volume that are counted. More are more than enough work.
const ENTRIES_MAX: usize = 1_000_000;

/// Waits until a volume is larger than its maximum and returns it. Never returns if no volume has one.
pub(super) async fn exceeded(plan: &PodPlan) -> SizeLimit {
    if plan.size_limits.is_empty() {
        return std::future::pending().await;
    }
    let interval = Duration::from_millis(plan.size_check_ms.max(1));
    loop {
        tokio::time::sleep(interval).await;
        let limits = plan.size_limits.clone();
        let check = move || limits.into_iter().find(|limit| size(&limit.path) > limit.bytes_max);
        // A walk through many files must not delay the supervisor.
        if let Ok(Some(limit)) = tokio::task::spawn_blocking(check).await {
            return limit;
        }
    }
}

/// The disk space that the files in a folder use. Does not follow links.
fn size(folder: &Path) -> u64 {
    let mut bytes: u64 = 0;
    let mut entries_left = ENTRIES_MAX;
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            entries_left = entries_left.saturating_sub(1);
            if entries_left == 0 {
                return bytes;
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

    #[test]
    fn the_size_of_a_folder_does_not_include_the_targets_of_links() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join("sub/file"), vec![1; 100_000]).unwrap();
        std::os::unix::fs::symlink("/usr", folder.path().join("link")).unwrap();
        let bytes = size(folder.path());
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
    }
}
