//! Pages as HTML. Text is escaped by maud; pages contain no inline style and no inline script.

mod cron_job;
mod edit;
mod fleet;
mod forms;
mod layout;
mod ledger;
mod load;
mod message;
mod plan;
mod run;
mod slot;
mod text;
mod timeline;

pub(crate) use self::cron_job::{CronJobPage, cron_job_page};
pub(crate) use self::edit::YAML_LEN_MAX;
pub(crate) use self::edit::{EditPage, EditPreview, edit_page};
pub(crate) use self::fleet::{FleetPage, FleetPageRow, fleet_page};
pub(crate) use self::forms::{
    ActionForm, BackfillForm, BackfillPreview, ResumeForm, SuspendValues, backfill_form, bulk_form,
    resume_form, stop_form, suspend_form, trigger_form,
};
pub(crate) use self::layout::{Chrome, ConnectionState, Flash, NavItem, Theme, page};
pub(crate) use self::ledger::{LedgerFilter, LedgerPageView, ledger_page};
pub(crate) use self::load::load_page;
pub(crate) use self::message::{error_page, login_page};
pub(crate) use self::plan::{PlanPage, PlannedReport, plan_page};
pub(crate) use self::run::{RunPage, run_page};
pub(crate) use self::slot::{SlotPage, slot_page};
pub(crate) use self::text::slot_title;
pub(crate) use self::timeline::{TimelinePage, timeline_page};
