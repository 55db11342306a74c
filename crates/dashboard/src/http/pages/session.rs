//! Signing in and out, the theme, and unknown pages.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{Html, IntoResponse as _, Response};
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use maud::{DOCTYPE, html};

use crate::http::app::App;
use crate::http::context::Visitor;
use crate::http::params::{Params, read_form};
use crate::http::render::{PageError, see_other, sign_in_page};
use crate::ui::Theme;

/// The longest token that is compared.
const TOKEN_LEN_MAX: usize = 200;

/// Signs in with the code of a login link, or shows the form.
pub(in crate::http) async fn login_form(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    params: Params,
) -> Response {
    let theme = Theme::parse(app.cookies.theme(&headers).unwrap_or_default());
    let code = params.get("code");
    if code.is_empty() {
        return sign_in_page(&app, theme, None, "/");
    }
    if !app.links.redeem(code, app.now()) {
        let text = "This login link was used already, or it has expired. Get a fresh one.";
        return sign_in_page(&app, theme, Some(text), "/");
    }
    let account = app.first_account.clone();
    let Some(cookie) = open_session(&app, &account).await else { return no_session() };
    // A redirect would belong to the navigation from outside, for which browsers do not send the cookie.
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { "Punctual" } meta http-equiv="refresh" content="0;url=/"; link rel="icon" href="/assets/icon.svg"; link rel="icon" href="/assets/icon.svg"; link rel="stylesheet" href="/assets/dashboard.css"; }
            body { main { p { "Signed in. " a href="/" { "Open the dashboard" } } } }
        }
    };
    ([(SET_COOKIE, cookie)], Html(page.into_string())).into_response()
}

/// Signs in with a token.
pub(in crate::http) async fn login_with_token(
    State(app): State<Arc<App>>,
    request: Request<Body>,
) -> Response {
    let theme = Theme::parse(app.cookies.theme(request.headers()).unwrap_or_default());
    let form = match read_form(request).await {
        Ok(form) => form,
        Err(response) => return *response,
    };
    let token = form.get("token");
    let is_short = token.len() <= TOKEN_LEN_MAX;
    let lookup = if is_short { app.token_lookup.as_ref() } else { None };
    let account = lookup.and_then(|lookup| lookup(token));
    let Some(account) = account else {
        tracing::warn!("a sign-in to the dashboard was refused: the token is not known");
        return sign_in_page(&app, theme, Some("This token is not known."), "/");
    };
    match open_session(&app, &account.name).await {
        Some(cookie) => {
            let mut response = see_other(form.get("back"));
            response.headers_mut().insert(SET_COOKIE, cookie);
            response
        }
        None => no_session(),
    }
}

async fn open_session(app: &App, account: &str) -> Option<HeaderValue> {
    let token = app.sessions.open(account, app.now()).await?;
    app.cookies.set_session(&token)
}

fn no_session() -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, "The session could not be opened.\n").into_response()
}

/// Ends the session.
pub(in crate::http) async fn logout(State(app): State<Arc<App>>, visitor: Visitor) -> Response {
    app.sessions.close(&visitor.token).await;
    let mut response = see_other("/");
    if let Some(cookie) = app.cookies.clear_session() {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Sets the theme.
pub(in crate::http) async fn set_theme(
    State(app): State<Arc<App>>,
    _visitor: Visitor,
    request: Request<Body>,
) -> Response {
    let form = match read_form(request).await {
        Ok(form) => form,
        Err(response) => return *response,
    };
    let theme = Theme::parse(form.get("theme"));
    let mut response = see_other(form.get("back"));
    if let Some(cookie) = app.cookies.set_theme(theme.value()) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Shows that there is no such page.
pub(in crate::http) async fn not_found(State(app): State<Arc<App>>, visitor: Visitor) -> Response {
    app.respond(&visitor, Err(PageError::no_cron_job(None))).await
}
