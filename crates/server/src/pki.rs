//! Certificates, tokens and kubeconfigs. They are created at the first start and stored beside the
//! data.

mod files;
mod issue;
mod kubeconfig;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

use self::files::read_or_create;
use self::issue::{Authority, CertificateUse};
pub use self::kubeconfig::{Credential, Kubeconfig};
use crate::auth::{ADMIN_GROUP, Tokens, User, VIEW_GROUP};
use crate::env::{ServerEnv, new_token};

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
    authority: Authority,
    /// The certificate of the authority in PEM, by which clients verify the server.
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
            authority,
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

    /// Returns the TLS configuration of a server at the given addresses and the local ones. Issues
    /// a new certificate if the stored one lacks an address or expires soon.
    pub fn tls(
        &self,
        addresses: &[IpAddr],
        now: Timestamp,
    ) -> Result<rustls::ServerConfig, PkiError> {
        let (certificate, key) = self.authority.issue(
            &self.folder,
            "server",
            &CertificateUse::Server(addresses),
            now,
        )?;
        let path = self.folder.join("server.crt");
        let unusable = |reason: String| PkiError::Unusable { path: path.clone(), reason };
        let chain = vec![parse_pem::<CertificateDer<'static>>(&certificate, &path)?];
        let key = parse_pem::<PrivateKeyDer<'static>>(&key, &self.folder.join("server.key"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        let root = parse_pem::<CertificateDer<'static>>(&self.ca_pem, &path)?;
        roots.add(root).map_err(|why| unusable(why.to_string()))?;
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .allow_unauthenticated()
                .build()
                .map_err(|why| unusable(why.to_string()))?;
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|why| unusable(why.to_string()))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(|why| unusable(why.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
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
