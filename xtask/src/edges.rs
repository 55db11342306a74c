//! Which crate may depend on which. A new edge is a decision: it is added here and explained in
//! ARCHITECTURE.md.

use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

/// Crates that do no I/O and read no clock, environment or random source.
pub(crate) const PURE: [&str; 5] = ["schedule", "api", "engine", "queue", "lease"];

/// The edges between our own crates.
const ALLOWED: [(&str, &[&str]); 14] = [
    ("mutations", &[]),
    ("schedule", &[]),
    ("api", &["schedule"]),
    ("engine", &["api", "schedule"]),
    ("queue", &[]),
    ("lease", &[]),
    ("store", &[]),
    ("server", &["api", "schedule", "store"]),
    ("controller", &["api", "engine", "lease", "queue", "schedule"]),
    ("runner", &["api"]),
    ("cli", &["api", "controller", "engine", "runner", "schedule", "server", "store"]),
    ("sim", &["api", "controller", "lease", "mutations", "schedule", "server", "store"]),
    ("e2e", &[]),
    ("xtask", &["api", "e2e", "mutations", "schedule", "server", "store"]),
];

/// What no pure crate may know of, even for a type.
const IMPURE: [&str; 10] =
    ["tokio", "kube", "axum", "redb", "rand", "tracing", "hyper", "rustix", "libc", "reqwest"];

/// The part of `cargo metadata` that matters here.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// None for a normal dependency, else `dev` or `build`.
    kind: Option<String>,
}

pub(crate) fn read() -> anyhow::Result<Metadata> {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(crate::sources::root())
        .output()
        .context("cargo metadata")?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The edges that are not allowed.
pub(crate) fn faults(metadata: &Metadata) -> Vec<String> {
    metadata.packages.iter().flat_map(faults_of).collect()
}

fn faults_of(package: &Package) -> Vec<String> {
    let name = short(&package.name);
    let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
        return vec![format!("crate {name} is not in the table of edges")];
    };
    let shipped = package.dependencies.iter().filter(|dependency| dependency.kind.is_none());
    shipped
        .filter(|dependency| {
            let wanted = short(&dependency.name);
            let ours = dependency.name.starts_with("punctual-");
            let impure = PURE.contains(&name) && IMPURE.contains(&wanted);
            impure || ours && !allowed.contains(&wanted)
        })
        .map(|dependency| format!("crate {name} must not depend on {}", dependency.name))
        .collect()
}

fn short(name: &str) -> &str {
    name.strip_prefix("punctual-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_depend_only_on_what_they_may() {
        assert_eq!(faults(&read().unwrap()), Vec::<String>::new());
    }

    #[test]
    fn a_forbidden_edge_is_found() {
        let dependency = |name: &str| Dependency { name: name.into(), kind: None };
        let dependencies =
            vec![dependency("tokio"), dependency("punctual-cli"), dependency("jiff")];
        let package = Package { name: "punctual-schedule".into(), dependencies };
        assert_eq!(
            faults_of(&package),
            [
                "crate schedule must not depend on tokio",
                "crate schedule must not depend on punctual-cli"
            ]
        );
    }
}
