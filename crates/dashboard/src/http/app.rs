//! The state of the dashboard and its routes.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::middleware;
use axum::routing::{get, post};
use jiff::Timestamp;
use punctual_client::{Clock, WatchSource};
use punctual_reader::{ReadError, Reader};
use punctual_schedule::Zone;
use punctual_views::{FleetRow, FleetState};
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::allowed_hosts::AllowedHosts;
use super::assets::asset;
use super::cookies::Cookies;
use super::login_links::LoginLinks;
use super::sessions::Sessions;
use super::{events, guard, listener, pages};
use crate::data::{
    Account, CacheFeed, DetailReader, Entry, FleetCache, HealthProbe, RightsReader, TokenLookup,
};

/// How many event streams and followed logs are open at the same time.
const STREAMS_MAX: usize = 64;
/// How long the number of overdue CronJobs is believed.
const OVERDUE_VALID_FOR: Duration = Duration::from_secs(2);

/// How the dashboard is set up.
pub struct DashboardOptions {
    /// The users of the Kubernetes API. A login link signs in as the first one.
    pub accounts: Vec<Account>,
    /// Finds the name of the account of a bearer token; without it only login links sign in.
    pub token_lookup: Option<TokenLookup>,
    /// Where the changes of CronJobs and Jobs come from.
    pub watches: WatchSource,
    /// The name of the cluster.
    pub cluster: String,
    /// The zone of schedules that name none, and of the page.
    pub zone: Zone,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Further names by which browsers reach the dashboard.
    pub hosts: Vec<String>,
    /// The file that keeps the sessions over a restart.
    pub session_file: Option<PathBuf>,
    /// Tells apart the dashboards of a machine.
    pub instance: String,
    /// The certificate and the key.
    pub tls: Option<Arc<ServerConfig>>,
}

/// Why the dashboard cannot start.
#[derive(Debug, thiserror::Error)]
pub enum DashboardError {
    /// The cluster does not answer.
    #[error("the dashboard cannot read the cluster")]
    Cluster(#[from] ReadError),
    /// There is no user.
    #[error("the dashboard has no account")]
    NoAccount,
    /// The machine has no random numbers.
    #[error("could not make a key for login links")]
    Random(#[from] getrandom::Error),
    /// The address is reachable by other machines, and there is no certificate.
    #[error(
        "the dashboard at {0} would be reachable by other machines without encryption; listen on 127.0.0.1, or set \
         --dashboard-tls-cert and --dashboard-tls-key"
    )]
    NotEncrypted(SocketAddr),
}

/// A dashboard that is ready to serve.
pub struct Dashboard {
    app: Arc<App>,
    feed: CacheFeed,
    tls: Option<Arc<ServerConfig>>,
    stop: CancellationToken,
}

/// What a user reads and may do.
pub(super) struct UserContext {
    pub(super) name: String,
    pub(super) detail: DetailReader,
    pub(super) rights: RightsReader,
}

/// The state that all handlers share.
pub(super) struct App {
    pub(super) cache: Arc<FleetCache>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) zone: Zone,
    pub(super) cluster: String,
    pub(super) hosts: AllowedHosts,
    pub(super) cookies: Cookies,
    pub(super) sessions: Sessions,
    pub(super) links: LoginLinks,
    pub(super) token_lookup: Option<TokenLookup>,
    /// The account of login links.
    pub(super) first_account: String,
    users: HashMap<String, Arc<UserContext>>,
    pub(super) health: HealthProbe,
    pub(super) streams: Arc<Semaphore>,
    pub(super) stop: CancellationToken,
    /// Tells apart the revisions of this process and of its predecessor.
    pub(super) epoch: i64,
    overdue: Mutex<Option<(Duration, usize)>>,
    pub(super) load: tokio::sync::Mutex<Option<pages::KeptLoad>>,
}

impl Dashboard {
    /// Sets up a dashboard for an address that is bound.
    pub async fn new(
        options: DashboardOptions,
        address: SocketAddr,
    ) -> Result<Dashboard, DashboardError> {
        let is_secure = options.tls.is_some();
        if !address.ip().is_loopback() && !is_secure {
            return Err(DashboardError::NotEncrypted(address));
        }
        let Some(first) = options.accounts.first() else { return Err(DashboardError::NoAccount) };
        let reader = Reader::connect(first.client.clone(), options.cluster.clone()).await?;
        let cache = Arc::new(FleetCache::new(options.zone.clone(), !reader.serves_slot_records()));
        let users = options.accounts.iter().map(|account| {
            let detail =
                DetailReader::new(reader.with_client(account.client.clone()), cache.clone());
            let context =
                UserContext { name: account.name.clone(), detail, rights: RightsReader::default() };
            (account.name.clone(), Arc::new(context))
        });
        let stop = CancellationToken::new();
        let app = App {
            users: users.collect(),
            first_account: first.name.clone(),
            cache: cache.clone(),
            epoch: options.clock.now().as_millisecond(),
            zone: options.zone,
            cluster: options.cluster,
            hosts: AllowedHosts::new(address, &options.hosts),
            cookies: Cookies::new(&options.instance, is_secure),
            sessions: Sessions::load(options.session_file).await,
            links: LoginLinks::new(base_url(address, is_secure, &options.hosts))?,
            token_lookup: options.token_lookup,
            clock: options.clock,
            health: HealthProbe::default(),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            stop: stop.clone(),
            overdue: Mutex::default(),
            load: tokio::sync::Mutex::default(),
        };
        let feed = CacheFeed { cache, reader, watches: options.watches };
        Ok(Dashboard { app: Arc::new(app), feed, tls: options.tls, stop })
    }

    /// Returns what makes login links.
    pub fn links(&self) -> &LoginLinks {
        &self.app.links
    }

    /// Serves until `stop` is cancelled.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) {
        let router = router(self.app);
        let feeding = self.feed.run(self.stop.clone());
        let serving = listener::serve(listener, router, self.tls, self.stop.clone());
        let stopping = async {
            stop.cancelled().await;
            self.stop.cancel();
        };
        tokio::join!(feeding, serving, stopping);
    }
}

/// Returns the URL under which a browser on this machine opens the dashboard.
fn base_url(address: SocketAddr, is_secure: bool, hosts: &[String]) -> String {
    let scheme = if is_secure { "https" } else { "http" };
    let address = match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => {
            SocketAddr::from(([127, 0, 0, 1], v4.port()))
        }
        other => other,
    };
    match hosts.first() {
        Some(host) if !address.ip().is_loopback() => {
            format!("{scheme}://{host}:{}", address.port())
        }
        _ => format!("{scheme}://{address}"),
    }
}

fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(pages::fleet))
        .route("/timeline", get(pages::timeline))
        .route("/load", get(pages::load))
        .route("/plan", get(pages::plan_form).post(pages::plan))
        .route("/ledger", get(pages::ledger))
        .route("/ledger.csv", get(pages::ledger_csv))
        .route("/ledger.json", get(pages::ledger_json))
        .route("/bulk", get(pages::bulk_form).post(pages::bulk))
        .route("/runs/{namespace}/{name}", get(pages::run))
        .route("/runs/{namespace}/{name}/log", get(pages::run_log))
        .route("/runs/{namespace}/{name}/stop", get(pages::stop_form).post(pages::stop))
        .route("/{kind}/{namespace}/{name}", get(pages::cron_job))
        .route("/{kind}/{namespace}/{name}/slots/{slot}", get(pages::slot))
        .route("/{kind}/{namespace}/{name}/trigger", get(pages::trigger_form).post(pages::trigger))
        .route(
            "/{kind}/{namespace}/{name}/backfill",
            get(pages::backfill_form).post(pages::backfill),
        )
        .route("/{kind}/{namespace}/{name}/suspend", get(pages::suspend_form).post(pages::suspend))
        .route("/{kind}/{namespace}/{name}/resume", get(pages::resume_form).post(pages::resume))
        .route("/{kind}/{namespace}/{name}/edit", get(pages::edit_form).post(pages::edit))
        .route("/events", get(events::events))
        .route("/login", get(pages::login_form).post(pages::login_with_token))
        .route("/logout", post(pages::logout))
        .route("/theme", post(pages::set_theme))
        .route("/assets/{name}", get(asset))
        .fallback(pages::not_found)
        .layer(middleware::from_fn_with_state(app.clone(), guard::check))
        .with_state(app)
}

impl App {
    /// Returns the current time.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the context of an account.
    pub(super) fn user(&self, account: &str) -> Option<Arc<UserContext>> {
        self.users.get(account).cloned()
    }

    /// Returns all CronJobs with their rows.
    pub(super) fn rows(&self, now: Timestamp) -> Vec<(Arc<Entry>, Arc<FleetRow>)> {
        let entries = self.cache.entries();
        entries
            .into_iter()
            .map(|entry| {
                let row = entry.row(now);
                (entry, row)
            })
            .collect()
    }

    /// Returns how many CronJobs have a slot that should have started.
    pub(super) fn overdue(&self, now: Timestamp) -> usize {
        let at = self.clock.monotonic();
        let known = *self.overdue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((counted_at, count)) = known
            && at.saturating_sub(counted_at) < OVERDUE_VALID_FOR
        {
            return count;
        }
        let rows = self.rows(now);
        let count = rows.iter().filter(|(_, row)| row.state == FleetState::Overdue).count();
        *self.overdue.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, count));
        count
    }

    /// Returns the names of all namespaces with a CronJob.
    pub(super) fn namespaces(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.cache.entries().iter().map(|entry| entry.id.namespace.clone()).collect();
        names.dedup();
        names
    }
}
