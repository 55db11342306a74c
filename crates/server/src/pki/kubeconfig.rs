//! Renders the kubeconfig files with which clients reach the server.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::PkiError;
use super::files::write;

/// A kubeconfig with one cluster, user and context.
pub struct Kubeconfig {
    /// The URL of the server.
    pub server: String,
    /// The certificate of the server's authority in PEM.
    pub ca_pem: String,
    /// The name of the user.
    pub user: String,
    /// The user's credential.
    pub credential: Credential,
}

/// A client credential.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// A bearer token.
    Token(String),
    /// A client certificate and its key, in PEM.
    Certificate {
        /// The certificate.
        certificate_pem: String,
        /// The key.
        key_pem: String,
    },
}

impl Credential {
    /// Returns the YAML lines below the user.
    fn to_yaml(&self) -> String {
        match self {
            Credential::Token(token) => format!("    token: {token}\n"),
            Credential::Certificate { certificate_pem, key_pem } => format!(
                "    client-certificate-data: {}\n    client-key-data: {}\n",
                BASE64.encode(certificate_pem),
                BASE64.encode(key_pem)
            ),
        }
    }
}

impl Kubeconfig {
    /// Returns the file's content.
    pub fn to_yaml(&self) -> String {
        let authority = BASE64.encode(&self.ca_pem);
        let credential = self.credential.to_yaml();
        let Kubeconfig { server, user, .. } = self;
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             clusters:\n\
             - name: punctual\n\
             \x20 cluster:\n\
             \x20   server: {server}\n\
             \x20   certificate-authority-data: {authority}\n\
             users:\n\
             - name: {user}\n\
             \x20 user:\n\
             {credential}\
             contexts:\n\
             - name: punctual\n\
             \x20 context:\n\
             \x20   cluster: punctual\n\
             \x20   user: {user}\n\
             current-context: punctual\n"
        )
    }

    /// Writes the file so that only its owner can read it.
    pub fn write(&self, path: &Path) -> Result<(), PkiError> {
        write(path, &self.to_yaml())
    }
}
