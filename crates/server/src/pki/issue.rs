//! The certificate authority of a server and the certificates it issues.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};
use x509_parser::extensions::GeneralName;

use super::PkiError;
use super::certificate_info::CertificateInfo;
use super::files::{read_or_create, write};
use crate::auth::User;

const DAY: SignedDuration = SignedDuration::from_hours(24);
const AUTHORITY_DAYS: i32 = 3650;
const LEAF_DAYS: i32 = 365;
/// A stored certificate that expires sooner is issued again.
pub(super) const RENEW_DAYS: i32 = 60;
/// The certificate of the authority is renewed before it ends earlier than a new leaf certificate.
const AUTHORITY_RENEW_DAYS: i32 = LEAF_DAYS + RENEW_DAYS;
/// 2026-01-01T00:00:00Z. This program did not exist before, so an earlier clock is wrong.
const PROGRAM_EXISTS_SINCE: Timestamp = Timestamp::constant(1_767_225_600, 0);
/// The time of the sources in seconds since 1970, if the build sets it as releases do. The time of the
/// compilation is not used, because the same sources would give different programs.
const SOURCE_DATE: Option<&str> = option_env!("SOURCE_DATE_EPOCH");
/// Host names by which clients reach the server.
const LOCAL_NAMES: [&str; 4] =
    ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
const LOCAL_ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// The purpose of a certificate.
pub(super) enum CertificateUse<'a> {
    /// Serves clients at these addresses and the local ones.
    Server(&'a [IpAddr]),
    /// Authenticates a user.
    Client(&'a User),
}

/// A certificate authority.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(super) certificate_pem: String,
}

impl Authority {
    /// Reads the authority from a folder. Creates it if it does not exist.
    pub(super) fn open(folder: &Path, now: Timestamp) -> Result<Authority, PkiError> {
        let key_path = folder.join("ca.key");
        let path = folder.join("ca.crt");
        let key_pem =
            read_or_create(&key_path, || new_key(&key_path).map(|key| key.serialize_pem()))?;
        let key = KeyPair::from_pem(&key_pem).map_err(|why| unusable(&key_path, why))?;
        let sign = || {
            check_clock(now)?;
            let certificate = authority_params(now).self_signed(&key);
            Ok(certificate.map_err(|why| unusable(&path, why))?.pem())
        };
        let mut certificate_pem = read_or_create(&path, sign)?;
        let newest = CertificateInfo::parse(&certificate_pem);
        let newest = newest.ok_or_else(|| unusable(&path, "it is not a certificate"))?;
        let is_wrong_clock = newest.is_not_yet_valid(now) && check_clock(now).is_err();
        if newest.is_not_yet_valid(now) {
            tracing::warn!(
                "the clock shows {now}, before the certificate authority becomes valid at {}; {}",
                newest.not_before,
                if is_wrong_clock {
                    "clients do not trust the server until the clock is set"
                } else {
                    "it gets a new certificate; clients may need the new kubeconfig"
                }
            );
        }
        // The key stays, so clients that know only the old certificate trust the server until it ends.
        if newest.expires_within(AUTHORITY_RENEW_DAYS, now)
            || newest.is_not_yet_valid(now) && !is_wrong_clock
            || newest.public_key != key.public_key_raw()
        {
            certificate_pem = format!("{}{certificate_pem}", sign()?);
            write(&path, &certificate_pem)?;
        }
        // The issuer name of new certificates must equal the subject of the stored certificate.
        let issuer = Issuer::new(authority_params(now), key);
        Ok(Authority { issuer, certificate_pem })
    }

    /// Returns the certificate and key stored in a folder. Issues new ones if they are missing or
    /// unfit.
    pub(super) fn issue(
        &self,
        folder: &Path,
        name: &str,
        purpose: &CertificateUse<'_>,
        now: Timestamp,
    ) -> Result<(String, String), PkiError> {
        let path = folder.join(format!("{name}.crt"));
        let key_path = folder.join(format!("{name}.key"));
        // What cannot be read is replaced.
        let stored = punctual_files::read_text(&path).ok();
        let stored = stored.zip(punctual_files::read_text(&key_path).ok());
        if let Some((certificate, key)) = stored
            && is_fit(&certificate, purpose, now)
        {
            return Ok((certificate, key));
        }
        let (certificate, key) = self.sign(purpose, now)?;
        write(&key_path, &key)?;
        write(&path, &certificate)?;
        Ok((certificate, key))
    }

    /// Issues a certificate with a new key. Returns both in PEM.
    pub(super) fn sign(
        &self,
        purpose: &CertificateUse<'_>,
        now: Timestamp,
    ) -> Result<(String, String), PkiError> {
        check_clock(now)?;
        let path = Path::new("a new certificate");
        let key = new_key(path)?;
        let params = leaf_params(purpose, now).map_err(|why| unusable(path, why))?;
        let certificate =
            params.signed_by(&key, &self.issuer).map_err(|why| unusable(path, why))?;
        Ok((certificate.pem(), key.serialize_pem()))
    }
}

/// Rejects a clock that is certainly wrong: the certificate would expire years too early.
fn check_clock(now: Timestamp) -> Result<(), PkiError> {
    if now < earliest_time(SOURCE_DATE) { Err(PkiError::ImplausibleClock { now }) } else { Ok(()) }
}

/// Returns the time before which the clock is certainly wrong.
fn earliest_time(source_date: Option<&str>) -> Timestamp {
    let source_date = source_date.and_then(|text| text.trim().parse().ok());
    let source_date = source_date.and_then(|seconds| Timestamp::from_second(seconds).ok());
    source_date.unwrap_or(PROGRAM_EXISTS_SINCE).max(PROGRAM_EXISTS_SINCE)
}

pub(super) fn new_key(path: &Path) -> Result<KeyPair, PkiError> {
    KeyPair::generate().map_err(|why| unusable(path, why))
}

fn unusable(path: &Path, why: impl std::fmt::Display) -> PkiError {
    PkiError::Unusable { path: path.to_owned(), reason: why.to_string() }
}

fn authority_params(now: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = name("punctual-ca", &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    set_validity(&mut params, now, AUTHORITY_DAYS);
    params
}

fn leaf_params(
    purpose: &CertificateUse<'_>,
    now: Timestamp,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::default();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    match purpose {
        CertificateUse::Server(addresses) => {
            params.distinguished_name = name("punctual-server", &[]);
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            for local in LOCAL_NAMES {
                params.subject_alt_names.push(SanType::DnsName(local.try_into()?));
            }
            let addresses = LOCAL_ADDRESSES.iter().chain(*addresses);
            params.subject_alt_names.extend(addresses.map(|address| SanType::IpAddress(*address)));
        }
        CertificateUse::Client(user) => {
            params.distinguished_name = name(&user.name, &user.groups);
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        }
    }
    set_validity(&mut params, now, LEAF_DAYS);
    Ok(params)
}

fn name(common: &str, organizations: &[String]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    // rcgen keeps one organization. The first group decides the role.
    if let Some(organization) = organizations.first() {
        name.push(DnType::OrganizationName, organization.as_str());
    }
    name
}

/// Sets the validity, from yesterday on, since the clocks of clients may be slow.
fn set_validity(params: &mut CertificateParams, now: Timestamp, days: i32) {
    let date_of = |time: Timestamp| {
        let date = time.to_zoned(TimeZone::UTC).date();
        date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
    };
    params.not_before = date_of(now.saturating_sub(DAY).unwrap_or(now));
    params.not_after = date_of(now.saturating_add(DAY * days).unwrap_or(now));
}

/// Whether a certificate is valid long enough and contains every address. One that becomes valid later
/// is fit only if the clock is certainly wrong, because no better one can be issued then.
fn is_fit(pem: &str, purpose: &CertificateUse<'_>, now: Timestamp) -> bool {
    let Some(info) = CertificateInfo::parse(pem) else { return false };
    let is_early = info.is_not_yet_valid(now) && check_clock(now).is_ok();
    if is_early || info.expires_within(RENEW_DAYS, now) {
        return false;
    }
    let Ok((_, pem)) = x509_parser::pem::parse_x509_pem(pem.as_bytes()) else {
        return false;
    };
    let Ok(certificate) = pem.parse_x509() else {
        return false;
    };
    let names = certificate.subject_alternative_name().ok().flatten();
    let has_address = |address: &IpAddr| {
        names.as_ref().is_some_and(|names| {
            names.value.general_names.iter().any(|name| match (name, address) {
                (GeneralName::IPAddress(bytes), IpAddr::V4(address)) => *bytes == address.octets(),
                (GeneralName::IPAddress(bytes), IpAddr::V6(address)) => *bytes == address.octets(),
                _ => false,
            })
        })
    };
    match purpose {
        CertificateUse::Server(addresses) => {
            LOCAL_ADDRESSES.iter().chain(*addresses).all(has_address)
        }
        CertificateUse::Client(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_before_the_sources_of_the_program_is_implausible() {
        let newer = Timestamp::constant(1_800_000_000, 0);
        assert_eq!(earliest_time(Some("1800000000\n")), newer);
        for unusable in [None, Some(""), Some("yesterday"), Some("0"), Some("99999999999999999")] {
            assert_eq!(earliest_time(unusable), PROGRAM_EXISTS_SINCE, "{unusable:?}");
        }
    }
}
