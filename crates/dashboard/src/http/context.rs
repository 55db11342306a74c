//! Who sends a request.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::Response;
use http::request::Parts;

use super::app::{App, UserContext};
use super::render::sign_in_page;
use crate::ui::Theme;

/// A signed-in user.
pub(super) struct Visitor {
    pub(super) user: Arc<UserContext>,
    /// The session token.
    pub(super) token: String,
    pub(super) theme: Theme,
    /// The path and query of the request.
    pub(super) url: String,
    /// Whether the script refreshes a page that is open. Such a request must not take the message of an action, which
    /// belongs to the page that follows it, and gets an error as a page.
    pub(super) is_refresh: bool,
}

impl FromRequestParts<Arc<App>> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Visitor, Response> {
        let theme = Theme::parse(app.cookies.theme(&parts.headers).unwrap_or_default());
        let url = parts.uri.path_and_query().map_or("/", |url| url.as_str()).to_owned();
        let found = app.cookies.session(&parts.headers).and_then(|token| {
            let account = app.sessions.account(token, app.now())?;
            Some((app.user(&account)?, token.to_owned()))
        });
        match found {
            Some((user, token)) => {
                let is_refresh = parts.headers.contains_key("x-punctual-refresh");
                Ok(Visitor { user, token, theme, url, is_refresh })
            }
            None => Err(sign_in_page(app, theme, None, &url)),
        }
    }
}
