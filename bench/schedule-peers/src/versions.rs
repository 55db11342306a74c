//! The versions of the libraries, from the lock file.

use crate::library::LIBRARIES;

const LOCK: &str = include_str!("../Cargo.lock");

/// Lists all libraries with their versions.
pub(crate) fn line() -> String {
    let named = LIBRARIES.iter().map(|library| {
        let version = version_in(LOCK, library.package()).unwrap_or("?");
        format!("{} {version}", library.name())
    });
    named.collect::<Vec<_>>().join(", ")
}

fn version_in<'l>(lock: &'l str, package: &str) -> Option<&'l str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_has_every_library() {
        for library in LIBRARIES {
            assert!(version_in(LOCK, library.package()).is_some(), "{}", library.name());
        }
        assert_eq!(version_in(LOCK, "croner"), Some("4.0.2"));
    }
}
