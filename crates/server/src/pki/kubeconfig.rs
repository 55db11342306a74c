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
    pub authority_pem: String,
    /// Who asks.
    pub user: String,
    /// How they show it.
    pub token: String,
}

impl Kubeconfig {
    /// The text of the file.
    pub fn to_yaml(&self) -> String {
        let authority = BASE64.encode(&self.authority_pem);
        let Kubeconfig { server, user, token, .. } = self;
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
             \x20   token: {token}\n\
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
