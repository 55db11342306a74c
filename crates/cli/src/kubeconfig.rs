//! `punctual kubeconfig`: what somebody's kubectl needs.

use anyhow::ensure;
use punctual_server::{ADMIN_GROUP, ServerIdentity, SystemEnv, User, VIEW_GROUP};

use crate::args::{KubeconfigArgs, Role};
use crate::{clock, data_dir, output};

pub(crate) fn run(asked: &KubeconfigArgs) -> anyhow::Result<()> {
    let folder = data_dir::resolve(asked.data_dir.as_deref())?;
    let pki = folder.join("pki");
    // A new authority would sign what no server believes.
    ensure!(pki.join("ca.crt").exists(), "no server was ever started in {}", folder.display());
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.:@".contains(c);
    ensure!(
        !asked.user.is_empty() && asked.user.chars().all(is_name),
        "{:?} is no name for a user: use letters, digits and - _ . : @",
        asked.user
    );
    let group = match asked.role {
        Role::Admin => ADMIN_GROUP,
        Role::View => VIEW_GROUP,
    };
    let identity = ServerIdentity::open(&pki, &SystemEnv)?;
    let user = User::new(&asked.user, group);
    let kubeconfig = identity.client_kubeconfig(&asked.server, &user, clock::now())?;
    output::print(&kubeconfig.to_yaml())
}
