//! Instructions by callgrind.
//!
//! It counts only inside the measured loop and writes a part file each time the loop is left, so
//! the n-th part belongs to the n-th row that the process measured.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::measure::MEASURED;

/// Whether there is a valgrind to run.
pub(crate) fn is_available() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// The command that runs a program under callgrind. The program's arguments are still to be added.
pub(crate) fn command(program: &Path, parts: &Parts) -> Command {
    let mut command = Command::new("valgrind");
    // By its full name: of two options with the same pattern, callgrind heeds only one.
    command
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--toggle-collect={MEASURED}"))
        .arg(format!("--dump-after={MEASURED}"))
        .arg(format!("--callgrind-out-file={}", parts.base().display()))
        .arg(program);
    command
}

/// A folder of part files, which goes away with this value.
pub(crate) struct Parts(PathBuf);

impl Parts {
    pub(crate) fn new(folder: PathBuf) -> io::Result<Parts> {
        fs::create_dir_all(&folder)?;
        Ok(Parts(folder))
    }

    fn base(&self) -> PathBuf {
        self.0.join("part")
    }

    /// The instructions of each part, in the order they were written.
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

impl Drop for Parts {
    fn drop(&mut self) {
        // Left-over part files are a nuisance, not an error.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn unreadable(path: &Path) -> io::Error {
    io::Error::other(format!("{} has no count of instructions", path.display()))
}

/// The instructions of a part file.
fn total(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_part_is_found() {
        let part = "version: 1\nevents: Ir\nsummary: 7\n\nfn=(1) f\n+3 7\n\ntotals: 1234\n";
        assert_eq!(total(part), Some(1234));
        assert_eq!(total("version: 1\nevents: Ir\n"), None);
    }
}
