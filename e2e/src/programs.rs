//! Where the programs are that the tests start.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::environment;

/// The version of Kubernetes that the tests compare with.
pub(crate) const VERSION: &str = "v1.36.3";

/// The programs of Kubernetes, and a Python with the official client.
#[derive(Clone, Debug)]
pub struct Programs {
    folders: Vec<PathBuf>,
}

impl Programs {
    /// Looks in `KUBEBUILDER_ASSETS`, then where `e2e/setup` puts things.
    pub fn find() -> Self {
        Programs {
            folders: environment::assets().into_iter().chain(environment::cache()).collect(),
        }
    }

    /// The path of a program of Kubernetes. Those in `PATH` are of any version and do not count.
    pub fn path(&self, name: &str) -> anyhow::Result<PathBuf> {
        first(self.folders.iter(), name)
    }

    /// The store of kube-apiserver, of any version.
    pub fn etcd(&self) -> anyhow::Result<PathBuf> {
        first(self.folders.iter().chain(&environment::path()), "etcd")
    }

    /// The interpreter that has the official client.
    pub fn python(&self) -> anyhow::Result<PathBuf> {
        let own = environment::cache().map(|cache| cache.join("python/bin/python"));
        own.filter(|path| path.is_file())
            .context("Python with the package kubernetes is not on this machine (run e2e/setup)")
    }

    /// A `PATH` under which a shell finds these programs first.
    pub fn search_path(&self) -> String {
        let python = self.python().ok().and_then(|python| Some(python.parent()?.to_path_buf()));
        let folders = python.iter().chain(&self.folders);
        let others = environment::path();
        let names: Vec<_> = folders.chain(&others).map(|path| path.to_string_lossy()).collect();
        names.join(":")
    }
}

fn first<'a>(folders: impl Iterator<Item = &'a PathBuf>, name: &str) -> anyhow::Result<PathBuf> {
    let mut candidates = folders.map(|folder| folder.join(name));
    let found = candidates.find(|path| path.is_file());
    found.with_context(|| format!("{name} is not on this machine (run e2e/setup)"))
}

/// The program under test: `PUNCTUAL_BIN`, or the one of the build that `this` test belongs to.
pub(crate) fn punctual(this: &Path) -> anyhow::Result<PathBuf> {
    let built = this.ancestors().skip(1).take(2).map(|folder| folder.join("punctual"));
    let mut candidates = environment::punctual().into_iter().chain(built);
    candidates
        .find(|path| path.is_file())
        .context("the program punctual is not built (cargo build -p punctual-cli, with --release for a benchmark)")
}
