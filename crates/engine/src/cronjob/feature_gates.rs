//! Feature gates: switches for what this project adds to Kubernetes' CronJob.
//!
//! A gate that is off changes decisions only. Fields stay in the object, so a gate that is on again
//! reads them again. The condition `FeatureDisabled` names the fields that are ignored.

use std::fmt;
use std::str::FromStr;

use punctual_api::{ConcurrencyPolicy, CronJob, well_known::annotations};
use punctual_schedule::Zone;

use super::suspension::runs_all_slots_of_suspension;

/// Kubernetes' name of the gate `TimeZone`.
const KUBERNETES_TIME_ZONE_GATE: &str = "CronJobTimeZone";

/// Which features are on. All are on by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    /// Whether `spec.timeZone` is read. If not, schedules run in the default zone, as in KEP-3140.
    pub time_zone: bool,
    /// Whether the concurrency policy `CatchUp` applies. If not, it acts as `Forbid`.
    pub catch_up: bool,
    /// Whether the jitter applies. If not, it is 0.
    pub jitter: bool,
    /// Whether schedules with a single slot (`@at`) start.
    pub one_shot: bool,
}

impl Default for FeatureGates {
    fn default() -> FeatureGates {
        FeatureGates { time_zone: true, catch_up: true, jitter: true, one_shot: true }
    }
}

/// A feature gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureGate {
    /// `spec.timeZone`.
    TimeZone,
    /// The concurrency policy `CatchUp`.
    CatchUp,
    /// `spec.jitter`.
    Jitter,
    /// The schedule `@at`.
    OneShot,
}

impl FeatureGate {
    /// All gates.
    pub const ALL: [FeatureGate; 4] =
        [FeatureGate::TimeZone, FeatureGate::CatchUp, FeatureGate::Jitter, FeatureGate::OneShot];

    /// The name in `--feature-gates`.
    pub fn as_str(self) -> &'static str {
        match self {
            FeatureGate::TimeZone => "TimeZone",
            FeatureGate::CatchUp => "CatchUp",
            FeatureGate::Jitter => "Jitter",
            FeatureGate::OneShot => "OneShot",
        }
    }

    /// Finds a gate by its name, or by the name that Kubernetes gave it.
    fn parse(name: &str) -> Option<FeatureGate> {
        if name == KUBERNETES_TIME_ZONE_GATE {
            return Some(FeatureGate::TimeZone);
        }
        FeatureGate::ALL.into_iter().find(|gate| gate.as_str() == name)
    }
}

/// Why the text of feature gates cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeatureGatesError {
    /// An item has no `=`.
    MissingValue(String),
    /// There is no gate of this name.
    UnknownGate(String),
    /// The value of a gate is neither true nor false.
    InvalidValue {
        /// The gate.
        gate: FeatureGate,
        /// The value.
        value: String,
    },
}

impl fmt::Display for FeatureGatesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FeatureGatesError::MissingValue(item) => {
                write!(f, "{item:?} has no value; write it like TimeZone=false")?;
            }
            FeatureGatesError::UnknownGate(name) => write!(f, "unknown feature gate {name:?}")?,
            FeatureGatesError::InvalidValue { gate, value } => {
                let gate = gate.as_str();
                write!(f, "the value {value:?} of {gate} is neither true nor false")?;
            }
        }
        write!(f, "; known gates: {}", FeatureGate::ALL.map(FeatureGate::as_str).join(", "))
    }
}

impl std::error::Error for FeatureGatesError {}

impl FromStr for FeatureGates {
    type Err = FeatureGatesError;

    /// Parses Kubernetes' syntax: `TimeZone=false,Jitter=true`. A later item overrides an earlier one.
    fn from_str(text: &str) -> Result<FeatureGates, FeatureGatesError> {
        let mut gates = FeatureGates::default();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let Some((name, value)) = item.split_once('=') else {
                return Err(FeatureGatesError::MissingValue(item.into()));
            };
            let Some(gate) = FeatureGate::parse(name.trim()) else {
                return Err(FeatureGatesError::UnknownGate(name.trim().into()));
            };
            let Some(is_on) = parse_bool(value.trim()) else {
                return Err(FeatureGatesError::InvalidValue { gate, value: value.trim().into() });
            };
            gates.set(gate, is_on);
        }
        Ok(gates)
    }
}

/// Parses a boolean as Kubernetes' flags do.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

impl FeatureGates {
    /// Whether a gate is on.
    pub fn is_on(&self, gate: FeatureGate) -> bool {
        match gate {
            FeatureGate::TimeZone => self.time_zone,
            FeatureGate::CatchUp => self.catch_up,
            FeatureGate::Jitter => self.jitter,
            FeatureGate::OneShot => self.one_shot,
        }
    }

    fn set(&mut self, gate: FeatureGate, is_on: bool) {
        match gate {
            FeatureGate::TimeZone => self.time_zone = is_on,
            FeatureGate::CatchUp => self.catch_up = is_on,
            FeatureGate::Jitter => self.jitter = is_on,
            FeatureGate::OneShot => self.one_shot = is_on,
        }
    }

    /// The names of the gates that are off.
    pub fn disabled(&self) -> Vec<&'static str> {
        let off = FeatureGate::ALL.into_iter().filter(|gate| !self.is_on(*gate));
        off.map(FeatureGate::as_str).collect()
    }

    /// The concurrency policy that applies to a CronJob. After a suspension whose slots all have to run, it is
    /// `CatchUp` until none is left.
    pub fn concurrency_policy(&self, cron_job: &CronJob) -> ConcurrencyPolicy {
        match cron_job.concurrency_policy() {
            _ if self.catch_up && runs_all_slots_of_suspension(cron_job) => {
                ConcurrencyPolicy::CatchUp
            }
            ConcurrencyPolicy::CatchUp if !self.catch_up => ConcurrencyPolicy::Forbid,
            policy => policy,
        }
    }

    /// The jitter that applies to a CronJob, in percent.
    pub fn jitter_percent(&self, cron_job: &CronJob) -> i32 {
        if self.jitter { cron_job.jitter_percent() } else { 0 }
    }

    /// The name of the time zone that applies to a CronJob; `None` means the default zone.
    pub fn zone_name<'a>(&self, cron_job: &'a CronJob) -> Option<&'a str> {
        if self.time_zone { cron_job.spec.zone_name() } else { None }
    }

    /// Whether the CronJob has a time zone that is ignored.
    pub(crate) fn ignores_zone(&self, cron_job: &CronJob) -> bool {
        !self.time_zone && cron_job.spec.zone_name().is_some()
    }

    /// Returns which fields of a CronJob are ignored, and what happens instead. `zone` is the zone of
    /// its schedule, `is_one_shot` whether the schedule has a single slot.
    pub(crate) fn ignored_fields(
        &self,
        cron_job: &CronJob,
        zone: Option<&Zone>,
        is_one_shot: bool,
    ) -> Vec<String> {
        let mut ignored = Vec::new();
        if self.ignores_zone(cron_job) {
            let zone = zone.map(|zone| format!(" {}", zone.name())).unwrap_or_default();
            ignored.push(format!(
                "spec.timeZone is ignored because the feature gate TimeZone is off; the schedule \
                 runs in the default zone{zone} of the controller"
            ));
        }
        if self.concurrency_policy(cron_job) != cron_job.concurrency_policy() {
            let field = if cron_job.spec.concurrency_policy == ConcurrencyPolicy::CatchUp.as_str() {
                "spec.concurrencyPolicy".to_owned()
            } else {
                format!("the annotation {}", annotations::CONCURRENCY_POLICY)
            };
            ignored.push(format!(
                "the value CatchUp of {field} is ignored because the feature gate CatchUp is off; \
                 the policy is Forbid"
            ));
        }
        if self.jitter_percent(cron_job) != cron_job.jitter_percent() {
            let field = match cron_job.spec.jitter {
                Some(_) => "spec.jitter".to_owned(),
                None => format!("the annotation {}", annotations::JITTER),
            };
            ignored.push(format!(
                "{field} is ignored because the feature gate Jitter is off; runs start without delay"
            ));
        }
        if is_one_shot && !self.one_shot {
            ignored.push(
                "the schedule @at is ignored because the feature gate OneShot is off; no run starts"
                    .to_owned(),
            );
        }
        ignored
    }
}
