//! The file that tells kubectl where the server is and who asks.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::PkiError;
use super::files::write;

/// What kubectl needs to know.
pub struct Kubeconfig {
    /// Address of the server.
    pub server: String,
    /// The certificate to check it by, in PEM.
    pub ca_pem: String,
    /// Who asks.
    pub user: String,
    /// How they show it.
    pub credential: Credential,
}

/// How somebody shows who they are.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// A secret.
    Token(String),
    /// A certificate and its key, in PEM.
    Certificate {
        /// The certificate.
        certificate_pem: String,
        /// The key.
        key_pem: String,
    },
}

impl Credential {
    /// The lines below the user.
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
    /// The text of the file.
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
