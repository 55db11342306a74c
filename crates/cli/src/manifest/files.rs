//! Reads the text of a manifest file or of standard input.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use anyhow::{anyhow, ensure};

const FILE_BYTES_MAX: u64 = 16 << 20;

/// A file or standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManifestFile {
    /// The name in messages.
    pub(crate) name: String,
    input: ManifestInput,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ManifestInput {
    /// A path that a user named. It may be a FIFO, as in `-f <(helm template …)`.
    Named(PathBuf),
    /// A path that was found in a folder. It must be a regular file, or a link to one.
    Found(PathBuf),
    Stdin,
}

impl ManifestFile {
    /// Returns a file that a user named. The path `-` is standard input.
    pub(super) fn named(path: &Path) -> ManifestFile {
        if path == Path::new("-") {
            return ManifestFile { name: "standard input".into(), input: ManifestInput::Stdin };
        }
        ManifestFile { name: display(path), input: ManifestInput::Named(path.into()) }
    }

    /// Returns a file of a folder.
    pub(super) fn found(path: PathBuf) -> ManifestFile {
        ManifestFile { name: display(&path), input: ManifestInput::Found(path) }
    }

    /// Returns the path; `None` for standard input.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.input {
            ManifestInput::Named(path) | ManifestInput::Found(path) => Some(path),
            ManifestInput::Stdin => None,
        }
    }

    /// Whether the file can be read again: not standard input, and not a FIFO.
    pub(crate) fn is_rereadable(&self) -> bool {
        match &self.input {
            ManifestInput::Stdin => false,
            ManifestInput::Found(_) => true,
            ManifestInput::Named(path) => {
                fs::metadata(path).map_or(true, |metadata| metadata.is_file() || metadata.is_dir())
            }
        }
    }

    /// Reads the whole text. Never reads more than `FILE_BYTES_MAX`, even from a device.
    pub(super) fn read_text(&self) -> anyhow::Result<String> {
        let bytes = match &self.input {
            ManifestInput::Named(path) => read_bounded(fs::File::open(path)?)?,
            ManifestInput::Found(path) => read_bounded(punctual_files::open_linked(path)?)?,
            ManifestInput::Stdin => read_bounded(io::stdin().lock())?,
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

fn display(path: &Path) -> String {
    crate::output::one_line(&path.display().to_string())
}

fn read_bounded(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
