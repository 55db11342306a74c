//! The Kubernetes API for the batch kinds, over a durable store.
//!
//! ```text
//!  connection ─▶ listen ─▶ http: authenticate, authorize, parse ─▶ registry ─▶ Store (one commit, one fsync)
//!   TLS, h1/h2                   auth, request                      │  ▲            │
//!                                                                   ▼  │            ▼
//!                          response ◀── stored bytes        write_rules, patch Snapshot, Watch
//! ```
//!
//! The store holds objects as JSON whose first bytes can be replaced, so reads, lists and watches
//! copy bytes and decode an object only for a selector or a table (`stored`). Writes are computed
//! from the stored object and committed on the condition that it has not changed (`registry`).
//! `punctual_api::write_rules` decides what a write may change, and [`patch`] implements field
//! ownership.
//!
//! A [`Server`] has a router, so clients in the same process need no socket:
//! [`Server::local_router`] is the API for one user of this process, [`serve`] serves all other
//! clients. The clock and the source of randomness are a [`ServerEnv`], which tests and the
//! simulator replace.

mod audit;
mod auth;
mod discovery;
mod env;
mod expire;
mod health;
mod http;
mod ledger;
mod limits;
mod listen;
mod logs;
mod metrics;
mod openapi;
pub mod patch;
mod pki;
mod quota;
mod registry;
mod request;
mod resource;
mod response;
mod secret_encryption;
mod secret_file;
mod selector;
mod server;
mod stored;
mod stored_check;
mod table;

pub use self::audit::{AuditLevel, AuditLog};
pub use self::auth::{ADMIN_GROUP, Tokens, User, VIEW_GROUP};
pub use self::env::{ServerEnv, SystemEnv};
pub use self::health::{HealthEndpoints, NotReady, ReadyCheck, serve_health};
pub use self::ledger::LedgerLimits;
pub use self::limits::{ConnectionLimits, ServerLimits};
pub use self::listen::serve;
pub use self::logs::{LogQuery, LogSource, LogStream};
pub use self::metrics::AppendMetrics;
pub use self::pki::{
    CertificateInfo, CertificateStatus, Credential, Kubeconfig, ListedCertificate, PkiError,
    Revocations, ServerIdentity, rotate_authority, rotate_server_certificate,
};
pub use self::secret_encryption::{EncryptionKeyError, SecretEncryption, find_encrypted};
pub use self::server::{Config, Server};
pub use self::stored_check::{UnreadableObject, find_unreadable};
