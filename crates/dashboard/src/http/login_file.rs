//! The private file with which another process of the same user makes a login link.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::login_links::LoginLinks;

/// The longest file that is read.
const FILE_LEN_MAX: u64 = 4096;

/// Why no login link can be made.
#[derive(Debug, thiserror::Error)]
pub enum LoginFileError {
    /// There is no dashboard.
    #[error(
        "no dashboard runs: {0} does not exist; start `punctual up` with this data directory and without --dashboard off"
    )]
    Missing(PathBuf),
    /// The file cannot be read.
    #[error("could not read {0}")]
    Unreadable(PathBuf, #[source] io::Error),
    /// The file is damaged.
    #[error("{0} is damaged; restart `punctual up`")]
    Damaged(PathBuf),
}

/// The private file of a running dashboard. It is removed when the dashboard ends.
#[derive(Debug)]
pub struct LoginFile {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Content {
    url: String,
    key: String,
}

impl LoginFile {
    /// Writes the file.
    pub fn create(path: PathBuf, links: &LoginLinks) -> io::Result<LoginFile> {
        let key = URL_SAFE_NO_PAD.encode(links.secret());
        let content = Content { url: links.base().to_owned(), key };
        write_private(&path, &serde_json::to_string(&content)?)?;
        Ok(LoginFile { path })
    }

    /// Reads the file of a running dashboard, to make a link to it.
    pub fn read(path: &Path) -> Result<LoginLinks, LoginFileError> {
        let unreadable = |error| LoginFileError::Unreadable(path.to_owned(), error);
        let damaged = || LoginFileError::Damaged(path.to_owned());
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(LoginFileError::Missing(path.to_owned()));
            }
            Err(error) => return Err(unreadable(error)),
            Ok(metadata) if !metadata.is_file() || metadata.len() > FILE_LEN_MAX => {
                return Err(damaged());
            }
            Ok(_) => {}
        }
        let text = fs::read(path).map_err(unreadable)?;
        let content: Content = serde_json::from_slice(&text).map_err(|_| damaged())?;
        let key = URL_SAFE_NO_PAD.decode(content.key).map_err(|_| damaged())?;
        let key = key.try_into().map_err(|_| damaged())?;
        Ok(LoginLinks::with_secret(content.url, key))
    }
}

impl Drop for LoginFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Replaces a file that only its owner can read.
pub(super) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = PathBuf::from(temporary);
    // Left behind by a process that was killed.
    let _ = fs::remove_file(&temporary);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    drop(file);
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn another_process_makes_a_link_with_the_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dashboard.login");
        let links = LoginLinks::new("http://127.0.0.1:6480".into()).unwrap();
        let file = LoginFile::create(path.clone(), &links).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let now = "2026-11-19T00:00:00Z".parse().unwrap();
        let link = LoginFile::read(&path).unwrap().link(now).unwrap();
        assert!(links.redeem(link.strip_prefix("http://127.0.0.1:6480/login?code=").unwrap(), now));
        drop(file);
        assert!(matches!(LoginFile::read(&path), Err(LoginFileError::Missing(_))));
        fs::write(&path, "{}").unwrap();
        assert!(matches!(LoginFile::read(&path), Err(LoginFileError::Damaged(_))));
    }
}
