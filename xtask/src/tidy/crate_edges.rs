//! Which crate may depend on which. A new edge is a decision: add it here and explain it in
//! ARCHITECTURE.md.

use std::{path::Path, process::Command};

use anyhow::Context;
use serde::Deserialize;

use super::source::TidyFinding;

const CHECK: &str = "crate-edges";

/// Crates that do no I/O and read no clock, environment or random source.
pub(super) const PURE: [&str; 7] =
    ["schedule", "api", "engine", "import", "queue", "lease", "views"];

/// The allowed edges between our own crates.
const ALLOWED: [(&str, &[&str]); 22] = [
    ("mutations", &[]),
    ("files", &[]),
    ("schedule", &[]),
    ("api", &["schedule"]),
    ("engine", &["api", "schedule"]),
    ("import", &["api", "schedule"]),
    ("views", &["api", "engine", "schedule"]),
    ("queue", &[]),
    ("lease", &[]),
    ("store", &["files"]),
    ("dashboard", &["api", "client", "engine", "reader", "schedule", "views"]),
    ("server", &["api", "files", "schedule", "store"]),
    ("client", &["api", "lease", "queue"]),
    ("controller", &["api", "client", "engine", "lease", "queue", "schedule"]),
    ("reader", &["api", "client", "engine", "schedule", "views"]),
    ("runner", &["api", "client", "files"]),
    (
        "cli",
        &[
            "api",
            "client",
            "controller",
            "dashboard",
            "engine",
            "files",
            "import",
            "reader",
            "runner",
            "schedule",
            "server",
            "store",
            "views",
        ],
    ),
    (
        "sim",
        &[
            "api",
            "client",
            "controller",
            "lease",
            "mutations",
            "runner",
            "schedule",
            "server",
            "store",
            "testing",
        ],
    ),
    ("e2e", &[]),
    ("testing", &[]),
    ("soak", &["e2e", "testing"]),
    (
        "xtask",
        &[
            "api",
            "client",
            "dashboard",
            "e2e",
            "mutations",
            "schedule",
            "server",
            "store",
            "testing",
        ],
    ),
];

/// Dependencies that no pure crate may have, even for a type.
const IMPURE: [&str; 10] =
    ["tokio", "kube", "axum", "redb", "rand", "tracing", "hyper", "rustix", "libc", "reqwest"];

/// The part of `cargo metadata` that this check reads.
#[derive(Deserialize)]
pub(super) struct CargoMetadata {
    packages: Vec<CargoPackage>,
}

#[derive(Deserialize)]
struct CargoPackage {
    name: String,
    dependencies: Vec<CargoDependency>,
}

#[derive(Deserialize)]
struct CargoDependency {
    name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    kind: Option<String>,
}

pub(super) fn read_metadata(root: &Path) -> anyhow::Result<CargoMetadata> {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .context("cargo metadata")?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Finds the edges that are not allowed.
pub(super) fn check(metadata: &CargoMetadata) -> Vec<TidyFinding> {
    metadata.packages.iter().flat_map(check_package).collect()
}

fn check_package(package: &CargoPackage) -> Vec<TidyFinding> {
    let name = short_name(&package.name);
    let finding = |message: String| TidyFinding {
        check: CHECK,
        crate_name: name.to_owned(),
        location: format!("{name}/Cargo.toml"),
        message,
    };
    let Some((_, allowed)) = ALLOWED.iter().find(|(listed, _)| *listed == name) else {
        let message =
            format!("crate {name} is not listed: add it to xtask/src/tidy/crate_edges.rs");
        return vec![finding(message)];
    };
    let shipped = package.dependencies.iter().filter(|dependency| dependency.kind.is_none());
    shipped
        .filter(|dependency| {
            let wanted = short_name(&dependency.name);
            let is_ours = dependency.name.starts_with("punctual-");
            let is_impure = PURE.contains(&name) && IMPURE.contains(&wanted);
            is_impure || is_ours && !allowed.contains(&wanted)
        })
        .map(|dependency| {
            finding(format!("crate {name} must not depend on {}: remove it", dependency.name))
        })
        .collect()
}

fn short_name(name: &str) -> &str {
    name.strip_prefix("punctual-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_edge_is_found() {
        let dependency = |name: &str| CargoDependency { name: name.into(), kind: None };
        let dependencies =
            vec![dependency("tokio"), dependency("punctual-cli"), dependency("jiff")];
        let package = CargoPackage { name: "punctual-schedule".into(), dependencies };
        let messages: Vec<String> =
            check_package(&package).into_iter().map(|finding| finding.message).collect();
        assert_eq!(
            messages,
            [
                "crate schedule must not depend on tokio: remove it",
                "crate schedule must not depend on punctual-cli: remove it"
            ]
        );
    }

    #[test]
    fn an_unlisted_crate_is_found() {
        let package = CargoPackage { name: "punctual-new".into(), dependencies: Vec::new() };
        assert_eq!(check_package(&package).len(), 1);
    }
}
