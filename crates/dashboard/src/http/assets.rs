//! The style sheet, the script and the icon. They contain nothing about the cluster.

use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;

const STYLE: &str = include_str!("../../assets/dashboard.css");
const SCRIPT: &str = include_str!("../../assets/dashboard.js");
const ICON: &str = include_str!("../../assets/icon.svg");

/// Returns a file by its name.
pub(super) async fn asset(axum::extract::Path(name): axum::extract::Path<String>) -> Response {
    let (content, content_type) = match name.as_str() {
        "dashboard.css" => (STYLE, "text/css; charset=utf-8"),
        "dashboard.js" => (SCRIPT, "text/javascript; charset=utf-8"),
        "icon.svg" => (ICON, "image/svg+xml"),
        _ => return (StatusCode::NOT_FOUND, "There is no such file.\n").into_response(),
    };
    ([(CONTENT_TYPE, content_type)], content).into_response()
}
