//! The name of this machine's Node, which stays the same across restarts.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use punctual_api::names;

use crate::private_file::PrivateFile;

/// The file in the data directory that stores the name.
const FILE: &str = "node-name";
/// The maximum length of a DNS subdomain.
const NAME_CHARS_MAX: usize = 253;

/// Returns the requested name, the stored name, or a name derived from the host name, in this order.
///
/// The name is stored because Pods are bound to it. A renamed host must find its Pods again; a
/// container, for example, gets a new host name at each start.
pub(super) fn choose(requested: Option<&str>, data_dir: &Path) -> anyhow::Result<String> {
    let path = data_dir.join(FILE);
    let saved = match punctual_files::read_text(&path) {
        Ok(text) => Some(text.trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(error).with_context(|| format!("could not read {}", path.display()));
        }
    };
    let name = match (requested, saved) {
        (Some(requested), Some(saved)) if requested != saved => bail!(
            "the Node of this data directory is named {saved:?}, and its Pods are bound to that name; \
             to rename it to {requested:?} and lose its Pods, delete {}",
            path.display()
        ),
        (_, Some(saved)) => return validate(saved),
        (Some(requested), None) => validate(requested.to_owned())?,
        (None, None) => from_host_name(&fs::read_to_string("/proc/sys/kernel/hostname")?),
    };
    save(&path, &name).with_context(|| format!("could not write {}", path.display()))?;
    Ok(name)
}

fn save(path: &Path, name: &str) -> io::Result<()> {
    let mut file = PrivateFile::create(path)?;
    file.write_all(name.as_bytes())?;
    file.commit()
}

fn validate(name: String) -> anyhow::Result<String> {
    let errors = names::check_dns_subdomain(&name);
    ensure!(errors.is_empty(), "{name:?} is not a valid Node name: {}", errors.join("; "));
    Ok(name)
}

/// Converts a host name to a DNS subdomain.
fn from_host_name(host: &str) -> String {
    let replace = |letter: char| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9' | '.') => letter,
        _ => '-',
    };
    let name: String = host.trim().chars().map(replace).take(NAME_CHARS_MAX).collect();
    let labels = name.split('.').map(|label| label.trim_matches('-'));
    let name = labels.filter(|label| !label.is_empty()).collect::<Vec<_>>().join(".");
    if name.is_empty() { "localhost".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_become_valid_node_names() {
        let cases = [
            ("build-7.example.com\n", "build-7.example.com"),
            ("Annas_Laptop", "annas-laptop"),
            ("-.-a..b-.", "a.b"),
            ("", "localhost"),
            ("ü", "localhost"),
        ];
        for (host, want) in cases {
            assert_eq!(from_host_name(host), want);
            assert!(names::check_dns_subdomain(want).is_empty());
        }
        assert!(names::check_dns_subdomain(&from_host_name(&"x.".repeat(200))).is_empty());
    }

    #[test]
    fn the_name_is_stored_and_a_flag_cannot_change_it() {
        let data_dir = tempfile::tempdir().unwrap();
        assert_eq!(choose(Some("one"), data_dir.path()).unwrap(), "one");
        assert_eq!(choose(None, data_dir.path()).unwrap(), "one");
        assert_eq!(choose(Some("one"), data_dir.path()).unwrap(), "one");
        let error = choose(Some("two"), data_dir.path()).unwrap_err().to_string();
        assert!(error.contains("is named \"one\""), "{error}");
        assert!(choose(Some("No"), tempfile::tempdir().unwrap().path()).is_err());
    }
}
