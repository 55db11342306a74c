//! The certificates, tokens and kubeconfigs of a server. They are created at the first start and
//! stored in the data directory.

mod certificate_info;
mod files;
mod inventory;
mod issue;
mod kubeconfig;
mod renewing_certificate;
mod revocation;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};

pub use self::certificate_info::CertificateInfo;
use self::files::read_or_create;
pub use self::inventory::{
    CertificateStatus, ListedCertificate, rotate_authority, rotate_server_certificate,
};
use self::issue::{Authority, CertificateUse};
pub use self::kubeconfig::{Credential, Kubeconfig};
use self::renewing_certificate::{CertificateSource, RenewingCertificate};
use self::revocation::RevocationVerifier;
pub use self::revocation::Revocations;
pub(crate) use self::revocation::{RevokedSerials, wait_for_revocation};
use crate::auth::{ADMIN_GROUP, Tokens, User, VIEW_GROUP};
use crate::env::{ServerEnv, SystemEnv, new_token};

/// The list of revoked client certificates.
const REVOKED_FILE: &str = "revoked";
/// The client certificates that were issued.
const ISSUED_FILE: &str = "issued.crt";

/// Why the server's certificates and tokens could not be created or read.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// A file could not be read or written.
    #[error("cannot {action} {path}")]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The clock is certainly wrong, so certificates would expire too early.
    #[error(
        "the clock of this machine shows {now}, which cannot be right; set it before the certificates \
         are created, because they would expire too early"
    )]
    ImplausibleClock {
        /// The time that the clock shows.
        now: Timestamp,
    },
    /// A stored key or certificate is invalid, or a new one cannot be generated.
    #[error(
        "{path} is not usable: {reason}; remove it and the certificates signed with it, and start \
         the server again to recreate them"
    )]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
}

/// The server's certificate authority and tokens.
pub struct ServerIdentity {
    authority: Arc<Authority>,
    /// The certificates of the authority in PEM, newest first, by which clients verify the server.
    pub ca_pem: String,
    admin_token: String,
    view_token: String,
    folder: PathBuf,
}

impl ServerIdentity {
    /// Reads the identity from a folder. Creates what is missing.
    pub fn open(folder: &Path, env: &dyn ServerEnv) -> Result<ServerIdentity, PkiError> {
        files::create_folder(folder)?;
        let authority = Authority::open(folder, env.now())?;
        let admin_token = read_or_create(&folder.join("admin.token"), || Ok(new_token(env)))?;
        let view_token = read_or_create(&folder.join("view.token"), || Ok(new_token(env)))?;
        Ok(ServerIdentity {
            ca_pem: authority.certificate_pem.clone(),
            authority: Arc::new(authority),
            admin_token: admin_token.trim().to_owned(),
            view_token: view_token.trim().to_owned(),
            folder: folder.to_owned(),
        })
    }

    /// Returns the tokens of the roles admin and view.
    pub fn tokens(&self) -> Tokens {
        let mut tokens = Tokens::default();
        tokens.add(&self.admin_token, User::new("admin", ADMIN_GROUP));
        tokens.add(&self.view_token, User::new("view", VIEW_GROUP));
        tokens
    }

    /// Returns the list of revoked client certificates, by which a server closes open connections.
    pub fn revocations(&self) -> Revocations {
        Revocations { list: self.folder.join(REVOKED_FILE) }
    }

    /// Returns the TLS configuration of a server at the given addresses and the local ones. Issues
    /// a new certificate if the stored one lacks an address or expires soon, even while the server runs.
    /// Revoked client certificates are rejected.
    pub fn tls(
        &self,
        addresses: &[IpAddr],
        now: Timestamp,
    ) -> Result<rustls::ServerConfig, PkiError> {
        self.tls_with_clock(addresses, now, || SystemEnv.now())
    }

    /// Returns the TLS configuration with the clock that decides about renewals.
    pub fn tls_with_clock(
        &self,
        addresses: &[IpAddr],
        now: Timestamp,
        clock: fn() -> Timestamp,
    ) -> Result<rustls::ServerConfig, PkiError> {
        let path = self.folder.join("ca.crt");
        let unusable = |reason: String| PkiError::Unusable { path: path.clone(), reason };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let source = CertificateSource {
            authority: self.authority.clone(),
            folder: self.folder.clone(),
            addresses: addresses.to_vec(),
            clock,
        };
        let certificate = RenewingCertificate::new(source, provider.clone(), now)?;
        let inner = WebPkiClientVerifier::builder_with_provider(
            Arc::new(self.client_roots(&path)?),
            provider.clone(),
        )
        .allow_unauthenticated()
        .build()
        .map_err(|why| unusable(why.to_string()))?;
        let verifier = RevocationVerifier { inner, list: self.folder.join(REVOKED_FILE) };
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|why| unusable(why.to_string()))?
            .with_client_cert_verifier(Arc::new(verifier))
            .with_cert_resolver(Arc::new(certificate));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // A resumed session would skip the check of the certificate.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    /// Returns the authorities whose client certificates are accepted: the current and earlier ones.
    fn client_roots(&self, path: &Path) -> Result<rustls::RootCertStore, PkiError> {
        let unusable = |reason: String| PkiError::Unusable { path: path.to_owned(), reason };
        let mut roots = rustls::RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(self.ca_pem.as_bytes()) {
            let root = root.map_err(|why| unusable(why.to_string()))?;
            roots.add(root).map_err(|why| unusable(why.to_string()))?;
        }
        Ok(roots)
    }

    /// Issues a client certificate for a user and returns a kubeconfig with it. The user's first
    /// group decides the role.
    pub fn client_kubeconfig(
        &self,
        server: &str,
        user: &User,
        now: Timestamp,
    ) -> Result<Kubeconfig, PkiError> {
        let (certificate_pem, key_pem) = self.authority.sign(&CertificateUse::Client(user), now)?;
        self.record_issued(&certificate_pem)?;
        let credential = Credential::Certificate { certificate_pem, key_pem };
        Ok(self.kubeconfig(server, &user.name, credential))
    }

    /// Returns the kubeconfig of the role admin.
    pub fn admin_kubeconfig(&self, server: &str) -> Kubeconfig {
        self.kubeconfig(server, "admin", Credential::Token(self.admin_token.clone()))
    }

    /// Returns the kubeconfig of the role view.
    pub fn view_kubeconfig(&self, server: &str) -> Kubeconfig {
        self.kubeconfig(server, "view", Credential::Token(self.view_token.clone()))
    }

    fn kubeconfig(&self, server: &str, user: &str, credential: Credential) -> Kubeconfig {
        Kubeconfig {
            server: server.to_owned(),
            ca_pem: self.ca_pem.clone(),
            user: user.to_owned(),
            credential,
        }
    }
}

fn parse_pem<T: PemObject>(pem: &str, path: &Path) -> Result<T, PkiError> {
    T::from_pem_slice(pem.as_bytes())
        .map_err(|why| PkiError::Unusable { path: path.to_owned(), reason: why.to_string() })
}
