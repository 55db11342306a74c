//! Builds responses from pages.

use std::sync::Arc;

use axum::response::{Html, IntoResponse as _, Response};
use http::StatusCode;
use http::header::LOCATION;
use maud::Markup;
use punctual_reader::ReadError;

use super::app::App;
use super::context::Visitor;
use crate::data::{ActionError, ClusterHealth, CronJobId};
use crate::ui::{Chrome, ConnectionState, Flash, NavItem, Theme, error_page, login_page, page};

/// The content of a page.
pub(super) struct PageContent {
    pub(super) title: String,
    pub(super) nav: NavItem,
    /// The query of the event stream; empty if the page has none.
    pub(super) events: String,
    pub(super) search: String,
    pub(super) body: Markup,
}

impl PageContent {
    pub(super) fn new(title: impl Into<String>, nav: NavItem, body: Markup) -> PageContent {
        PageContent { title: title.into(), nav, events: String::new(), search: String::new(), body }
    }
}

/// A page that cannot be shown.
#[derive(Debug)]
pub(super) struct PageError {
    status: StatusCode,
    title: &'static str,
    text: String,
}

impl PageError {
    pub(super) fn not_found(text: impl Into<String>) -> PageError {
        PageError { status: StatusCode::NOT_FOUND, title: "Not found", text: text.into() }
    }

    pub(super) fn forbidden() -> PageError {
        PageError {
            status: StatusCode::FORBIDDEN,
            title: "Not allowed",
            text: "Your role in the cluster does not allow this action.".into(),
        }
    }

    pub(super) fn invalid(text: impl Into<String>) -> PageError {
        PageError { status: StatusCode::BAD_REQUEST, title: "Not understood", text: text.into() }
    }

    /// A CronJob that does not exist.
    pub(super) fn no_cron_job(id: Option<&CronJobId>) -> PageError {
        match id {
            Some(id) => PageError::not_found(format!(
                "There is no {} {}/{}. It may have been deleted; its records are in the ledger.",
                id.kind.kind(),
                id.namespace,
                id.name
            )),
            None => PageError::not_found("There is no such page."),
        }
    }
}

impl From<ReadError> for PageError {
    fn from(error: ReadError) -> PageError {
        let status = match error.code() {
            Some(403) => StatusCode::FORBIDDEN,
            Some(404) => StatusCode::NOT_FOUND,
            Some(_) => StatusCode::BAD_GATEWAY,
            None => StatusCode::GATEWAY_TIMEOUT,
        };
        let title = match status {
            StatusCode::FORBIDDEN => "Not allowed",
            StatusCode::NOT_FOUND => "Not found",
            _ => "The cluster did not answer as expected",
        };
        PageError { status, title, text: punctual_client_text(&error) }
    }
}

fn punctual_client_text(error: &ReadError) -> String {
    let mut text = error.to_string();
    if error.code().is_none() {
        text.push_str(" Reload the page to try again.");
    }
    text
}

impl From<ActionError> for PageError {
    fn from(error: ActionError) -> PageError {
        match error {
            ActionError::Cluster(error) => error.into(),
            error => PageError::invalid(error.to_string()),
        }
    }
}

impl App {
    /// Builds the response of a page.
    pub(super) async fn respond(
        &self,
        visitor: &Visitor,
        result: Result<PageContent, PageError>,
    ) -> Response {
        let (status, content) = match result {
            Ok(content) => (StatusCode::OK, content),
            Err(error) => {
                let body = error_page(error.title, &error.text);
                (error.status, PageContent::new(error.title, NavItem::None, body))
            }
        };
        self.respond_with(visitor, status, content).await
    }

    /// Builds the response of a page with a status.
    pub(super) async fn respond_with(
        &self,
        visitor: &Visitor,
        status: StatusCode,
        content: PageContent,
    ) -> Response {
        let now = self.now();
        let status = if visitor.is_refresh { StatusCode::OK } else { status };
        let flash =
            if visitor.is_refresh { None } else { self.sessions.take_flash(&visitor.token) };
        let chrome = Chrome {
            title: content.title,
            nav: content.nav,
            user: visitor.user.name.clone(),
            cluster: self.cluster.clone(),
            theme: visitor.theme,
            connection: self.connection(visitor).await,
            flash,
            zone: self.zone.clone(),
            now,
            search: content.search,
            events: content.events,
            url: visitor.url.clone(),
            is_signed_in: true,
        };
        (status, Html(page(&chrome, &content.body))).into_response()
    }

    /// Returns how current the page is.
    pub(super) async fn connection(&self, visitor: &Visitor) -> ConnectionState {
        let reader = &visitor.user.detail.reader;
        if self.health.check(reader, &*self.clock).await == ClusterHealth::Silent {
            return ConnectionState::Lost;
        }
        if !self.cache.is_synced() {
            return ConnectionState::Loading;
        }
        match self.overdue(self.now()) {
            0 => ConnectionState::OnTime,
            count => ConnectionState::Behind(count),
        }
    }

    /// Goes to another page, which shows a message.
    pub(super) fn redirect(
        &self,
        visitor: &Visitor,
        path: &str,
        text: impl Into<String>,
    ) -> Response {
        self.sessions.set_flash(&visitor.token, Flash { text: text.into(), is_error: false });
        see_other(path)
    }

    /// Goes to another page, which shows an error.
    pub(super) fn redirect_error(
        &self,
        visitor: &Visitor,
        path: &str,
        text: impl Into<String>,
    ) -> Response {
        self.sessions.set_flash(&visitor.token, Flash { text: text.into(), is_error: true });
        see_other(path)
    }
}

/// Goes to another page with GET.
pub(super) fn see_other(path: &str) -> Response {
    // A path of ours, never a URL of another site.
    let is_local = path.starts_with('/') && !path.starts_with("//") && !path.starts_with("/\\");
    let path = if is_local && path.is_ascii() { path } else { "/" };
    (StatusCode::SEE_OTHER, [(LOCATION, path.to_owned())]).into_response()
}

/// Builds the page on which users sign in.
pub(super) fn sign_in_page(
    app: &Arc<App>,
    theme: Theme,
    error: Option<&str>,
    back: &str,
) -> Response {
    let body = login_page(app.token_lookup.is_some(), error, back);
    let chrome = Chrome {
        title: "Sign in".into(),
        nav: NavItem::None,
        user: String::new(),
        cluster: String::new(),
        theme,
        connection: ConnectionState::OnTime,
        flash: None,
        zone: app.zone.clone(),
        now: app.now(),
        search: String::new(),
        events: String::new(),
        url: "/".into(),
        is_signed_in: false,
    };
    (StatusCode::UNAUTHORIZED, Html(page(&chrome, &body))).into_response()
}
