//! Reads the manifest files of the command line and checks them without a server.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use punctual_api::Dialect;
use punctual_schedule::Zone;

use crate::manifest::{self, Document, FolderListing, ManifestFile};
use crate::validate;

/// Which manifests to read, and how.
#[derive(Clone, Debug)]
pub(in crate::up) struct ManifestOptions {
    /// The files and folders of the command line.
    pub(in crate::up) paths: Vec<PathBuf>,
    pub(in crate::up) dialect: Dialect,
    /// The zone of schedules without one.
    pub(in crate::up) zone: Zone,
    /// Whether to delete objects whose manifest was removed.
    pub(in crate::up) is_pruning: bool,
    /// The data directory, whose files are no manifests.
    pub(in crate::up) data_dir: PathBuf,
}

/// A file or folder of the command line.
#[derive(Clone, Debug)]
pub(super) struct LoadedSource {
    /// The absolute path; `None` for standard input.
    pub(super) path: Option<PathBuf>,
    pub(super) files: Vec<LoadedFile>,
    /// The folder and its subfolders; empty for a file.
    pub(super) folders: Vec<PathBuf>,
    /// Why folders cannot be read.
    pub(super) problems: Vec<String>,
}

/// A manifest file.
#[derive(Clone, Debug)]
pub(super) struct LoadedFile {
    /// The absolute path; `None` for standard input.
    pub(super) path: Option<PathBuf>,
    /// The documents, or what is wrong with them. A file with an error is not applied in part.
    pub(super) documents: Result<Vec<Document>, Vec<String>>,
}

impl LoadedSource {
    /// Whether everything in it is known: what is missing was removed, and is not just unreadable.
    pub(super) fn is_fully_known(&self) -> bool {
        self.problems.is_empty() && self.files.iter().all(|file| file.documents.is_ok())
    }

    /// Whether it contains no object at all, as an empty folder or a mount point without its file system.
    pub(super) fn is_empty(&self) -> bool {
        self.files.iter().all(|file| file.documents.as_ref().is_ok_and(Vec::is_empty))
    }

    /// Whether a file belongs to it.
    pub(super) fn contains(&self, file: &Path) -> bool {
        self.path.as_ref().is_some_and(|path| file.starts_with(path))
    }

    /// Returns the name in messages.
    pub(super) fn name(&self) -> String {
        match &self.path {
            Some(path) => crate::output::one_line(&path.display().to_string()),
            None => "standard input".to_owned(),
        }
    }
}

/// Reads the manifests, at the start and again whenever they change.
#[derive(Debug)]
pub(super) struct ManifestLoader {
    options: ManifestOptions,
    /// What was read from standard input and FIFOs, by the index of the path.
    read_once: HashMap<usize, LoadedSource>,
}

impl ManifestLoader {
    pub(super) fn new(options: ManifestOptions) -> ManifestLoader {
        ManifestLoader { options, read_once: HashMap::new() }
    }

    pub(super) fn options(&self) -> &ManifestOptions {
        &self.options
    }

    /// Reads all files. Blocks.
    pub(super) fn load(&mut self) -> Vec<LoadedSource> {
        let mut sources = Vec::new();
        for (index, path) in self.options.paths.iter().enumerate() {
            if let Some(source) = self.read_once.get(&index) {
                sources.push(source.clone());
                continue;
            }
            let listing = manifest::list_path(path, Some(&self.options.data_dir));
            let is_rereadable = listing.files.iter().all(ManifestFile::is_rereadable);
            let source = self.load_source(path, listing);
            if !is_rereadable {
                self.read_once.insert(index, source.clone());
            }
            sources.push(source);
        }
        sources
    }

    fn load_source(&self, path: &Path, listing: FolderListing) -> LoadedSource {
        let FolderListing { files, folders, errors } = listing;
        let is_stdin = files.iter().any(|file| file.path().is_none());
        LoadedSource {
            path: if is_stdin { None } else { Some(absolute(path)) },
            files: files.iter().map(|file| self.load_file(file)).collect(),
            folders: folders.iter().map(|folder| absolute(folder)).collect(),
            problems: errors.iter().map(|error| format!("{error}")).collect(),
        }
    }

    fn load_file(&self, file: &ManifestFile) -> LoadedFile {
        let ManifestOptions { dialect, zone, .. } = &self.options;
        LoadedFile {
            path: file.path().map(absolute),
            documents: validate::require_valid(manifest::read_file(file), *dialect, zone),
        }
    }
}

/// Returns the path as seen from the root, without resolving links: a ConfigMap volume replaces their targets.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
