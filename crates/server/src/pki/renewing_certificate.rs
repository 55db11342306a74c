//! The server certificate, which is renewed while the server runs.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::certificate_info::CertificateInfo;
use super::issue::{Authority, CertificateUse, RENEW_DAYS};
use super::{PkiError, parse_pem};

/// How long to wait after a failed renewal.
const RETRY: SignedDuration = SignedDuration::from_hours(1);

/// Serves the current certificate. Each handshake checks whether it must be renewed, which also
/// notices that the clock was set.
pub(super) struct RenewingCertificate {
    authority: Arc<Authority>,
    folder: PathBuf,
    addresses: Vec<IpAddr>,
    provider: Arc<CryptoProvider>,
    clock: fn() -> Timestamp,
    current: Mutex<IssuedCertificate>,
}

struct IssuedCertificate {
    key: Arc<CertifiedKey>,
    not_before: Timestamp,
    renew_at: Timestamp,
    /// When the last renewal failed.
    failed_at: Option<Timestamp>,
}

impl IssuedCertificate {
    /// Whether to try a renewal: the certificate ends soon, or the clock was set back to a time before
    /// it begins.
    fn is_renewal_due(&self, now: Timestamp) -> bool {
        let is_unfit = now < self.not_before || now >= self.renew_at;
        let is_retry_due = self.failed_at.is_none_or(|failed_at| {
            now < failed_at || now >= failed_at.saturating_add(RETRY).unwrap_or(now)
        });
        is_unfit && is_retry_due
    }
}

/// What is needed to issue server certificates.
pub(super) struct CertificateSource {
    pub(super) authority: Arc<Authority>,
    pub(super) folder: PathBuf,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) clock: fn() -> Timestamp,
}

impl RenewingCertificate {
    /// Returns the stored certificate, or a new one if it is unfit.
    pub(super) fn new(
        source: CertificateSource,
        provider: Arc<CryptoProvider>,
        now: Timestamp,
    ) -> Result<RenewingCertificate, PkiError> {
        let CertificateSource { authority, folder, addresses, clock } = source;
        let current = issue(&authority, &folder, &addresses, &provider, now)?;
        let current = Mutex::new(current);
        Ok(RenewingCertificate { authority, folder, addresses, provider, clock, current })
    }
}

fn issue(
    authority: &Authority,
    folder: &std::path::Path,
    addresses: &[IpAddr],
    provider: &CryptoProvider,
    now: Timestamp,
) -> Result<IssuedCertificate, PkiError> {
    let purpose = CertificateUse::Server(addresses);
    let (certificate, key) = authority.issue(folder, "server", &purpose, now)?;
    let path = folder.join("server.crt");
    let chain = vec![parse_pem::<CertificateDer<'static>>(&certificate, &path)?];
    let key = parse_pem::<PrivateKeyDer<'static>>(&key, &folder.join("server.key"))?;
    let key = provider.key_provider.load_private_key(key);
    let key = key.map_err(|why| PkiError::Unusable { path, reason: why.to_string() })?;
    let period = SignedDuration::from_hours(24) * RENEW_DAYS;
    let info = CertificateInfo::parse(&certificate);
    let not_before = info.as_ref().map_or(now, |info| info.not_before);
    let renew_at = info.map_or(now, |info| info.not_after).saturating_sub(period).unwrap_or(now);
    let key = Arc::new(CertifiedKey::new(chain, key));
    // A certificate that is still not valid was issued by the right clock, and this clock is wrong.
    let failed_at = (now < not_before).then_some(now);
    Ok(IssuedCertificate { key, not_before, renew_at, failed_at })
}

impl ResolvesServerCert for RenewingCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let now = (self.clock)();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.is_renewal_due(now) {
            match issue(&self.authority, &self.folder, &self.addresses, &self.provider, now) {
                Ok(renewed) => {
                    tracing::info!("renewed the server certificate");
                    *current = renewed;
                }
                Err(error) => {
                    tracing::error!(%error, "cannot renew the server certificate; retrying in an hour");
                    current.failed_at = Some(now);
                }
            }
        }
        Some(current.key.clone())
    }
}

/// Shows no key.
impl fmt::Debug for RenewingCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenewingCertificate").field("folder", &self.folder).finish_non_exhaustive()
    }
}
