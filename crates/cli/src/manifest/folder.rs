//! Lists the manifest files of a path: the file itself, or all files of a folder and its subfolders.
//!
//! Hidden files and folders are skipped, so a ConfigMap volume (`a.yaml -> ..data/a.yaml`) and a repository (`.git`)
//! are read once and without their internals.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::files::ManifestFile;
use super::{ReadError, SourceLocation};

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];
/// How deep folders may be nested. Deeper ones are an error.
const DEPTH_MAX: usize = 32;
/// The maximum number of files and folders in a folder, including subfolders.
const ENTRIES_MAX: usize = 100_000;

/// What a path contains.
#[derive(Debug, Default)]
pub(crate) struct FolderListing {
    /// The manifest files in the order in which they are read.
    pub(crate) files: Vec<ManifestFile>,
    /// The folder and its subfolders; empty if the path is a file.
    pub(crate) folders: Vec<PathBuf>,
    /// The folders that cannot be read.
    pub(crate) errors: Vec<ReadError>,
}

/// Lists a path. A folder named in `excluded` is left out. The path `-` is standard input.
pub(crate) fn list(path: &Path, excluded: Option<&Path>) -> FolderListing {
    let mut listing = FolderListing::default();
    if path == Path::new("-") || !path.is_dir() {
        listing.files.push(ManifestFile::named(path));
        return listing;
    }
    let excluded = excluded.and_then(|folder| folder_id(folder).ok());
    let mut walk =
        FolderWalk { listing, visited: excluded.into_iter().collect(), entries_left: ENTRIES_MAX };
    walk.visit(path, 0);
    walk.listing
}

/// The device and inode of a folder, which are the same whichever link leads to it.
type FolderId = (u64, u64);

fn folder_id(path: &Path) -> io::Result<FolderId> {
    let metadata = fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

struct FolderWalk {
    listing: FolderListing,
    /// Folders that links lead to are visited once, so loops end.
    visited: HashSet<FolderId>,
    entries_left: usize,
}

impl FolderWalk {
    fn visit(&mut self, folder: &Path, depth: usize) {
        match folder_id(folder) {
            Ok(id) if !self.visited.insert(id) => return,
            Ok(_) => {}
            Err(error) => return self.fail(folder, error.to_string()),
        }
        self.listing.folders.push(folder.to_owned());
        if depth >= DEPTH_MAX {
            return self.fail(folder, format!("more than {DEPTH_MAX} folders are nested"));
        }
        let entries = match self.read_folder(folder) {
            Ok(entries) => entries,
            Err(error) => return self.fail(folder, error.to_string()),
        };
        for path in entries {
            if path.is_dir() {
                self.visit(&path, depth + 1);
            } else if is_manifest_name(&path) {
                self.listing.files.push(ManifestFile::found(path));
            }
        }
    }

    /// Returns the entries sorted by name, without hidden ones.
    fn read_folder(&mut self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let Some(left) = self.entries_left.checked_sub(1) else {
                return Err(io::Error::other(format!("there are more than {ENTRIES_MAX} files")));
            };
            self.entries_left = left;
            if !is_hidden(&path) {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }

    fn fail(&mut self, folder: &Path, message: String) {
        let name = crate::output::one_line(&folder.display().to_string());
        let location = SourceLocation::whole_file(&name);
        self.listing.errors.push(ReadError { location, message });
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Whether a file of a folder is read. Backups (`a.yaml~`) and swap files of editors have other names.
pub(crate) fn is_manifest_name(path: &Path) -> bool {
    let is_known = |found: &OsStr| EXTENSIONS.iter().any(|known| found == *known);
    !is_hidden(path) && path.extension().is_some_and(is_known)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path, excluded: Option<&Path>) -> Vec<String> {
        let listing = list(folder, excluded);
        let name = |file: &ManifestFile| {
            file.path().unwrap().strip_prefix(folder).unwrap().display().to_string()
        };
        listing.files.iter().map(name).collect()
    }

    #[test]
    fn subfolders_are_read_in_order_and_hidden_and_temporary_files_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["b/deep/c.json", ".git/x.yaml", "data/y.yaml", "a.yaml", "z.yml"] {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), "").unwrap();
        }
        for name in ["a.yaml~", ".a.yaml.swp", "#a.yaml#", ".#a.yaml", "4913", "notes.txt"] {
            fs::write(path(name), "").unwrap();
        }
        let all = ["a.yaml", "b/deep/c.json", "data/y.yaml", "z.yml"];
        assert_eq!(names(folder.path(), None), all);
        let without_data = ["a.yaml", "b/deep/c.json", "z.yml"];
        assert_eq!(names(folder.path(), Some(&path("data"))), without_data);
    }

    #[test]
    fn links_are_followed_once_and_loops_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("..2026_1")).unwrap();
        fs::write(path("..2026_1/a.yaml"), "").unwrap();
        symlink("..2026_1", path("..data")).unwrap();
        symlink("..data/a.yaml", path("a.yaml")).unwrap();
        fs::create_dir(path("sub")).unwrap();
        fs::write(path("sub/b.yaml"), "").unwrap();
        symlink("..", path("sub/loop")).unwrap();
        symlink("sub", path("to-sub")).unwrap();
        assert_eq!(names(folder.path(), None), ["a.yaml", "sub/b.yaml"]);
    }

    #[test]
    fn folders_that_are_too_deep_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let deep: PathBuf = std::iter::repeat_n("d", DEPTH_MAX + 1).collect();
        fs::create_dir_all(folder.path().join(deep)).unwrap();
        let listing = list(folder.path(), None);
        assert!(listing.errors[0].message.contains("nested"), "{:?}", listing.errors);
    }
}
