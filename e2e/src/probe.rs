//! Whether a server is ready.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::{Context, bail};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, Stream,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};

const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const ANSWER_BYTES_MAX: u64 = 64 * 1024;
pub(crate) const PAUSE: Duration = Duration::from_millis(20);
const TRIES_MAX: usize = 3000;

/// A client's side of TLS that trusts one authority, with HTTP/1.1 and nothing else.
pub fn tls(authority: &str) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(certificate.context("reading the authority")?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Waits until `/readyz` is answered with 200; `alive` may end the wait with an error.
pub fn wait_until_ready(
    address: &str,
    authority: &str,
    mut alive: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let tls = Arc::new(tls(authority)?);
    for _ in 0..TRIES_MAX {
        alive()?;
        if is_ready(address, &tls).unwrap_or(false) {
            return Ok(());
        }
        pause();
    }
    bail!("{address} was not ready within {:?}", PAUSE * TRIES_MAX as u32)
}

/// Asks again and again until there is something; what is waited for is named in the error.
pub fn until<T>(
    what: &str,
    mut ask: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    for _ in 0..TRIES_MAX {
        if let Some(found) = ask()? {
            return Ok(found);
        }
        pause();
    }
    bail!("{what}: not within {:?}", PAUSE * TRIES_MAX as u32)
}

/// Whether `/readyz` is answered with 200.
fn is_ready(address: &str, tls: &Arc<ClientConfig>) -> anyhow::Result<bool> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(ANSWER_WITHIN))?;
    let mut session = ClientConnection::new(Arc::clone(tls), ServerName::try_from("127.0.0.1")?)?;
    let mut stream = Stream::new(&mut session, &mut socket);
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    // A server may close without saying so; what it wrote before that counts.
    let _end = stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer);
    Ok(answer.starts_with(b"HTTP/1.1 200"))
}

#[expect(clippy::disallowed_methods, reason = "another process gets on; it tells nobody when")]
pub(crate) fn pause() {
    thread::sleep(PAUSE);
}
