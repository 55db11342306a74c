//! Notices changes of manifest files with inotify.
//!
//! Folders are watched, not files, because editors replace files. The parent of each path of the command line is
//! watched too, so that a path that is created later, or replaced, is noticed. A link is watched at both ends.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use tokio::sync::Notify;

use super::load::LoadedSource;
use crate::manifest;

/// The changes of a folder that can change its manifests. A file that is being written is read when it is closed.
const CHANGES: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);
const BUFFER_SIZE: usize = 16 * 1024;

/// Which changes of a folder matter.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Interest {
    /// Those of manifests and subfolders.
    Manifests,
    /// Those of entries with these names.
    Names(BTreeSet<OsString>),
}

impl Interest {
    /// Whether a change of this entry matters. `None` is the folder itself.
    fn includes(&self, name: Option<&Path>, is_folder: bool) -> bool {
        let Some(name) = name else { return true };
        match self {
            Interest::Names(names) => names.contains(name.as_os_str()),
            Interest::Manifests => {
                // The links of a ConfigMap volume are named `..data`.
                is_folder
                    || manifest::is_manifest_name(name)
                    || name.as_os_str().as_bytes().starts_with(b"..")
                    || name.extension().is_none()
            }
        }
    }
}

/// The folders to watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WatchedFolders(BTreeMap<PathBuf, Interest>);

impl WatchedFolders {
    /// Returns the folders whose changes can change these manifests.
    pub(super) fn of(sources: &[LoadedSource]) -> WatchedFolders {
        let mut watched = WatchedFolders::default();
        for source in sources {
            let Some(path) = &source.path else { continue };
            watched.add_entry(path);
            for file in source.files.iter().filter_map(|file| file.path.as_deref()) {
                if fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink())
                    && let Ok(target) = fs::canonicalize(file)
                {
                    watched.add_entry(&target);
                }
            }
        }
        for folder in sources.iter().flat_map(|source| &source.folders) {
            watched.0.insert(folder.clone(), Interest::Manifests);
        }
        watched
    }

    /// Watches the nearest folder that exists above a path, for the entry that leads to the path.
    fn add_entry(&mut self, path: &Path) {
        let mut entry = path;
        while let (Some(folder), Some(name)) = (entry.parent(), entry.file_name()) {
            if folder.is_dir() {
                let interest = self.0.entry(folder.to_owned());
                let interest = interest.or_insert_with(|| Interest::Names(BTreeSet::new()));
                if let Interest::Names(names) = interest {
                    names.insert(name.to_owned());
                }
                return;
            }
            entry = folder;
        }
    }
}

/// What matters of each watched folder, by its watch descriptor.
type Interests = Arc<Mutex<HashMap<i32, Interest>>>;

/// Watches folders.
pub(super) struct FolderWatch {
    inotify: Arc<OwnedFd>,
    interests: Interests,
    changes: Arc<Notify>,
}

impl FolderWatch {
    /// Starts the thread that reads the events. It runs until the process ends.
    pub(super) fn start() -> io::Result<FolderWatch> {
        let inotify = Arc::new(inotify::init(CreateFlags::CLOEXEC)?);
        let watch =
            FolderWatch { inotify, interests: Interests::default(), changes: Arc::default() };
        let fd = watch.inotify.clone();
        let interests = watch.interests.clone();
        let changes = watch.changes.clone();
        std::thread::Builder::new()
            .name("manifest-watch".to_owned())
            .spawn(move || read_events(&fd, &interests, &changes))?;
        Ok(watch)
    }

    /// Watches these folders and no others. Returns whether a folder was not watched before: its files may have
    /// changed meanwhile. Fails if a folder that exists cannot be watched.
    pub(super) fn watch(&mut self, folders: &WatchedFolders) -> io::Result<bool> {
        let mut watched = self.interests.lock().unwrap_or_else(PoisonError::into_inner);
        let mut interests = HashMap::new();
        let mut is_new = false;
        let mut failure = None;
        for (folder, interest) in &folders.0 {
            match inotify::add_watch(&self.inotify, folder, CHANGES) {
                Ok(watch) => {
                    is_new |= !watched.contains_key(&watch);
                    interests.insert(watch, interest.clone());
                }
                // It was removed, which its parent reports, or cannot be read, which the loader reports.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
                Err(error) => failure = Some((folder, error)),
            }
        }
        for watch in watched.keys().filter(|watch| !interests.contains_key(watch)) {
            let _ = inotify::remove_watch(&self.inotify, *watch);
        }
        *watched = interests;
        drop(watched);
        match failure {
            None => Ok(is_new),
            Some((folder, Errno::NOSPC)) => Err(io::Error::other(format!(
                "too many folders are watched on this machine: {}; raise fs.inotify.max_user_watches",
                folder.display()
            ))),
            Some((folder, error)) => {
                Err(io::Error::other(format!("could not watch {}: {error}", folder.display())))
            }
        }
    }

    /// Waits until a manifest may have changed.
    pub(super) async fn changed(&self) {
        self.changes.notified().await;
    }
}

/// Notifies `changes` of every event that matters.
fn read_events(fd: &OwnedFd, interests: &Interests, changes: &Notify) {
    let mut buffer = [MaybeUninit::uninit(); BUFFER_SIZE];
    let mut reader = Reader::new(fd, &mut buffer);
    loop {
        let event = match reader.next() {
            Ok(event) => event,
            Err(Errno::INTR) => continue,
            Err(error) => {
                tracing::error!(
                    "manifests are no longer watched: {error}; apply changes with SIGHUP (kill -HUP)"
                );
                return;
            }
        };
        let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
        let is_folder = event.events().contains(ReadFlags::ISDIR);
        let interests = interests.lock().unwrap_or_else(PoisonError::into_inner);
        let interest = interests.get(&event.wd());
        let matters = interest.is_some_and(|it| it.includes(name.map(Path::new), is_folder));
        if matters || event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
            changes.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_temporary_files_do_not_matter() {
        let includes = |name: &str| Interest::Manifests.includes(Some(Path::new(name)), false);
        for name in ["a.yaml", "a.json", "..data", "link"] {
            assert!(includes(name), "{name}");
        }
        for name in [".a.yaml.swp", "a.yaml~", "notes.txt", "#a.yaml#"] {
            assert!(!includes(name), "{name}");
        }
        assert!(Interest::Manifests.includes(Some(Path::new("x.d")), true), "a subfolder");
        assert!(Interest::Manifests.includes(None, false), "the folder itself");
        let names = Interest::Names(BTreeSet::from(["a.txt".into()]));
        assert!(names.includes(Some(Path::new("a.txt")), false));
        assert!(!names.includes(Some(Path::new("a.yaml")), false), "an entry beside the path");
    }

    #[test]
    fn a_path_that_does_not_exist_is_watched_at_the_nearest_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut watched = WatchedFolders::default();
        watched.add_entry(&folder.path().join("a/b/c.yaml"));
        let want = Interest::Names(BTreeSet::from(["a".into()]));
        assert_eq!(watched.0, BTreeMap::from([(folder.path().to_owned(), want)]));
    }
}
