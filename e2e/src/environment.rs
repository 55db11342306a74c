//! Environment variables. Only this module reads them.

use std::path::PathBuf;

/// The folder of programs that Kubernetes' envtest uses too.
pub(crate) fn assets() -> Option<PathBuf> {
    read("KUBEBUILDER_ASSETS").map(PathBuf::from)
}

/// The program to test, if it is not the one of this build.
pub(crate) fn punctual() -> Option<PathBuf> {
    read("PUNCTUAL_BIN").map(PathBuf::from)
}

/// The program of an earlier version.
pub(crate) fn previous_punctual() -> Option<PathBuf> {
    read("PUNCTUAL_PREVIOUS_BIN").map(PathBuf::from)
}

/// The folder that `e2e/setup` fills.
pub(crate) fn cache() -> Option<PathBuf> {
    let home = || read("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let root = read("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
    Some(root.join("punctual-e2e").join(crate::programs::VERSION))
}

/// The folders of `PATH`.
pub(crate) fn path() -> Vec<PathBuf> {
    let folders = read("PATH").unwrap_or_default();
    std::env::split_paths(&folders).collect()
}

#[expect(clippy::disallowed_methods, reason = "the environment names the folders of programs")]
fn read(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
