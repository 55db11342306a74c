//! What commands and pages show about CronJobs: rows of a fleet, descriptions, histories, explanations of slots and
//! forecasts.
//!
//! A caller reads a CronJob with its Jobs and its slot records into a [`CronJobSnapshot`] and passes the
//! current time. Every slot that is shown comes from `punctual-schedule` and `punctual-engine`, so a page never
//! differs from what the controller does. The crate does no I/O and reads no clock.
//!
//! A *slot* is a scheduled time of a CronJob.

mod change;
mod description;
mod dst;
mod field_changes;
mod fleet;
mod forecast;
mod history;
mod ledger;
mod policy_text;
mod reconstruct;
mod run_preview;
mod slot_choice;
mod snapshot;
mod suspension;
mod time_text;
mod why;

pub use change::{ChangeReport, Collision, SlotDifference, TooManySlots, compare, find_collisions};
pub use description::{Description, UpcomingSlot, describe};
pub use dst::DstNote;
pub use field_changes::{FieldChange, field_changes};
pub use fleet::{FleetFilter, FleetOrder, FleetRow, FleetState, Streak};
pub use forecast::{ExpectedRun, Forecast, ForecastHour, TooManyStarts, expected_runs, forecast};
pub use history::{HistoryFilter, HistoryRow};
pub use ledger::{Ledger, RecordSource};
pub use punctual_engine::cronjob::StartDecision;
pub use reconstruct::reconstruct_records;
pub use run_preview::{RunPreview, RunRefusal, SlotPreview, SlotState, preview_runs};
pub use slot_choice::{ChosenSlot, SlotChoiceError, choose_slot};
pub use snapshot::CronJobSnapshot;
pub use suspension::{ResumePreview, Suspension, UntilSupport, annotation, until_support};
pub use time_text::{format_duration, local_time, short_time};
pub use why::{Cause, Explanation, explain_latest_not_run, explain_now, explain_slot};
