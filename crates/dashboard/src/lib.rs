//! The web dashboard: the CronJobs of any Kubernetes API, their slots, runs and plans.
//!
//! ```text
//!  Kubernetes API ──watches──▶ data::cache ─┐
//!        ▲  └──────reads on demand──────────┼──▶ model ──▶ ui (maud) + charts (SVG) ──▶ http ──▶ browser
//!        └──────────writes───── data::actions ◀────────────────────────────────────────┘
//! ```
//!
//! `model`, `charts` and `ui` compute and render; time is an argument, and every projection comes from
//! `punctual-views`, `punctual-engine` and `punctual-schedule`. `data` reads and writes the Kubernetes API. `http` serves
//! pages, and refuses what does not come from a signed-in user's own browser.

mod charts;
mod data;
mod http;
mod model;
mod ui;

pub use self::data::{Account, TokenLookup};
pub use self::http::{
    Dashboard, DashboardError, DashboardOptions, LoginFile, LoginFileError, LoginLinks, bind,
    load_tls,
};
