//! Waits until a server is ready or a condition holds.

use std::{sync::Arc, thread, time::Duration};

use anyhow::{Context, bail};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use crate::{client::get_page, load::connection::ConnectionTarget};

pub(crate) const PAUSE: Duration = Duration::from_millis(20);
const TRIES_MAX: usize = 3000;

/// A TLS client configuration that trusts one certificate authority, given as PEM.
pub fn tls_config(authority: &str) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(certificate.context("reading the certificate authority")?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Waits until `/readyz` returns 200. An error of `check_alive` ends the wait.
pub fn wait_until_ready(
    address: &str,
    authority: &str,
    mut check_alive: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let target = ConnectionTarget::with_authority(address, authority)?;
    wait_for(&format!("{address} is ready"), || {
        check_alive()?;
        let page = get_page(target.clone(), "/readyz");
        Ok(page.is_ok_and(|(status, _)| status == 200))
    })
}

/// Polls until a condition holds. The error names the condition.
pub fn wait_for(
    condition: &str,
    mut holds: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    for _ in 0..TRIES_MAX {
        if holds()? {
            return Ok(());
        }
        pause();
    }
    bail!("{condition}: not within {:?}", PAUSE * TRIES_MAX as u32)
}

/// Sleeps for a number of seconds, to observe that nothing happens.
pub fn sleep_seconds(seconds: u64) {
    for _ in 0..Duration::from_secs(seconds).as_millis() / PAUSE.as_millis() {
        pause();
    }
}

#[expect(clippy::disallowed_methods, reason = "other processes do not signal their progress")]
pub(crate) fn pause() {
    thread::sleep(PAUSE);
}
