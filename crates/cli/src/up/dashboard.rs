//! The dashboard of `punctual up`.

use std::sync::Arc;

use anyhow::Context as _;
use punctual_client::{SystemClock, WatchSource};
use punctual_dashboard::{Account, Dashboard, DashboardOptions, LoginFile, LoginLinks, bind};
use punctual_schedule::Zone;
use punctual_server::{ADMIN_GROUP, Server, User, VIEW_GROUP};
use tokio::net::TcpListener;

use crate::args::UpArgs;
use crate::dashboard::{AGENT, LOGIN_FILE, tls};
use crate::instance::{self, Instance, SharedState};

/// The file in the data directory that keeps the sessions over a restart.
const SESSION_FILE: &str = "dashboard.sessions";

/// A dashboard that is ready to serve.
pub(super) struct BoundDashboard {
    pub(super) dashboard: Dashboard,
    pub(super) listener: TcpListener,
    pub(super) links: LoginLinks,
    /// The file is removed when this is dropped.
    pub(super) login_file: LoginFile,
}

/// Sets up the dashboard; `None` if it is off.
pub(super) async fn bind_dashboard(
    server: &Server,
    instance: &Instance<'_>,
    args: &UpArgs,
    zone: &Zone,
    shared: &SharedState,
) -> anyhow::Result<Option<BoundDashboard>> {
    let Some(listen) = args.dashboard.address() else { return Ok(None) };
    let listener = bind(listen.address, listen.is_default).await.with_context(|| {
        format!(
            "the dashboard could not listen on {}; choose another address with --dashboard, or --dashboard off",
            listen.address
        )
    })?;
    let address = listener.local_addr()?;
    let account = |name: &str, group: &str| Account {
        name: name.to_owned(),
        client: instance::client_as(server, User::new(name, group), AGENT),
    };
    let admin = account("admin", ADMIN_GROUP);
    let view = account("view", VIEW_GROUP);
    let accounts = vec![admin.clone(), view.clone()];
    let tokens = instance.identity.tokens();
    let data_dir = &instance.data_dir;
    let options = DashboardOptions {
        accounts,
        token_lookup: Some(Arc::new(move |token| {
            let name = &tokens.find(token)?.name;
            [&admin, &view].into_iter().find(|account| &account.name == name).cloned()
        })),
        watches: WatchSource::Shared(shared.watches.clone()),
        cluster: instance.url(),
        zone: zone.clone(),
        clock: Arc::new(SystemClock),
        hosts: args.dashboard.dashboard_host.clone(),
        session_file: Some(data_dir.join(SESSION_FILE)),
        instance: data_dir.display().to_string(),
        tls: tls(&args.dashboard)?,
    };
    let dashboard = Dashboard::new(options, address).await?;
    let links = dashboard.links().clone();
    let path = data_dir.join(LOGIN_FILE);
    let failed = || format!("could not write {}", path.display());
    let login_file = LoginFile::create(path.clone(), &links).with_context(failed)?;
    Ok(Some(BoundDashboard { dashboard, listener, links, login_file }))
}
