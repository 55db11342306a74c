//! Lists the manifest files of a path and reads their text.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use anyhow::{anyhow, ensure};

use super::{ReadError, SourceLocation};

const FILE_BYTES_MAX: u64 = 16 << 20;
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// A file or standard input.
pub(super) struct ManifestFile {
    /// The name in messages.
    pub(super) name: String,
    /// `None` for standard input.
    path: Option<PathBuf>,
}

impl ManifestFile {
    fn new(path: PathBuf) -> ManifestFile {
        ManifestFile { name: path.display().to_string(), path: Some(path) }
    }

    /// Reads the whole text. Never reads more than `FILE_BYTES_MAX`, even from a device.
    pub(super) fn read_text(&self) -> anyhow::Result<String> {
        let bytes = match &self.path {
            Some(path) => read_bounded(fs::File::open(path)?)?,
            None => read_bounded(io::stdin().lock())?,
        };
        ensure!(
            bytes.len() as u64 <= FILE_BYTES_MAX,
            "the file is larger than {} MiB",
            FILE_BYTES_MAX >> 20
        );
        let text = String::from_utf8(bytes).map_err(|error| {
            anyhow!("the file is not UTF-8 text: byte {}", error.utf8_error().valid_up_to() + 1)
        })?;
        Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
    }
}

fn read_bounded(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the file of a path that is not a directory. The path `-` is standard input.
pub(super) fn open(path: &Path) -> ManifestFile {
    if path == Path::new("-") {
        return ManifestFile { name: "standard input".into(), path: None };
    }
    ManifestFile::new(path.into())
}

/// Returns the file itself, or the manifest files of a directory sorted by name.
pub(super) fn list(path: &Path) -> Vec<Result<ManifestFile, ReadError>> {
    if path == Path::new("-") || !path.is_dir() {
        return vec![Ok(open(path))];
    }
    let read_error = |message: String| {
        let location = SourceLocation::whole_file(&path.display().to_string());
        vec![Err(ReadError { location, message })]
    };
    match list_directory(path) {
        Ok(files) if files.is_empty() => read_error("no .yaml, .yml or .json file in it".into()),
        Ok(files) => files.into_iter().map(|file| Ok(ManifestFile::new(file))).collect(),
        Err(error) => read_error(error.to_string()),
    }
}

fn list_directory(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut files = entries.collect::<io::Result<Vec<_>>>()?;
    let is_manifest = |file: &PathBuf| {
        file.extension().is_some_and(|found| EXTENSIONS.iter().any(|known| found == *known))
    };
    files.retain(|file| is_manifest(file) && !file.is_dir());
    files.sort();
    Ok(files)
}
