//! The paths of the programs that the tests start.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::environment;

/// The version of Kubernetes that the tests compare with.
pub(crate) const VERSION: &str = "v1.36.3";

/// Finds the programs of Kubernetes, and a Python with the official client.
#[derive(Clone, Debug)]
pub struct Programs {
    folders: Vec<PathBuf>,
}

impl Programs {
    /// Searches `KUBEBUILDER_ASSETS`, then the folder that `e2e/setup` fills.
    pub fn find() -> Self {
        Programs {
            folders: environment::assets().into_iter().chain(environment::cache()).collect(),
        }
    }

    /// The path of a program of Kubernetes. `PATH` is not searched: its programs have any version.
    pub fn path(&self, name: &str) -> anyhow::Result<PathBuf> {
        find_program(self.folders.iter(), name)
    }

    /// The path of etcd, the store of kube-apiserver. Any version will do.
    pub fn etcd(&self) -> anyhow::Result<PathBuf> {
        find_program(self.folders.iter().chain(&environment::path()), "etcd")
    }

    /// The Python interpreter that has the official client.
    pub fn python(&self) -> anyhow::Result<PathBuf> {
        let path = environment::cache().map(|cache| cache.join("python/bin/python"));
        path.filter(|path| path.is_file())
            .context("Python with the package kubernetes is not on this machine (run e2e/setup)")
    }

    /// A value of `PATH` with which a shell finds these programs first.
    pub fn search_path(&self) -> String {
        let python = self.python().ok().and_then(|python| Some(python.parent()?.to_path_buf()));
        let path = environment::path();
        let folders = python.iter().chain(&self.folders).chain(&path);
        let names: Vec<_> = folders.map(|path| path.to_string_lossy()).collect();
        names.join(":")
    }
}

fn find_program<'a>(
    folders: impl Iterator<Item = &'a PathBuf>,
    name: &str,
) -> anyhow::Result<PathBuf> {
    let mut candidates = folders.map(|folder| folder.join(name));
    let found = candidates.find(|path| path.is_file());
    found.with_context(|| format!("{name} is not on this machine (run e2e/setup)"))
}

/// The program under test: `PUNCTUAL_BIN`, or the one that was built with this `test_program`.
pub(crate) fn find_punctual(test_program: &Path) -> anyhow::Result<PathBuf> {
    let built = test_program.ancestors().skip(1).take(2).map(|folder| folder.join("punctual"));
    let mut candidates = environment::punctual().into_iter().chain(built);
    candidates
        .find(|path| path.is_file())
        .context("the program punctual is not built (cargo build -p punctual-cli, with --release for a benchmark)")
}
