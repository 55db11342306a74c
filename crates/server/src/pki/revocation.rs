//! The list of revoked client certificates: one serial number per line.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use tokio::sync::watch;

use super::certificate_info::CertificateInfo;

/// How often the list is read for open connections. A revocation ends them after at most this time.
const READ_INTERVAL: Duration = Duration::from_secs(5);

/// The list of revoked client certificates of a server, for its open connections.
#[derive(Clone, Debug)]
pub struct Revocations {
    pub(super) list: PathBuf,
}

/// What the list says. A list that cannot be read revokes all certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RevokedSerials {
    Listed(HashSet<String>),
    All,
}

impl RevokedSerials {
    fn contains(&self, serial: &str) -> bool {
        match self {
            RevokedSerials::Listed(serials) => serials.contains(serial),
            RevokedSerials::All => true,
        }
    }
}

impl Revocations {
    /// Reads the list at intervals, and publishes each change until all receivers are dropped.
    pub(crate) async fn publish_changes(self, published: watch::Sender<RevokedSerials>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(READ_INTERVAL) => {}
                () = published.closed() => return,
            }
            let list = self.list.clone();
            let reading = tokio::task::spawn_blocking(move || read_list(&list));
            let serials = match reading.await {
                Ok(Ok(serials)) => RevokedSerials::Listed(serials.into_iter().collect()),
                Ok(Err(error)) => {
                    let is_new = *published.borrow() != RevokedSerials::All;
                    if is_new {
                        let list = self.list.display();
                        tracing::error!(
                            %error,
                            "cannot read {list}; connections with client certificates are closed"
                        );
                    }
                    RevokedSerials::All
                }
                // The runtime is shutting down.
                Err(_) => return,
            };
            published.send_if_modified(|before| {
                let is_changed = *before != serials;
                *before = serials;
                is_changed
            });
        }
    }
}

/// Returns when a certificate is revoked. Never returns if nothing is published any more.
pub(crate) async fn wait_for_revocation(
    certificate: &[u8],
    mut published: watch::Receiver<RevokedSerials>,
) {
    let Some(info) = CertificateInfo::from_der(certificate) else { return };
    let is_revoked = published.wait_for(|revoked| revoked.contains(&info.serial)).await.is_ok();
    if !is_revoked {
        std::future::pending::<()>().await;
    }
}

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
    match punctual_files::read_text(path) {
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
