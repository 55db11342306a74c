//! The list of revoked client certificates: one serial number per line.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use super::certificate_info::CertificateInfo;

/// Rejects revoked certificates. Reads the list at each handshake with a certificate, so a revocation
/// takes effect without a restart.
#[derive(Debug)]
pub(super) struct RevocationVerifier {
    pub(super) inner: Arc<dyn ClientCertVerifier>,
    pub(super) list: PathBuf,
}

impl RevocationVerifier {
    /// Whether a certificate is revoked. If the list cannot be read, every certificate is.
    fn is_revoked(&self, certificate: &CertificateDer<'_>) -> bool {
        let Some(info) = CertificateInfo::from_der(certificate) else { return true };
        match read_list(&self.list) {
            Ok(serials) => serials.contains(&info.serial),
            Err(error) => {
                let list = self.list.display();
                tracing::error!(%error, "cannot read {list}; all client certificates are rejected");
                true
            }
        }
    }
}

/// Returns the revoked serial numbers.
pub(super) fn read_list(path: &std::path::Path) -> io::Result<Vec<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.split_whitespace().map(str::to_ascii_lowercase).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

impl ClientCertVerifier for RevocationVerifier {
    fn offer_client_auth(&self) -> bool {
        self.inner.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.inner.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.inner.verify_client_cert(certificate, intermediates, now)?;
        if self.is_revoked(certificate) {
            return Err(CertificateError::Revoked.into());
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
