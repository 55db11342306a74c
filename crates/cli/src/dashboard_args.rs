//! The options of the dashboard, in `punctual up` and as a command of its own.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::args::parse_listen_address;
use crate::cluster_config::ClusterArgs;

/// The default address of the dashboard.
const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 6480);

/// Where the dashboard listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DashboardAddress {
    /// Nowhere.
    Off,
    /// At an address.
    At(SocketAddr),
}

impl fmt::Display for DashboardAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DashboardAddress::Off => f.write_str("off"),
            DashboardAddress::At(address) => address.fmt(f),
        }
    }
}

fn parse_address(text: &str) -> anyhow::Result<DashboardAddress> {
    match text {
        "off" => Ok(DashboardAddress::Off),
        text => parse_listen_address(text).map(DashboardAddress::At),
    }
}

/// Options of the dashboard's listener.
#[derive(Debug, clap::Args)]
pub(crate) struct DashboardListenArgs {
    /// Address of the web dashboard, or `off` [default: 127.0.0.1:6480, or a free port if it is taken]
    #[arg(long, value_name = "ADDRESS", env = "PUNCTUAL_DASHBOARD", value_parser = parse_address)]
    dashboard: Option<DashboardAddress>,
    /// Further host name under which browsers may open the dashboard; repeat it for several
    #[arg(long, value_name = "NAME")]
    pub(crate) dashboard_host: Vec<String>,
    /// Certificate chain of the dashboard in PEM; required if it does not listen on a loopback address
    #[arg(long, value_name = "FILE", requires = "dashboard_tls_key")]
    pub(crate) dashboard_tls_cert: Option<PathBuf>,
    /// Private key of the dashboard in PEM
    #[arg(long, value_name = "FILE", requires = "dashboard_tls_cert")]
    pub(crate) dashboard_tls_key: Option<PathBuf>,
}

/// An address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListenAddress {
    pub(crate) address: SocketAddr,
    /// Whether a free port may replace it.
    pub(crate) is_default: bool,
}

impl DashboardListenArgs {
    /// Returns the address; `None` if the dashboard is off.
    pub(crate) fn address(&self) -> Option<ListenAddress> {
        match self.dashboard {
            None => Some(ListenAddress { address: DEFAULT_ADDRESS, is_default: true }),
            Some(DashboardAddress::At(address)) => {
                Some(ListenAddress { address, is_default: false })
            }
            Some(DashboardAddress::Off) => None,
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Serves the dashboard for the cluster of the kubeconfig, with your own rights; nothing is installed in
the cluster. It prints a login link that works once. Ctrl-C stops it.

With --login it prints a fresh login link for the dashboard of a running `punctual up` instead.

Examples:
  punctual dashboard --context production
  punctual dashboard --login")]
pub(crate) struct DashboardArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Data directory of the `punctual up` to connect to if there is no kubeconfig, and for --login
    /// [default: ~/.local/share/punctual]
    #[arg(long, value_name = "DIR", env = "PUNCTUAL_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Print a login link for the dashboard of a running `punctual up`
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) login: bool,
    #[command(flatten)]
    pub(crate) listen: DashboardListenArgs,
    /// Log filter, such as info or punctual_dashboard=debug
    #[arg(long, value_name = "FILTER", env = "PUNCTUAL_LOG", default_value = "warn")]
    pub(crate) log: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_a_port_or_off_is_accepted() {
        assert_eq!(parse_address("off").unwrap(), DashboardAddress::Off);
        for (text, wanted) in
            [("6500", "127.0.0.1:6500"), ("[::1]:1", "[::1]:1"), ("localhost:7", "127.0.0.1:7")]
        {
            assert_eq!(parse_address(text).unwrap().to_string(), wanted);
        }
        assert!(parse_address("on").is_err());
    }
}
