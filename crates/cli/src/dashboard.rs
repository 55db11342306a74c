//! `punctual dashboard`: serves the dashboard for a cluster, or prints a login link for that of `punctual up`.

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use http::Request;
use punctual_client::{SystemClock, WatchSource};
use punctual_dashboard::{Account, Dashboard, DashboardOptions, LoginFile, bind, load_tls};
use punctual_schedule::Zone;
use serde_json::{Value, json};

use crate::cluster_client::{ClusterClient, connect_or_local};
use crate::dashboard_args::{DashboardArgs, DashboardListenArgs};
use crate::printer::Printer;
use crate::{clock, data_dir, logging, output, signals};

/// The user agent, which the server uses as field manager.
pub(crate) const AGENT: &str = "punctual-dashboard";
/// The file in the data directory with which another process makes a login link.
pub(crate) const LOGIN_FILE: &str = "dashboard.login";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
/// Silences kube's own log of failed requests.
const KUBE_CLIENT_FILTER: &str = "kube_client::client::builder=off";

pub(crate) fn run(args: &DashboardArgs, zone: &Zone) -> anyhow::Result<()> {
    if args.login {
        return print_login_link(args.data_dir.as_deref());
    }
    let log = Printer::start(io::stderr())?;
    logging::init(&format!("{KUBE_CLIENT_FILTER},{}", args.log), log.clone())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let result = serve(args, zone).await;
        log.flush().await;
        result
    })
}

fn print_login_link(data_dir: Option<&Path>) -> anyhow::Result<()> {
    let path = data_dir::resolve(data_dir)?.join(LOGIN_FILE);
    let link = LoginFile::read(&path)?.link(clock::now())?;
    output::print(&format!("{link}\n"))
}

async fn serve(args: &DashboardArgs, zone: &Zone) -> anyhow::Result<()> {
    let stop = signals::stop_token()?;
    let listen = args.listen.address().ok_or_else(|| anyhow!("--dashboard off serves nothing"))?;
    let cluster = connect_or_local(&args.cluster, args.data_dir.as_deref(), AGENT).await?;
    let name = user_name(&cluster).await;
    let tls = tls(&args.listen)?;
    let listener = bind(listen.address, listen.is_default).await.with_context(|| {
        format!("could not listen on {}; choose another address with --dashboard", listen.address)
    })?;
    let address = listener.local_addr()?;
    let options = DashboardOptions {
        accounts: vec![Account { name, client: cluster.client.clone() }],
        token_lookup: None,
        watches: WatchSource::Own(cluster.client),
        instance: format!("{} {}", cluster.url, address.port()),
        cluster: cluster.url,
        zone: zone.clone(),
        clock: Arc::new(SystemClock),
        hosts: args.listen.dashboard_host.clone(),
        session_file: None,
        tls,
    };
    let dashboard = Dashboard::new(options, address).await?;
    let link = dashboard.links().link(clock::now())?;
    output::print(&format!("dashboard {link}\n"))?;
    dashboard.serve(listener, stop).await;
    Ok(())
}

/// Reads the certificate and the key, if there are any.
pub(crate) fn tls(args: &DashboardListenArgs) -> anyhow::Result<Option<Arc<rustls::ServerConfig>>> {
    match (&args.dashboard_tls_cert, &args.dashboard_tls_key) {
        (Some(certificate), Some(key)) => Ok(Some(load_tls(certificate, key)?)),
        _ => Ok(None),
    }
}

/// Returns the name of the user, as the cluster knows it.
async fn user_name(cluster: &ClusterClient) -> String {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let request = Request::post(REVIEWS)
        .header("Content-Type", "application/json")
        .body(review.to_string().into_bytes());
    if let Ok(request) = request
        && let Ok(Ok(answer)) = cluster.wait(cluster.client.request::<Value>(request)).await
        && let Some(name) = answer.pointer("/status/userInfo/username").and_then(Value::as_str)
        && !name.is_empty()
    {
        return name.to_owned();
    }
    "the user of the kubeconfig".to_owned()
}
