//! Certificates, tokens and kubeconfigs: made at the first start, kept beside the data.

mod files;
mod issue;
mod kubeconfig;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

use self::files::read_or_make;
use self::issue::{Authority, Purpose};
pub use self::kubeconfig::{Credential, Kubeconfig};
use crate::auth::{ADMIN_GROUP, Tokens, User, VIEW_GROUP};
use crate::env::{ServerEnv, new_token};

/// Why the server's identity could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// A file could not be read or written.
    #[error("could not {doing} {path}")]
    File {
        /// The verb of what was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A file is there but is not what it should be. Remove the folder `pki` to make all of it anew.
    #[error(
        "{path} is not usable: {why}; remove it and what was signed with it to have it made anew"
    )]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// Who the server is and whom it believes.
pub struct ServerIdentity {
    authority: Authority,
    /// The certificate that clients check the server by, in PEM.
    pub ca_pem: String,
    admin_token: String,
    view_token: String,
    folder: PathBuf,
}

impl ServerIdentity {
    /// Reads the identity in a folder, or makes it.
    pub fn open(folder: &Path, env: &dyn ServerEnv) -> Result<ServerIdentity, PkiError> {
        files::folder(folder)?;
        let authority = Authority::open(folder, env.now())?;
        let admin_token = read_or_make(&folder.join("admin.token"), || Ok(new_token(env)))?;
        let view_token = read_or_make(&folder.join("view.token"), || Ok(new_token(env)))?;
        Ok(ServerIdentity {
            ca_pem: authority.certificate_pem.clone(),
            authority,
            admin_token: admin_token.trim().to_owned(),
            view_token: view_token.trim().to_owned(),
            folder: folder.to_owned(),
        })
    }

    /// The tokens of the two roles.
    pub fn tokens(&self) -> Tokens {
        let mut tokens = Tokens::default();
        tokens.add(&self.admin_token, User::new("admin", ADMIN_GROUP));
        tokens.add(&self.view_token, User::new("view", VIEW_GROUP));
        tokens
    }

    /// How the server shows who it is: to clients of these addresses, besides the local ones. A
    /// certificate that does not fit any more is made anew.
    pub fn tls(&self, addresses: &[IpAddr], now: Timestamp) -> Result<ServerConfig, PkiError> {
        let (certificate, key) =
            self.authority.issue(&self.folder, "server", &Purpose::Server(addresses), now)?;
        let path = self.folder.join("server.crt");
        let unusable = |why: String| PkiError::Unusable { path: path.clone(), why };
        let chain = vec![der::<CertificateDer<'static>>(&certificate, &path)?];
        let key = der::<PrivateKeyDer<'static>>(&key, &self.folder.join("server.key"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        let root = der::<CertificateDer<'static>>(&self.ca_pem, &path)?;
        roots.add(root).map_err(|why| unusable(why.to_string()))?;
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .allow_unauthenticated()
                .build()
                .map_err(|why| unusable(why.to_string()))?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|why| unusable(why.to_string()))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(|why| unusable(why.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// What the kubectl of somebody needs: a certificate with their name, and the group that gives
    /// them a role.
    pub fn client_kubeconfig(
        &self,
        server: &str,
        user: &User,
        now: Timestamp,
    ) -> Result<Kubeconfig, PkiError> {
        let (certificate_pem, key_pem) = self.authority.sign(&Purpose::Client(user), now)?;
        let credential = Credential::Certificate { certificate_pem, key_pem };
        Ok(self.kubeconfig(server, &user.name, credential))
    }

    /// What an administrator's kubectl needs.
    pub fn admin_kubeconfig(&self, server: &str) -> Kubeconfig {
        self.kubeconfig(server, "admin", Credential::Token(self.admin_token.clone()))
    }

    /// What a viewer's kubectl needs.
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

fn der<T: PemObject>(pem: &str, path: &Path) -> Result<T, PkiError> {
    T::from_pem_slice(pem.as_bytes())
        .map_err(|why| PkiError::Unusable { path: path.to_owned(), why: why.to_string() })
}
