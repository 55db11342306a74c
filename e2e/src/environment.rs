//! The only place that reads the environment.

use std::path::PathBuf;

/// The folder in which tools of Kubernetes' own test framework look for programs, too.
pub(crate) fn assets() -> Option<PathBuf> {
    read("KUBEBUILDER_ASSETS").map(PathBuf::from)
}

/// The program to test, where it is not the one of this build.
pub(crate) fn punctual() -> Option<PathBuf> {
    read("PUNCTUAL_BIN").map(PathBuf::from)
}

/// Where `e2e/setup` leaves what it made.
pub(crate) fn cache() -> Option<PathBuf> {
    let home = || read("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let root = read("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
    Some(root.join("punctual-e2e").join(crate::programs::VERSION))
}

/// The folders of programs.
pub(crate) fn path() -> Vec<PathBuf> {
    let folders = read("PATH").unwrap_or_default();
    std::env::split_paths(&folders).collect()
}

#[expect(clippy::disallowed_methods, reason = "where programs are is what the environment is for")]
fn read(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
