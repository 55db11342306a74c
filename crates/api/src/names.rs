//! Validation of names with Kubernetes' messages, and the name of the Job for a slot (a time at
//! which a schedule says to run).
//!
//! Each check returns all reasons why a text is invalid, in Kubernetes' order, and an empty list
//! for a valid text. Lengths are in bytes. Some messages say "characters" and some "bytes", as in
//! kube-apiserver, because clients compare them.

use jiff::Timestamp;

const LABEL_LEN_MAX: usize = 63;
const SUBDOMAIN_LEN_MAX: usize = 253;
const PORT_NAME_LEN_MAX: usize = 15;
/// How much of a CronJob's name the name of a requested Job has.
const REQUESTED_PREFIX_LEN: usize = 40;

const DNS_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS_SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

const DNS_LABEL_RULE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric \
     characters or '-', and must start and end with an alphanumeric character";
const DNS_SUBDOMAIN_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
     alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const QUALIFIED_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must \
     start and end with an alphanumeric character";
const LABEL_VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric \
     characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// The name of the Job for a slot: the CronJob's name and the slot in minutes, or in seconds where
/// the slot is not on a whole minute.
///
/// ```
/// use punctual_api::names::job_name;
///
/// let slot = "2024-01-08T05:16:00Z".parse().unwrap();
/// assert_eq!(job_name("backup", slot), "backup-28411516");
/// let slot = "2024-01-08T05:16:30Z".parse().unwrap();
/// assert_eq!(job_name("backup", slot), "backup-1704690990");
/// ```
pub fn job_name(cron_job: &str, slot: Timestamp) -> String {
    let seconds = slot.as_second();
    if seconds % 60 == 0 {
        format!("{cron_job}-{}", seconds / 60)
    } else {
        format!("{cron_job}-{seconds}")
    }
}

/// The name of the Job for a run of a RunRequest that repeats a slot or runs besides the schedule: the beginning of
/// the CronJob's name, and a hash of the request's UID and the position of the run.
///
/// ```
/// use punctual_api::names::requested_job_name;
///
/// let name = requested_job_name("backup", "cf4b1d1e-5f1b-4b0e-8a7f-0f6f3a5a8f10", 0);
/// assert_eq!(name, requested_job_name("backup", "cf4b1d1e-5f1b-4b0e-8a7f-0f6f3a5a8f10", 0));
/// assert_ne!(name, requested_job_name("backup", "cf4b1d1e-5f1b-4b0e-8a7f-0f6f3a5a8f10", 1));
/// assert!(name.starts_with("backup-r"));
/// ```
pub fn requested_job_name(cron_job: &str, request_uid: &str, index: i64) -> String {
    let hash = fnv1a(fnv1a(FNV_OFFSET, request_uid.as_bytes()), &index.to_le_bytes());
    let prefix: String = cron_job.chars().take(REQUESTED_PREFIX_LEN).collect();
    // Without the letter, the hash could look like a slot.
    format!("{}-r{hash:016x}", prefix.trim_end_matches(['-', '.']))
}

/// The initial value of [`fnv1a`].
pub const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// The FNV-1a hash. Unlike the standard library's hashes it is the same in every version.
pub fn fnv1a(seed: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(seed, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Checks a DNS label (RFC 1123): namespaces, containers, volumes.
pub fn check_dns_label(text: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    if text.len() > LABEL_LEN_MAX {
        reasons.push(too_many_characters(LABEL_LEN_MAX));
    }
    if !is_dns_label(text) {
        reasons.push(if is_dns_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            format_rule(DNS_LABEL_RULE, DNS_LABEL, &["my-name", "123-abc"])
        });
    }
    reasons
}

/// Checks a DNS subdomain (RFC 1123): the names of most objects.
pub fn check_dns_subdomain(text: &str) -> Vec<String> {
    check_dns_subdomain_with(text, too_many_characters(SUBDOMAIN_LEN_MAX))
}

fn check_dns_subdomain_with(text: &str, too_long: String) -> Vec<String> {
    let mut reasons = Vec::new();
    if text.len() > SUBDOMAIN_LEN_MAX {
        reasons.push(too_long);
    }
    if !is_dns_subdomain(text) {
        reasons.push(format_rule(DNS_SUBDOMAIN_RULE, DNS_SUBDOMAIN, &["example.com"]));
    }
    reasons
}

/// Checks a `generateName` prefix, which may end with a dash.
pub fn check_dns_subdomain_prefix(text: &str) -> Vec<String> {
    match text.strip_suffix('-') {
        // Like `maskTrailingDash`: replaces the dash by a letter.
        Some(stem) if !stem.is_empty() => check_dns_subdomain(&format!("{stem}a")),
        _ => check_dns_subdomain(text),
    }
}

/// Checks a key of a label or annotation: `name` or `example.com/name`.
pub fn check_qualified_name(text: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    let mut parts = text.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            reasons.extend(check_prefix(prefix));
            name
        }
        _ => {
            let rule = format_rule(QUALIFIED_RULE, QUALIFIED, &["MyName", "my.name", "123-abc"]);
            reasons.push(format!(
                "a valid label key {rule} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')"
            ));
            return reasons;
        }
    };
    if name.is_empty() {
        reasons.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_LEN_MAX {
        reasons.push(format!("name part {}", too_many_bytes(LABEL_LEN_MAX)));
    }
    if !is_qualified(name) {
        let rule = format_rule(QUALIFIED_RULE, QUALIFIED, &["MyName", "my.name", "123-abc"]);
        reasons.push(format!("name part {rule}"));
    }
    reasons
}

fn check_prefix(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let reasons = check_dns_subdomain_with(prefix, too_many_bytes(SUBDOMAIN_LEN_MAX));
    reasons.into_iter().map(|reason| format!("prefix part {reason}")).collect()
}

/// Checks a label value.
pub fn check_label_value(text: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    if text.len() > LABEL_LEN_MAX {
        reasons.push(too_many_bytes(LABEL_LEN_MAX));
    }
    if !text.is_empty() && !is_qualified(text) {
        let examples = ["MyValue", "my_value", "12345"];
        reasons.push(format_rule(LABEL_VALUE_RULE, LABEL_VALUE, &examples));
    }
    reasons
}

/// Checks the name of an environment variable: printable ASCII without `=`.
pub fn check_env_var(text: &str) -> Vec<String> {
    if text.is_empty() {
        return vec!["environment variable name must be non-empty".to_owned()];
    }
    if text.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=') {
        return Vec::new();
    }
    vec![
        "a valid environment variable name must consist only of printable ASCII characters other \
         than '='"
            .to_owned(),
    ]
}

/// Checks a key of a ConfigMap or Secret.
pub fn check_config_key(text: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    if text.len() > SUBDOMAIN_LEN_MAX {
        reasons.push(too_many_characters(SUBDOMAIN_LEN_MAX));
    }
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    if text.is_empty() || !text.bytes().all(is_allowed) {
        reasons.push(format_rule(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    match text {
        "." => reasons.push("must not be '.'".to_owned()),
        ".." => reasons.push("must not be '..'".to_owned()),
        _ if text.starts_with("..") => reasons.push("must not start with '..'".to_owned()),
        _ => {}
    }
    reasons
}

/// Checks the name of a port.
pub fn check_port_name(text: &str) -> Vec<String> {
    let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let checks = [
        (text.len() > PORT_NAME_LEN_MAX, too_many_characters(PORT_NAME_LEN_MAX)),
        (
            text.is_empty() || !text.bytes().all(is_allowed),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        ),
        (
            !text.bytes().any(|b| b.is_ascii_lowercase()),
            "must contain at least one letter (a-z)".to_owned(),
        ),
        (text.contains("--"), "must not contain consecutive hyphens".to_owned()),
        (
            text.starts_with('-') || text.ends_with('-'),
            "must not begin or end with a hyphen".to_owned(),
        ),
    ];
    checks.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, reason)| reason).collect()
}

/// Checks the name of an HTTP header.
pub fn check_http_header(text: &str) -> Vec<String> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return Vec::new();
    }
    let what = "a valid HTTP header must consist of alphanumeric characters or '-'";
    vec![format_rule(what, "[-A-Za-z0-9]+", &["X-Header-Name"])]
}

/// Returns the message for a number out of range.
pub fn out_of_range_message(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

fn too_many_characters(max: usize) -> String {
    format!("must be no more than {max} characters")
}

fn too_many_bytes(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

/// Formats a rule with examples and the regular expression of Kubernetes.
pub(crate) fn format_rule(what: &str, expression: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{what} (regex used for validation is '{expression}')");
    }
    let examples: Vec<_> = examples.iter().map(|example| format!("'{example}', ")).collect();
    let examples = examples.join(" or ");
    format!("{what} (e.g. {examples}regex used for validation is '{expression}')")
}

fn is_dns_label(text: &str) -> bool {
    let is_inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && !text.starts_with('-') && !text.ends_with('-') && text.bytes().all(is_inner)
}

fn is_dns_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns_label)
}

fn is_qualified(text: &str) -> bool {
    let is_inner = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let is_outer = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    is_outer(text.bytes().next()) && is_outer(text.bytes().last()) && text.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(checker: fn(&str) -> Vec<String>, cases: &[(&str, &[&str])]) {
        for (text, want) in cases {
            let got = checker(text);
            assert_eq!(got.len(), want.len(), "{text:?}: {got:?}");
            for (got, want) in got.iter().zip(*want) {
                assert!(got.contains(want), "{text:?}: {got:?} lacks {want:?}");
            }
        }
    }

    #[test]
    fn dns_labels_and_subdomains_are_validated() {
        let long = "n".repeat(64);
        check(
            check_dns_label,
            &[
                ("a", &[]),
                ("a-1", &[]),
                ("a.b", &["must not contain dots"]),
                ("", &["RFC 1123 label"]),
                ("-a", &["(e.g. 'my-name',  or '123-abc', regex used"]),
                (&long, &["must be no more than 63 characters"]),
            ],
        );
        check(
            check_dns_subdomain,
            &[("a.b-c.1", &[]), ("a..b", &["subdomain"]), ("a_b", &["subdomain"]), ("A", &["sub"])],
        );
        check(check_dns_subdomain_prefix, &[("gen-", &[]), ("-", &["sub"]), ("x.-", &[])]);
    }

    #[test]
    fn label_keys_and_values_are_validated() {
        let long = "v".repeat(64);
        check(
            check_qualified_name,
            &[
                ("a", &[]),
                ("example.com/My_name.1", &[]),
                ("bad key!", &["name part must consist of"]),
                ("/x", &["prefix part must be non-empty"]),
                ("x/", &["name part must be non-empty", "name part must consist"]),
                ("a/b/c", &["a valid label key"]),
                (&long, &["name part must be no more than 63 bytes"]),
            ],
        );
        check(
            check_label_value,
            &[("", &[]), ("a_b.c", &[]), ("-a", &["a valid label"]), (&long, &["63 bytes"])],
        );
    }

    #[test]
    fn names_inside_a_pod_are_validated() {
        check(check_env_var, &[("A B", &[]), ("", &["non-empty"]), ("A=B", &["other than '='"])]);
        check(
            check_config_key,
            &[("a.b_c", &[]), ("..x", &["not start with"]), ("a/b", &["config key"])],
        );
        check(
            check_port_name,
            &[("http", &[]), ("80", &["at least one letter"]), ("a--b", &["consecutive"])],
        );
        check(check_http_header, &[("X-A", &[]), ("X A", &["HTTP header"])]);
    }
}
