//! `punctual certs`: shows, rotates and revokes the certificates of a server.

use anyhow::{bail, ensure};
use clap::Subcommand;
use punctual_server::{
    CertificateStatus, ListedCertificate, ServerIdentity, SystemEnv, rotate_authority,
    rotate_server_certificate,
};

use crate::args::DataDirArg;
use crate::{clock, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A running server renews its certificate 60 days before it expires. A revocation takes effect within
seconds, and closes open connections and watches. A rotation takes effect at the next start of the
server.

Examples:
  punctual certs
  punctual certs revoke --user alice
  punctual certs rotate --authority")]
pub(crate) struct CertsArgs {
    #[command(flatten)]
    data_dir: DataDirArg,
    #[command(subcommand)]
    action: Option<CertsAction>,
}

#[derive(Debug, Subcommand)]
enum CertsAction {
    /// Show all certificates (default)
    Show,
    /// Reject client certificates from now on
    Revoke {
        /// Serial number of the certificate, as shown
        #[arg(value_name = "SERIAL", required_unless_present = "user")]
        serials: Vec<String>,
        /// Revoke all certificates of a user
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
    },
    /// Replace the certificate and key of the server at its next start
    Rotate {
        /// Also replace the key of the certificate authority; clients need new kubeconfigs
        #[arg(long)]
        authority: bool,
    },
}

pub(crate) fn run(args: &CertsArgs) -> anyhow::Result<()> {
    let data_dir = args.data_dir.resolve()?;
    let pki = data_dir.join("pki");
    ensure!(
        pki.join("ca.crt").exists(),
        "no server has been started in {}; set --data-dir",
        data_dir.display()
    );
    let now = clock::now();
    let identity = ServerIdentity::open(&pki, &SystemEnv)?;
    match &args.action {
        None | Some(CertsAction::Show) => show(&identity.certificates(now)?),
        Some(CertsAction::Revoke { serials, user }) => {
            let listed = identity.certificates(now)?;
            let is_wanted = |certificate: &&ListedCertificate| {
                certificate.purpose == "client" && user.as_ref() == Some(&certificate.info.name)
            };
            let of_user =
                listed.iter().filter(is_wanted).map(|certificate| &certificate.info.serial);
            let wanted: Vec<&String> = serials.iter().chain(of_user).collect();
            if wanted.is_empty() {
                bail!("no client certificate of this user is known; `punctual certs` lists them");
            }
            for serial in wanted {
                identity.revoke(serial)?;
                output::print(&format!("revoked {serial}\n"))?;
            }
            Ok(())
        }
        Some(CertsAction::Rotate { authority: true }) => {
            rotate_authority(&pki, now)?;
            output::print(
                "replaced the certificate authority; restart the server and distribute its \
                           new kubeconfig\n",
            )
        }
        Some(CertsAction::Rotate { authority: false }) => {
            rotate_server_certificate(&pki)?;
            output::print("removed the server certificate; restart the server to issue a new one\n")
        }
    }
}

fn show(certificates: &[ListedCertificate]) -> anyhow::Result<()> {
    let header = ["PURPOSE", "NAME", "GROUP", "EXPIRES", "STATUS", "SERIAL"].map(str::to_owned);
    let mut rows = vec![header.to_vec()];
    for ListedCertificate { purpose, info, status } in certificates {
        let status = match status {
            CertificateStatus::Valid => "valid",
            CertificateStatus::NotYetValid => "not yet valid",
            CertificateStatus::Expired => "expired",
            CertificateStatus::Revoked => "revoked",
        };
        rows.push(vec![
            (*purpose).to_owned(),
            info.name.clone(),
            info.group.clone(),
            info.not_after.to_string(),
            status.to_owned(),
            info.serial.clone(),
        ]);
    }
    output::print(&output::table(&rows))
}
