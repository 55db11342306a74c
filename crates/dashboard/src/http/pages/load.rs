//! The load page.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;

use crate::http::app::App;
use crate::http::context::Visitor;
use crate::http::render::{PageContent, PageError};
use crate::model::{LoadMap, load_map};
use crate::ui::{NavItem, load_page};

/// How long a prediction is shown. It changes slowly, and costs the most of all pages.
const VALID_FOR: Duration = Duration::from_secs(60);

/// A prediction for all users.
pub(in crate::http) struct KeptLoad {
    at: Duration,
    map: Arc<LoadMap>,
}

pub(in crate::http) async fn load(State(app): State<Arc<App>>, visitor: Visitor) -> Response {
    let now = app.now();
    let content = match predict(&app, now).await {
        Some(map) => Ok(PageContent::new("Load", NavItem::Load, load_page(&map, &app.zone, now))),
        None => Err(PageError::invalid("The prediction failed.")),
    };
    app.respond(&visitor, content).await
}

/// Computes a prediction once for all users that ask for it at the same time.
async fn predict(app: &Arc<App>, now: Timestamp) -> Option<Arc<LoadMap>> {
    let mut kept = app.load.lock().await;
    let at = app.clock.monotonic();
    if let Some(known) = kept.as_ref().filter(|known| at.saturating_sub(known.at) < VALID_FOR) {
        return Some(known.map.clone());
    }
    let worker = app.clone();
    let predicting = tokio::task::spawn_blocking(move || {
        let entries = worker.cache.entries();
        let medians = worker.cache.medians(&entries);
        load_map(&entries, &medians, &worker.zone, now)
    });
    let map = Arc::new(predicting.await.ok()?);
    // Before the first lists are complete, the prediction is not worth keeping.
    if app.cache.is_synced() {
        *kept = Some(KeptLoad { at, map: map.clone() });
    }
    Some(map)
}
