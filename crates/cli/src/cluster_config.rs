//! Finds the cluster that a command connects to: a kubeconfig or a service account.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use http::{HeaderValue, Uri, header};
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::data_dir;

/// Options that select the cluster.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterArgs {
    /// Kubeconfig file
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// Returns a URL without user name, password and path, for messages.
pub(crate) fn display_url(url: &Uri) -> String {
    let scheme = url.scheme_str().unwrap_or("https");
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    format!("{scheme}://{}{port}", url.host().unwrap_or_default())
}

/// Reads the configuration. The server uses `agent` as the field manager of written objects.
pub(crate) async fn load(args: &ClusterArgs, agent: &str) -> anyhow::Result<Config> {
    Ok(with_agent(read(args).await?, agent))
}

/// Reads the configuration as [`load`] does. Without a kubeconfig it is that of the `punctual up` of a data
/// directory.
pub(crate) async fn load_or_local(
    args: &ClusterArgs,
    data_dir: Option<&Path>,
    agent: &str,
) -> anyhow::Result<Config> {
    let local = data_dir::resolve(data_dir).map(|data_dir| data_dir.join("kubeconfig")).ok();
    let is_named = args.kubeconfig.is_some() || args.context.is_some();
    let config = if is_named {
        read(args).await?
    } else if has_kubeconfig() {
        let config = Config::from_kubeconfig(&KubeConfigOptions::default()).await;
        config.context("the kubeconfig (KUBECONFIG, else ~/.kube/config) cannot be used")?
    } else if let Some(kubeconfig) = local.clone().filter(|local| local.is_file()) {
        read(&ClusterArgs { kubeconfig: Some(kubeconfig), context: None }).await?
    } else if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        read(args).await?
    } else {
        let local = local.unwrap_or_default();
        bail!(
            "no cluster found: there is no kubeconfig in ~/.kube/config, and no `punctual up` has written {}; start \
             one, or set --kubeconfig, KUBECONFIG or --data-dir",
            local.display()
        );
    };
    Ok(with_agent(config, agent))
}

/// Whether there is a kubeconfig where kubectl looks for it.
fn has_kubeconfig() -> bool {
    let variable = std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
    let home = || std::env::home_dir().map(|home| home.join(".kube").join("config"));
    variable.is_some() || home().is_some_and(|path| path.is_file())
}

fn with_agent(mut config: Config, agent: &str) -> Config {
    let agent = format!("{agent}/{}", env!("CARGO_PKG_VERSION"));
    config.headers.extend(HeaderValue::from_str(&agent).map(|agent| (header::USER_AGENT, agent)));
    config
}

async fn read(args: &ClusterArgs) -> anyhow::Result<Config> {
    let options =
        KubeConfigOptions { context: args.context.clone(), ..KubeConfigOptions::default() };
    if let Some(path) = &args.kubeconfig {
        let shown = path.display();
        let file =
            Kubeconfig::read_from(path).with_context(|| format!("could not read {shown}"))?;
        let config = Config::from_custom_kubeconfig(file, &options).await;
        return config
            .with_context(|| format!("{shown} has no usable cluster or user for the context"));
    }
    if args.context.is_some() {
        let config = Config::from_kubeconfig(&options).await;
        return config.context("the kubeconfig has no usable cluster or user for the context");
    }
    Config::infer().await.context(
        "no cluster found: there is no kubeconfig, and this is not a Pod with a service account; set \
         --kubeconfig (`punctual up` prints the path of its own)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displayed_urls_have_no_credentials() {
        for (url, shown) in [
            ("http://user:secret@proxy.example:3128/path?q", "http://proxy.example:3128"),
            ("https://10.0.0.1:6443", "https://10.0.0.1:6443"),
            ("http://user@[::1]", "http://[::1]"),
        ] {
            assert_eq!(display_url(&url.parse().unwrap()), shown);
        }
    }
}
