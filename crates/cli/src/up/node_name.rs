//! The name of this machine's node.

use std::path::Path;
use std::{fs, io};

use anyhow::{Context, bail, ensure};
use punctual_api::names;

/// Where the name of the last start is saved.
const FILE: &str = "node-name";
/// A DNS subdomain is no longer.
const NAME_CHARS_MAX: usize = 253;

/// The name that was asked for, else that of the last start, else the host's.
///
/// It is saved because Pods are bound to it: a host that is renamed, as containers are with each
/// start, must find its Pods again.
pub(super) fn choose(given: Option<&str>, folder: &Path) -> anyhow::Result<String> {
    let path = folder.join(FILE);
    let saved = match fs::read_to_string(&path) {
        Ok(text) => Some(text.trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(error).with_context(|| format!("could not read {}", path.display()));
        }
    };
    let name = match (given, saved) {
        (Some(given), Some(saved)) if given != saved => bail!(
            "the node of this data folder is called {saved:?}, and its Pods belong to that; to call \
             it {given:?} and lose what runs, remove {}",
            path.display()
        ),
        (_, Some(saved)) => return validate(saved),
        (Some(given), None) => validate(given.to_owned())?,
        (None, None) => from_host_name(&fs::read_to_string("/proc/sys/kernel/hostname")?),
    };
    fs::write(&path, &name).with_context(|| format!("could not write {}", path.display()))?;
    Ok(name)
}

fn validate(name: String) -> anyhow::Result<String> {
    let faults = names::dns_subdomain(&name);
    ensure!(faults.is_empty(), "{name:?} is no name for a node: {}", faults.join("; "));
    Ok(name)
}

/// A host's name as a DNS subdomain.
fn from_host_name(host: &str) -> String {
    let plain = |letter: char| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9' | '.') => letter,
        _ => '-',
    };
    let name: String = host.trim().chars().map(plain).take(NAME_CHARS_MAX).collect();
    let labels = name.split('.').map(|label| label.trim_matches('-'));
    let name = labels.filter(|label| !label.is_empty()).collect::<Vec<_>>().join(".");
    if name.is_empty() { "localhost".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hosts_name_becomes_a_name_for_a_node() {
        let cases = [
            ("build-7.example.com\n", "build-7.example.com"),
            ("Annas_Laptop", "annas-laptop"),
            ("-.-a..b-.", "a.b"),
            ("", "localhost"),
            ("ü", "localhost"),
        ];
        for (host, want) in cases {
            assert_eq!(from_host_name(host), want);
            assert!(names::dns_subdomain(want).is_empty());
        }
        assert!(names::dns_subdomain(&from_host_name(&"x.".repeat(200))).is_empty());
    }

    #[test]
    fn the_name_is_kept_and_not_changed_by_accident() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(choose(Some("one"), folder.path()).unwrap(), "one");
        assert_eq!(choose(None, folder.path()).unwrap(), "one");
        assert_eq!(choose(Some("one"), folder.path()).unwrap(), "one");
        let refused = choose(Some("two"), folder.path()).unwrap_err().to_string();
        assert!(refused.contains("is called \"one\""), "{refused}");
        assert!(choose(Some("No"), tempfile::tempdir().unwrap().path()).is_err());
    }
}
