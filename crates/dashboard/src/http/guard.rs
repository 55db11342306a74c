//! What every request must pass, and the headers of every response.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{HeaderName, HeaderValue, ORIGIN};
use http::{HeaderMap, Method, Request, StatusCode};

use super::allowed_hosts::host_name;
use super::app::App;

/// Nothing inline, nothing from elsewhere, no frame.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(&str, &str); 8] = [
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

/// Refuses requests to other hosts and writes of other sites, and adds the headers.
pub(super) async fn check(
    State(app): State<Arc<App>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let mut response = match refusal(&app, &request) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

fn refusal(app: &App, request: &Request<Body>) -> Option<Response> {
    if !app.hosts.allows(request) {
        let text = "This host name is not allowed. Open the dashboard by the address that it printed, or allow the \
                    name with --dashboard-host.\n";
        return Some((StatusCode::MISDIRECTED_REQUEST, text).into_response());
    }
    if is_safe(request.method()) || is_own_site(request.headers()) {
        return None;
    }
    let text = "Refused: this request was not sent by a page of the dashboard.\n";
    Some((StatusCode::FORBIDDEN, text).into_response())
}

/// Whether a method changes nothing.
fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Whether a page of ours sent a request, as the browser says. Another port of this machine is another origin, although it
/// is the same site for cookies.
fn is_own_site(headers: &HeaderMap) -> bool {
    let one = |name: &str| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    };
    if headers.contains_key("sec-fetch-site") {
        return matches!(one("sec-fetch-site"), Some("same-origin" | "none"));
    }
    // A browser without fetch metadata sends the origin. Nothing else may write with a cookie.
    let (Some(origin), Some(host)) = (one(ORIGIN.as_str()), one("host")) else { return false };
    let origin = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    origin.is_some_and(|origin| {
        origin.eq_ignore_ascii_case(host) && host_name(origin) == host_name(host)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_pages_may_write() {
        let cases: [(&[(&str, &str)], bool); 10] = [
            (&[("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "none")], true),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "cross-site"), ("origin", "http://localhost:6480")], false),
            (&[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")], false),
            (&[("origin", "http://localhost:6480")], true),
            (&[("origin", "http://localhost:8080")], false),
            (&[("origin", "null")], false),
            (&[], false),
        ];
        for (headers, wanted) in cases {
            let mut map = HeaderMap::new();
            map.insert("host", HeaderValue::from_static("localhost:6480"));
            for (name, value) in headers {
                map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            assert_eq!(is_own_site(&map), wanted, "{headers:?}");
        }
    }
}
