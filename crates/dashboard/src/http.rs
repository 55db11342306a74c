//! Serves the dashboard over HTTP, to signed-in users only.

mod allowed_hosts;
mod app;
mod assets;
mod context;
mod cookies;
mod events;
mod guard;
mod listener;
mod login_file;
mod login_links;
mod pages;
mod params;
mod render;
mod sessions;
mod tls;

pub use self::app::{Dashboard, DashboardError, DashboardOptions};
pub use self::listener::bind;
pub use self::login_file::{LoginFile, LoginFileError};
pub use self::login_links::LoginLinks;
pub use self::tls::load_tls;
