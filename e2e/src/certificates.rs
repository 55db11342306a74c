//! Keys and certificates for kube-apiserver. They are of the same kind as those of our own server, so
//! that a TLS handshake costs the same on both.

use std::{fs, path::Path};

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
};

/// Writes `ca.crt`, `server.crt`, `server.key`, `accounts.key` and `accounts.pub` into a folder.
pub(crate) fn write(folder: &Path) -> anyhow::Result<()> {
    let authority = authority()?;
    let key = KeyPair::generate().context("a key for the server")?;
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let leaf =
        with_name(CertificateParams::new(names)?, "e2e server").signed_by(&key, &authority)?;
    let accounts = KeyPair::generate().context("a key for service accounts")?;
    let files = [
        ("ca.crt", authority.pem()),
        ("server.crt", leaf.pem()),
        ("server.key", key.serialize_pem()),
        ("accounts.key", accounts.serialize_pem()),
        ("accounts.pub", accounts.public_key_pem()),
    ];
    for (name, text) in files {
        fs::write(folder.join(name), text).with_context(|| format!("writing {name}"))?;
    }
    Ok(())
}

fn authority() -> anyhow::Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = with_name(CertificateParams::new(Vec::new())?, "e2e authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate().context("a key for the authority")?;
    Ok(CertifiedIssuer::self_signed(params, key)?)
}

/// Sets the common name. Authority and server need different names: OpenSSL takes a certificate whose
/// issuer has the same name for self-signed.
fn with_name(mut params: CertificateParams, name: &str) -> CertificateParams {
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
