//! Renews the certificate authority while the server runs.
//!
//! The key of the authority stays, so the server and client certificates that it signed stay valid. Only
//! the files from which clients learn the authority change: `ca.crt` and the kubeconfigs. The ConfigMaps
//! `kube-root-ca.crt` follow at the next start, for which there is more than a year.

use std::path::PathBuf;
use std::time::Duration;

use punctual_server::{PkiError, ServerEnv, ServerIdentity, SystemEnv};

/// How often the end of the authority is compared with the clock, which may be set at any time.
const CHECK_INTERVAL: Duration = Duration::from_secs(12 * 60 * 60);

/// The files that contain the certificates of the authority.
#[derive(Clone, Debug)]
pub(crate) struct AuthorityRenewal {
    /// The folder of the certificates and keys.
    pub(crate) pki: PathBuf,
    /// The certificates of the authority that the files contain.
    pub(crate) ca_pem: String,
    pub(crate) kubeconfigs: KubeconfigFiles,
}

/// The kubeconfigs that the server writes.
#[derive(Clone, Debug)]
pub(crate) struct KubeconfigFiles {
    pub(crate) url: String,
    pub(crate) admin: PathBuf,
    pub(crate) view: PathBuf,
}

impl KubeconfigFiles {
    pub(crate) fn write(&self, identity: &ServerIdentity) -> Result<(), PkiError> {
        identity.admin_kubeconfig(&self.url).write(&self.admin)?;
        identity.view_kubeconfig(&self.url).write(&self.view)
    }
}

impl AuthorityRenewal {
    /// Checks the authority at intervals. Never returns.
    pub(crate) async fn run(mut self) {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let mut renewal = self.clone();
            let check = move || renewal.check(&SystemEnv).map(|()| renewal);
            match tokio::task::spawn_blocking(check).await {
                Ok(Ok(checked)) => self = checked,
                Ok(Err(error)) => tracing::error!(
                    error = format!("{:#}", anyhow::Error::from(error)),
                    "cannot renew the certificate authority; retrying in {CHECK_INTERVAL:?}"
                ),
                Err(error) => tracing::error!(%error, "the renewal of the authority failed"),
            }
        }
    }

    /// Renews the authority if it ends soon, and then writes the kubeconfigs again. Opening the identity
    /// adds a certificate to the bundle.
    fn check(&mut self, env: &dyn ServerEnv) -> Result<(), PkiError> {
        let identity = ServerIdentity::open(&self.pki, env)?;
        if identity.ca_pem != self.ca_pem {
            self.kubeconfigs.write(&identity)?;
            self.ca_pem.clone_from(&identity.ca_pem);
            tracing::info!(
                "the certificate authority was renewed; the old certificate stays valid until it ends; \
                 copy the kubeconfig again to other machines before that"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jiff::{SignedDuration, Timestamp};

    use super::*;

    /// A clock that is some years ahead.
    struct YearsAhead(i64);

    impl ServerEnv for YearsAhead {
        fn now(&self) -> Timestamp {
            let ahead = SignedDuration::from_hours(24 * 365 * self.0);
            SystemEnv.now().saturating_add(ahead).unwrap()
        }

        fn fill_random(&self, bytes: &mut [u8]) {
            SystemEnv.fill_random(bytes);
        }
    }

    #[test]
    fn a_running_server_renews_the_authority_and_writes_the_kubeconfigs_again() {
        let folder = tempfile::tempdir().unwrap();
        let pki = folder.path().join("pki");
        let identity = ServerIdentity::open(&pki, &SystemEnv).unwrap();
        let kubeconfigs = KubeconfigFiles {
            url: "https://127.0.0.1:6443".to_owned(),
            admin: folder.path().join("kubeconfig"),
            view: folder.path().join("kubeconfig-view"),
        };
        kubeconfigs.write(&identity).unwrap();
        let old_pem = identity.ca_pem;
        let mut renewal =
            AuthorityRenewal { pki: pki.clone(), ca_pem: old_pem.clone(), kubeconfigs };
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let before = read("kubeconfig");
        renewal.check(&YearsAhead(8)).unwrap();
        assert_eq!(read("kubeconfig"), before, "nothing ends soon");
        renewal.check(&YearsAhead(9)).unwrap();
        assert_ne!(read("kubeconfig"), before);
        assert_ne!(read("kubeconfig-view"), before);
        let bundle = read("pki/ca.crt");
        assert!(bundle.ends_with(&old_pem), "the old authority stays in the bundle");
        assert_eq!(bundle.matches("BEGIN CERTIFICATE").count(), 2);
        let after = read("kubeconfig");
        renewal.check(&YearsAhead(9)).unwrap();
        assert_eq!((read("pki/ca.crt"), read("kubeconfig")), (bundle, after), "renewed once");
    }
}
