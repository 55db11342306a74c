//! The Kubernetes API for the batch kinds, over a durable store.
//!
//! ```text
//!  connection ─▶ listen ─▶ http: who? may they? what? ─▶ registry ─▶ Store (one commit, one fsync)
//!   TLS, h1/h2            auth     request               │  ▲            │
//!                                                        ▼  │            ▼
//!                         answer ◀── stored bytes    strategy, patch   Snapshot, Watch
//! ```
//!
//! Objects lie in the store as JSON whose beginning can be swapped, so reads, lists and watches copy
//! bytes and parse nothing unless a selector or a table asks (`stored`). Writes are decided on what
//! is there and committed under the condition that it still is (`registry`). What may be written is
//! decided by `punctual_api::strategy`; who owns which field by [`patch`].
//!
//! A [`Server`] is a value with a router, so a client in the same process needs no socket:
//! `Server::local` is the API for one user of this process, [`serve`] the one for everybody else.
//! Time and chance come from a [`ServerEnv`], so that a simulation has its own.

mod answer;
mod audit;
mod auth;
mod discovery;
mod env;
mod expire;
mod health;
mod http;
mod limits;
mod listen;
mod logs;
mod metrics;
mod openapi;
pub mod patch;
mod pki;
mod registry;
mod request;
mod resource;
mod secret_file;
mod selector;
mod server;
mod stored;
mod table;

pub use self::audit::AuditLog;
pub use self::auth::{ADMIN_GROUP, Tokens, User, VIEW_GROUP};
pub use self::env::{ServerEnv, SystemEnv};
pub use self::health::{HealthEndpoints, NotReady, ReadyCheck, serve_health};
pub use self::limits::Limits;
pub use self::listen::serve;
pub use self::logs::{LogQuery, LogSource, LogStream};
pub use self::metrics::ExtraMetrics;
pub use self::pki::{Credential, Kubeconfig, PkiError, ServerIdentity};
pub use self::server::{Config, Server};
