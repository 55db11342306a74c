//! Reads and writes kubeconfig files.

use std::{fs, path::Path};

use anyhow::Context;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

/// The data that a client needs to reach a server.
pub(crate) struct ClusterCredentials {
    pub(crate) url: String,
    pub(crate) token: String,
    /// The authority that signed the server's certificate, as PEM.
    pub(crate) authority: String,
}

/// Reads the first cluster and the first user of a file.
pub(crate) fn read(path: &Path) -> anyhow::Result<ClusterCredentials> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let config: Value = serde_saphyr::from_str(&text)?;
    let field = |pointer: &str| {
        let found = config.pointer(pointer).and_then(Value::as_str);
        found.with_context(|| format!("{} has no {pointer}", path.display()))
    };
    let authority = field("/clusters/0/cluster/certificate-authority-data")?;
    Ok(ClusterCredentials {
        url: field("/clusters/0/cluster/server")?.to_owned(),
        token: field("/users/0/user/token")?.to_owned(),
        authority: String::from_utf8(STANDARD.decode(authority.trim())?)?,
    })
}

/// Writes a file with one cluster, one user and one context.
pub(crate) fn write(path: &Path, credentials: &ClusterCredentials) -> anyhow::Result<()> {
    let ClusterCredentials { url, token, authority } = credentials;
    let authority = STANDARD.encode(authority);
    let text = format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: e2e\n  cluster:\n    server: {url}\n    certificate-authority-data: {authority}\n\
         users:\n\
         - name: admin\n  user:\n    token: {token}\n\
         contexts:\n\
         - name: e2e\n  context:\n    cluster: e2e\n    user: admin\n\
         current-context: e2e\n"
    );
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_file_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        let credentials = ClusterCredentials {
            url: "https://127.0.0.1:6443".into(),
            token: "secret".into(),
            authority: "-----BEGIN CERTIFICATE-----\n".into(),
        };
        write(&path, &credentials).unwrap();
        let again = read(&path).unwrap();
        assert_eq!(
            (again.url, again.token, again.authority),
            (credentials.url, credentials.token, credentials.authority)
        );
    }
}
