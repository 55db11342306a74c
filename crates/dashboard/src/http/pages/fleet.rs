//! The fleet page.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;
use punctual_views::FleetRow;

use crate::data::{Entry, Rights};
use crate::http::app::{App, UserContext};
use crate::http::context::Visitor;
use crate::http::events::Position;
use crate::http::params::Params;
use crate::http::render::PageContent;
use crate::model::{FleetQuery, PAGE_SIZE, attention, overview};
use crate::ui::{FleetPage, FleetPageRow, NavItem, fleet_page};

type Rows = Vec<(Arc<Entry>, Arc<FleetRow>)>;

pub(in crate::http) async fn fleet(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    params: Params,
) -> Response {
    let now = app.now();
    let query = FleetQuery::parse(params.pairs());
    let events = app.events_query("fleet", &crate::data::Scope::Fleet);
    let prepared = prepare(&app, query, now).await;
    let page = complete(prepared, &visitor.user, &app).await;
    let mut content = PageContent::new("Fleet", NavItem::Fleet, fleet_page(&page));
    content.events = events;
    content.search = page.query.search;
    app.respond(&visitor, Ok(content)).await
}

/// The page without what is read from the cluster.
struct Prepared {
    page: FleetPage,
    shown: Rows,
}

/// Selects and sorts the rows on a thread that may be busy for a while.
async fn prepare(app: &Arc<App>, query: FleetQuery, now: Timestamp) -> Prepared {
    let is_loading = !app.cache.is_synced();
    let worker = app.clone();
    let selecting = tokio::task::spawn_blocking(move || select(&worker, query, now));
    let mut prepared = selecting.await.unwrap_or_else(|_| Prepared::empty(now));
    prepared.page.is_loading = is_loading;
    prepared
}

impl Prepared {
    fn empty(now: Timestamp) -> Prepared {
        let page = FleetPage {
            query: FleetQuery::default(),
            overview: overview(&[], now),
            attention: Vec::new(),
            more_attention: 0,
            rows: Vec::new(),
            selected: 0,
            is_loading: false,
            now,
        };
        Prepared { page, shown: Vec::new() }
    }
}

fn select(app: &App, mut query: FleetQuery, now: Timestamp) -> Prepared {
    let rows = app.rows(now);
    let overview = overview(&rows, now);
    let (attention, more_attention) = attention(&rows);
    let mut selected: Rows = rows
        .into_iter()
        .filter(|(entry, row)| query.matches_text(entry, row) && query.matches_state(row, now))
        .collect();
    selected.sort_by(|a, b| query.compare(&a.1, &b.1));
    let total = selected.len();
    query.page = query.page.clamp(1, total.div_ceil(PAGE_SIZE).max(1));
    let first = (query.page - 1) * PAGE_SIZE;
    let shown = selected.into_iter().skip(first).take(PAGE_SIZE).collect();
    let page = FleetPage {
        query,
        overview,
        attention,
        more_attention,
        rows: Vec::new(),
        selected: total,
        is_loading: false,
        now,
    };
    Prepared { page, shown }
}

/// Reads the records and the rights of the rows that are shown.
async fn complete(prepared: Prepared, user: &UserContext, app: &App) -> FleetPage {
    let Prepared { mut page, shown } = prepared;
    let entries: Vec<Arc<Entry>> = shown.iter().map(|(entry, _)| entry.clone()).collect();
    let namespaces = entries.iter().map(|entry| entry.id.namespace.clone());
    let (snapshots, rights) = tokio::join!(
        user.detail.with_records(&entries),
        rights_of(user, app, namespaces.collect())
    );
    let rows = shown.into_iter().zip(snapshots).map(|((entry, row), snapshot)| {
        let rights = rights.get(&entry.id.namespace).copied().unwrap_or_default();
        // The records say how the last runs ended; the row of the cache knows the status alone.
        let full = FleetRow::new(&snapshot, page.now);
        let row = if snapshot.ledger.records().is_empty() { row } else { Arc::new(full) };
        FleetPageRow { id: entry.id.clone(), row, snapshot, rights }
    });
    page.rows = rows.collect();
    page
}

/// Returns what a user may do in some namespaces: asks for all namespaces first.
pub(super) async fn rights_of(
    user: &UserContext,
    app: &App,
    mut namespaces: Vec<String>,
) -> HashMap<String, Rights> {
    namespaces.sort();
    namespaces.dedup();
    let reader = &user.detail.reader;
    let everywhere = user.rights.read(reader, "", &*app.clock).await;
    let all = Rights { edit: true, start: true, stop: true };
    if everywhere == all {
        return namespaces.into_iter().map(|namespace| (namespace, all)).collect();
    }
    let reads = namespaces.into_iter().map(|namespace| async move {
        let rights = user.rights.read(reader, &namespace, &*app.clock).await;
        (namespace, rights)
    });
    futures::future::join_all(reads).await.into_iter().collect()
}

impl App {
    /// Returns the query of the event stream of a page that shows the state of now.
    pub(in crate::http) fn events_query(&self, scope: &str, of: &crate::data::Scope) -> String {
        let revision = self.cache.revision_of(of).unwrap_or(0);
        let position = Position { epoch: self.epoch, revision }.text();
        form_urlencoded::Serializer::new(String::new())
            .append_pair("scope", scope)
            .append_pair("since", &position)
            .finish()
    }
}
