//! What a certificate says about itself.

use jiff::{SignedDuration, Timestamp};
use x509_parser::certificate::X509Certificate;

/// The facts about a certificate that an operator needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateInfo {
    /// The serial number in hexadecimal, which identifies a certificate to revoke.
    pub serial: String,
    /// The common name: the user of a client certificate.
    pub name: String,
    /// The organization: the group of a client certificate.
    pub group: String,
    /// The start of the validity.
    pub not_before: Timestamp,
    /// The end of the validity.
    pub not_after: Timestamp,
    pub(super) public_key: Vec<u8>,
}

impl CertificateInfo {
    /// Parses the first certificate of a PEM text.
    pub(super) fn parse(pem: &str) -> Option<CertificateInfo> {
        let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).ok()?;
        CertificateInfo::from_der(&pem.contents)
    }

    pub(super) fn from_der(der: &[u8]) -> Option<CertificateInfo> {
        let (_, certificate) = x509_parser::parse_x509_certificate(der).ok()?;
        let subject = certificate.subject();
        let first = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let validity = certificate.validity();
        Some(CertificateInfo {
            serial: serial(&certificate),
            name: first(subject.iter_common_name().next().and_then(|name| name.as_str().ok())),
            group: first(subject.iter_organization().next().and_then(|name| name.as_str().ok())),
            not_before: Timestamp::from_second(validity.not_before.timestamp()).ok()?,
            not_after: Timestamp::from_second(validity.not_after.timestamp()).ok()?,
            public_key: certificate.public_key().subject_public_key.data.to_vec(),
        })
    }

    /// Whether the validity begins later: the certificate was issued with a clock that was wrong.
    pub(super) fn is_not_yet_valid(&self, now: Timestamp) -> bool {
        self.not_before > now
    }

    pub(super) fn expires_within(&self, days: i32, now: Timestamp) -> bool {
        let period = SignedDuration::from_hours(24) * days;
        self.not_after <= now.saturating_add(period).unwrap_or(now)
    }
}

fn serial(certificate: &X509Certificate<'_>) -> String {
    certificate.raw_serial().iter().map(|byte| format!("{byte:02x}")).collect()
}
