//! The TLS configuration of a dashboard that is not on loopback.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Why the TLS configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file has no usable PEM.
    #[error("could not read {0}")]
    Pem(String, #[source] rustls::pki_types::pem::Error),
    /// The certificate and the key do not fit.
    #[error("the certificate and the key of the dashboard cannot be used")]
    Unusable(#[from] rustls::Error),
}

/// Reads a certificate chain and a private key in PEM.
pub fn load_tls(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error| TlsError::Pem(path, error)
    };
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(certificate).map_err(failed(certificate))?.collect();
    let chain = chain.map_err(failed(certificate))?;
    let key_der = PrivateKeyDer::from_pem_file(key).map_err(failed(key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = config.with_no_client_auth().with_single_cert(chain, key_der)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
