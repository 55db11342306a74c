//! The handlers of all pages and actions.

mod actions;
mod backfill;
mod bulk;
mod cron_job;
mod edit;
mod fleet;
mod ledger;
mod load;
mod plan;
mod run;
mod session;
mod timeline;

pub(super) use self::actions::{
    resume, resume_form, stop, stop_form, suspend, suspend_form, trigger, trigger_form,
};
pub(super) use self::backfill::{backfill, backfill_form};
pub(super) use self::bulk::{bulk, bulk_form};
pub(super) use self::cron_job::{cron_job, slot};
pub(super) use self::edit::{edit, edit_form};
pub(super) use self::fleet::fleet;
pub(super) use self::ledger::{ledger, ledger_csv, ledger_json};
pub(super) use self::load::{KeptLoad, load};
pub(super) use self::plan::{plan, plan_form};
pub(super) use self::run::{run, run_log};
pub(super) use self::session::{login_form, login_with_token, logout, not_found, set_theme};
pub(super) use self::timeline::timeline;
