//! Removes the folders of deleted Pods on a thread of its own.
//!
//! A container may have left any number of files. A folder is first renamed to `pods/.removed-<n>`, which takes
//! no time, and then deleted. What a process has not deleted when it ends is deleted by the next one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::remove_tree::remove_tree;

/// The start of the names of removed folders. No UID begins with a dot.
const PREFIX: &str = ".removed-";

/// The thread that deletes folders. It ends when this is dropped, after the folders that it has been given.
#[derive(Debug)]
pub(super) struct FolderRemover {
    pods: PathBuf,
    next_number: AtomicU64,
    removed: Sender<PathBuf>,
}

impl FolderRemover {
    /// Starts the thread, which begins with the folders that an earlier process has left.
    pub(super) fn start(pods: &Path) -> io::Result<FolderRemover> {
        let (removed, folders) = channel();
        for entry in fs::read_dir(pods)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                let _ = removed.send(entry.path());
            }
        }
        std::thread::Builder::new()
            .name("pod-removal".to_owned())
            .spawn(move || remove_all(&folders))?;
        Ok(FolderRemover { pods: pods.to_owned(), next_number: AtomicU64::new(0), removed })
    }

    /// Takes a folder away at once, and deletes it later.
    pub(super) fn remove(&self, folder: &Path) -> io::Result<()> {
        loop {
            let number = self.next_number.fetch_add(1, Ordering::Relaxed);
            let target = self.pods.join(format!("{PREFIX}{number}"));
            match fs::rename(folder, &target) {
                Ok(()) => return self.removed.send(target).map_err(io::Error::other),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                // The name of a folder that an earlier process has left.
                Err(error) if is_taken(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
    [AlreadyExists, DirectoryNotEmpty, NotADirectory].contains(&error.kind())
}

fn remove_all(folders: &Receiver<PathBuf>) {
    for folder in folders {
        if let Err(error) = remove_tree(&folder) {
            let folder = folder.display();
            tracing::warn!(%folder, %error, "could not remove the data of a deleted Pod; remove it by hand");
        }
    }
}
