//! Counts instructions with callgrind.
//!
//! callgrind counts only inside the measured loop and writes a part file each time the loop ends, so
//! the n-th part belongs to the n-th item that the process measured.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::measure::MEASURED;

/// Reports whether valgrind is installed.
pub(crate) fn is_available() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Returns the command that runs a program under callgrind. The caller adds the program's arguments.
pub(crate) fn command(program: &Path, parts: &PartFiles) -> Command {
    let mut command = Command::new("valgrind");
    // Uses the full symbol name: callgrind applies only one of two options with the same pattern.
    command
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--toggle-collect={MEASURED}"))
        .arg(format!("--dump-after={MEASURED}"))
        .arg(format!("--callgrind-out-file={}", parts.base().display()))
        .arg(program);
    command
}

/// A folder of part files. Dropping the value deletes the folder.
pub(crate) struct PartFiles(PathBuf);

impl PartFiles {
    pub(crate) fn new(folder: PathBuf) -> io::Result<PartFiles> {
        fs::create_dir_all(&folder)?;
        Ok(PartFiles(folder))
    }

    fn base(&self) -> PathBuf {
        self.0.join("part")
    }

    /// Returns the instructions of each part in the order of writing.
    pub(crate) fn instructions(&self) -> io::Result<Vec<u64>> {
        let mut found = Vec::new();
        loop {
            let path = self.base().with_extension((found.len() + 1).to_string());
            match fs::read_to_string(&path) {
                Ok(text) => found.push(total(&text).ok_or_else(|| unreadable(&path))?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for PartFiles {
    fn drop(&mut self) {
        // Remaining part files do no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn unreadable(path: &Path) -> io::Error {
    io::Error::other(format!("{} has no count of instructions", path.display()))
}

/// Returns the instruction count of a part file.
fn total(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_part_file_is_parsed() {
        let part = "version: 1\nevents: Ir\nsummary: 7\n\nfn=(1) f\n+3 7\n\ntotals: 1234\n";
        assert_eq!(total(part), Some(1234));
        assert_eq!(total("version: 1\nevents: Ir\n"), None);
    }
}
