//! `state.json`: the states of a Pod, each a line of JSON. The last complete line is the present state.
//!
//! A new state is appended, because the creation of a file is expensive, and a reader sees the old or the new
//! state. A file that something else has replaced, that is large or that could not be written is replaced.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::bounded_file;
use crate::pod_state::PodState;

/// The maximum size of a file that is read.
const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The size at which the file is replaced.
const APPENDED_BYTES_MAX: u64 = 64 * 1024;

/// Writes the states of a Pod. Only the holder of the Pod's lock may have one.
#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
    /// `None` if the file must be replaced.
    file: Option<File>,
}

impl StateFile {
    /// The file does not change before the first write.
    pub(crate) fn new(path: PathBuf) -> StateFile {
        StateFile { path, file: None }
    }

    /// Writes the present state.
    pub(crate) fn write(&mut self, state: &PodState) -> io::Result<()> {
        let mut line = serde_json::to_vec(state)?;
        line.push(b'\n');
        let appended = match self.file.take().filter(|file| self.is_appendable(file)) {
            Some(mut file) => file.write_all(&line).map(|()| file),
            None => self.replace(&line),
        };
        self.file = Some(appended?);
        Ok(())
    }

    /// Whether the path has this file and it is small.
    fn is_appendable(&self, file: &File) -> bool {
        let Ok(own) = file.metadata() else { return false };
        let is_present = fs::symlink_metadata(&self.path)
            .is_ok_and(|present| (present.dev(), present.ino()) == (own.dev(), own.ino()));
        is_present && own.len() < APPENDED_BYTES_MAX
    }

    /// Replaces the file. A reader sees the old or the new one.
    fn replace(&self, line: &[u8]) -> io::Result<File> {
        let temporary = self.path.with_file_name(".state.json.new");
        let mut file = bounded_file::create(&temporary)?;
        file.write_all(line)?;
        fs::rename(&temporary, &self.path)?;
        Ok(file)
    }
}

/// Reads the present state; `None` if there is no file. The error has the kind `InvalidData` if the file is
/// unusable.
pub(crate) fn read(path: &Path) -> io::Result<Option<PodState>> {
    let unusable = |why: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()))
    };
    match bounded_file::read(path, BYTES_MAX) {
        Ok(bytes) => last_state(&bytes).map(Some).map_err(|error| unusable(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(unusable(&error)),
        Err(error) => Err(error),
    }
}

/// The last line that is a state. The one after it may not have been written as a whole. Earlier versions wrote
/// one state without the end of a line.
fn last_state(bytes: &[u8]) -> serde_json::Result<PodState> {
    let mut lines = bytes.rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let last = serde_json::from_slice(lines.next().unwrap_or_default());
    match (last, lines.next()) {
        (Err(_), Some(line)) => serde_json::from_slice(line),
        (last, _) => last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_state::PodPhase;

    fn state(phase: PodPhase, pid: i32) -> PodState {
        PodState {
            supervisor_pid: pid,
            started_at: jiff::Timestamp::UNIX_EPOCH,
            phase,
            stop_reason: None,
            containers: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn pid(path: &Path) -> i32 {
        read(path).unwrap().unwrap().supervisor_pid
    }

    #[test]
    fn the_last_state_is_read_and_the_file_stays_small() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        assert!(read(&path).unwrap().is_none());
        let mut file = StateFile::new(path.clone());
        for number in 1..=2000 {
            file.write(&state(PodPhase::Running, number)).unwrap();
            assert_eq!(pid(&path), number);
        }
        assert!(fs::metadata(&path).unwrap().len() < 2 * APPENDED_BYTES_MAX);
    }

    #[test]
    fn a_state_that_was_not_written_as_a_whole_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let text = serde_json::to_string(&state(PodPhase::Running, 1)).unwrap();
        let next = serde_json::to_string(&state(PodPhase::Succeeded, 2)).unwrap();
        for length in 1..next.len() {
            fs::write(&path, format!("{text}\n{}", next.get(..length).unwrap())).unwrap();
            assert_eq!(pid(&path), 1, "{length}");
        }
        for length in 0..text.len() {
            fs::write(&path, text.get(..length).unwrap()).unwrap();
            assert_eq!(read(&path).unwrap_err().kind(), io::ErrorKind::InvalidData, "{length}");
        }
        // The form of earlier versions.
        fs::write(&path, text).unwrap();
        assert_eq!(pid(&path), 1);
    }

    #[test]
    fn a_file_that_was_replaced_is_replaced_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let mut file = StateFile::new(path.clone());
        file.write(&state(PodPhase::Running, 1)).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "something else").unwrap();
        file.write(&state(PodPhase::Running, 2)).unwrap();
        assert_eq!(pid(&path), 2);
    }
}
