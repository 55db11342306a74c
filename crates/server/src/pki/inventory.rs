//! Lists, revokes and rotates the certificates of a server.

use std::fs;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::certificate_info::CertificateInfo;
use super::files::{file_error, write};
use super::issue::{self, Authority};
use super::revocation::read_list;
use super::{ISSUED_FILE, PkiError, REVOKED_FILE, ServerIdentity};

/// Whether a certificate is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateStatus {
    /// It is accepted.
    Valid,
    /// Its validity begins later than now. It was issued with a clock that was wrong.
    NotYetValid,
    /// Its validity has ended.
    Expired,
    /// It was revoked.
    Revoked,
}

/// A certificate in the list of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCertificate {
    /// What the certificate is for: `authority`, `server` or `client`.
    pub purpose: &'static str,
    /// The certificate.
    pub info: CertificateInfo,
    /// Whether it is accepted.
    pub status: CertificateStatus,
}

impl ServerIdentity {
    /// Returns the certificates of the authority, of the server and of clients.
    pub fn certificates(&self, now: Timestamp) -> Result<Vec<ListedCertificate>, PkiError> {
        let list = self.folder.join(REVOKED_FILE);
        let revoked = read_list(&list).map_err(|source| file_error("read", &list, source))?;
        let mut certificates = Vec::new();
        for (purpose, file) in
            [("authority", "ca.crt"), ("server", "server.crt"), ("client", ISSUED_FILE)]
        {
            let text = read_optional(&self.folder.join(file))?;
            for der in CertificateDer::pem_slice_iter(text.as_bytes()).flatten() {
                let Some(info) = CertificateInfo::from_der(&der) else { continue };
                let status = if revoked.contains(&info.serial) {
                    CertificateStatus::Revoked
                } else if info.is_not_yet_valid(now) {
                    CertificateStatus::NotYetValid
                } else if now >= info.not_after {
                    CertificateStatus::Expired
                } else {
                    CertificateStatus::Valid
                };
                certificates.push(ListedCertificate { purpose, info, status });
            }
        }
        Ok(certificates)
    }

    /// Rejects a client certificate from now on. A running server needs no restart.
    pub fn revoke(&self, serial: &str) -> Result<(), PkiError> {
        let path = self.folder.join(REVOKED_FILE);
        let mut text = read_optional(&path)?;
        text.push_str(&format!("{}\n", serial.to_ascii_lowercase()));
        write(&path, &text)
    }

    /// Adds a client certificate to the list, so that it can be revoked later.
    pub(super) fn record_issued(&self, certificate_pem: &str) -> Result<(), PkiError> {
        let path = self.folder.join(ISSUED_FILE);
        let text = read_optional(&path)?;
        write(&path, &format!("{text}{certificate_pem}"))
    }
}

/// Removes the server certificate and its key. The next start issues new ones.
pub fn rotate_server_certificate(folder: &Path) -> Result<(), PkiError> {
    for name in ["server.crt", "server.key"] {
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(file_error("remove", &path, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Replaces the key of the authority. The earlier certificates of the authority stay in the bundle, so
/// client certificates that they signed are accepted until they expire.
pub fn rotate_authority(folder: &Path, now: Timestamp) -> Result<(), PkiError> {
    let path = folder.join("ca.key");
    write(&path, &issue::new_key(&path)?.serialize_pem())?;
    Authority::open(folder, now)?;
    rotate_server_certificate(folder)
}

fn read_optional(path: &Path) -> Result<String, PkiError> {
    match punctual_files::read_text(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(file_error("read", path, source)),
    }
}
