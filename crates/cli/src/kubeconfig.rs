//! `punctual kubeconfig`: prints a kubeconfig with a client certificate for one user.

use anyhow::ensure;
use punctual_server::{ADMIN_GROUP, ServerIdentity, SystemEnv, User, VIEW_GROUP};

use crate::args::{KubeconfigArgs, Role};
use crate::{clock, output};

pub(crate) fn run(args: &KubeconfigArgs) -> anyhow::Result<()> {
    let data_dir = args.data_dir.resolve()?;
    let pki = data_dir.join("pki");
    // Without this check a new certificate authority would be created, which no server trusts.
    ensure!(
        pki.join("ca.crt").exists(),
        "no server has been started in {}; run `punctual up` or `punctual serve` with this data directory first",
        data_dir.display()
    );
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.:@".contains(c);
    ensure!(
        !args.user.is_empty() && args.user.chars().all(is_allowed),
        "{:?} is not a valid user name; use letters, digits and - _ . : @",
        args.user
    );
    let group = match args.role {
        Role::Admin => ADMIN_GROUP,
        Role::View => VIEW_GROUP,
    };
    let identity = ServerIdentity::open(&pki, &SystemEnv)?;
    let user = User::new(&args.user, group);
    let kubeconfig = identity.client_kubeconfig(&args.server, &user, clock::now())?;
    output::print(&kubeconfig.to_yaml())
}
