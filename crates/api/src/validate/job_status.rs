//! Validation of Job status updates (like `ValidateJobUpdateStatus`).
//!
//! Most rules check only changed fields, so that Jobs written by an older server stay writable.

use std::collections::HashSet;

use super::{Errors, indexes, meta, non_negative};
use crate::field::{BadValue, FieldError, FieldPath};
use crate::job::condition::{COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED};
use crate::job::{Job, JobStatus, UncountedTerminatedPods};

const STATUS: FieldPath<'static> = FieldPath::root("status");

pub(super) fn update(new: &Job, old: &Job) -> Errors {
    let mut errors = Errors::new();
    meta::update(&new.metadata, &old.metadata, &mut errors);
    let change = Change { new, old };
    counts(&new.status, &mut errors);
    change.conflicting_ends(&mut errors);
    change.completion_time(&mut errors);
    change.ends_without_announcement(&mut errors);
    change.finished_with_leftovers(&mut errors);
    change.index_sets(&mut errors);
    change.terminating_and_ready(&mut errors);
    change.success_criteria(&mut errors);
    change.history(&mut errors);
    errors
}

fn counts(status: &JobStatus, errors: &mut Errors) {
    non_negative(Some(status.active), &STATUS.child("active"), errors);
    non_negative(Some(status.succeeded), &STATUS.child("succeeded"), errors);
    non_negative(Some(status.failed), &STATUS.child("failed"), errors);
    non_negative(status.ready, &STATUS.child("ready"), errors);
    non_negative(status.terminating, &STATUS.child("terminating"), errors);
    if let Some(pods) = &status.uncounted_terminated_pods {
        uncounted(pods, &STATUS.child("uncountedTerminatedPods"), errors);
    }
}

fn uncounted(pods: &UncountedTerminatedPods, path: &FieldPath<'_>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (name, uids) in [("succeeded", &pods.succeeded), ("failed", &pods.failed)] {
        let path = path.child(name);
        for (i, uid) in uids.iter().enumerate() {
            if uid.is_empty() {
                errors.push(FieldError::invalid(&path.index(i), "", "must not be empty"));
            } else if !seen.insert(uid) {
                errors.push(FieldError::duplicate(&path.index(i), uid));
            }
        }
    }
}

/// Reports an error about the conditions as a whole.
fn refuse_conditions(detail: impl Into<String>, errors: &mut Errors) {
    errors.push(FieldError::invalid(&STATUS.child("conditions"), BadValue::OMITTED, detail));
}

/// A Job and the Job that it replaces.
struct Change<'a> {
    new: &'a Job,
    old: &'a Job,
}

impl Change<'_> {
    fn is(&self, kind: &str) -> bool {
        self.new.status.is_true(kind)
    }

    fn was(&self, kind: &str) -> bool {
        self.old.status.is_true(kind)
    }

    fn has_changed(&self, kind: &str) -> bool {
        self.is(kind) != self.was(kind)
    }

    fn has_finished_changed(&self) -> bool {
        self.new.status.is_finished() != self.old.status.is_finished()
    }

    fn differs<T: PartialEq>(&self, part: impl Fn(&JobStatus) -> T) -> bool {
        part(&self.new.status) != part(&self.old.status)
    }

    fn conflicting_ends(&self, errors: &mut Errors) {
        for (other, shown) in [(FAILED, "Failed"), (FAILURE_TARGET, "FailureTarget")] {
            let changed = self.has_changed(COMPLETE) || self.has_changed(other);
            if changed && self.is(COMPLETE) && self.is(other) {
                let detail = format!("cannot set Complete=True and {shown}=true conditions");
                refuse_conditions(detail, errors);
            }
        }
    }

    fn completion_time(&self, errors: &mut Errors) {
        let path = STATUS.child("completionTime");
        let status = &self.new.status;
        let time_changed = self.differs(|status| status.completion_time);
        if self.has_changed(COMPLETE) || time_changed {
            match (status.completion_time, self.is(COMPLETE)) {
                (Some(time), false) => {
                    let detail =
                        "cannot set completionTime when there is no Complete=True condition";
                    errors.push(FieldError::invalid(&path, BadValue::json(&time), detail));
                }
                (None, true) => {
                    let detail = "completionTime is required for Complete jobs";
                    errors.push(FieldError::required(&path, detail));
                }
                _ => {}
            }
        }
        let start_changed = self.differs(|status| status.start_time);
        if let (Some(start), Some(end)) = (status.start_time, status.completion_time)
            && (start_changed || time_changed)
            && end < start
        {
            let detail = "must be equal to or after `startTime`";
            errors.push(FieldError::invalid(&path, BadValue::json(&end), detail));
        }
    }

    /// Requires `SuccessCriteriaMet` or `FailureTarget` before `Complete` or `Failed`, so that all
    /// Pods have terminated by then.
    fn ends_without_announcement(&self, errors: &mut Errors) {
        let failed_indexes_changed = self.differs(|status| status.failed_indexes.clone());
        if (self.has_changed(FAILED) || failed_indexes_changed)
            && self.is(FAILED)
            && !self.is(FAILURE_TARGET)
        {
            let detail =
                "cannot set Failed=True condition without the FailureTarget=true condition";
            refuse_conditions(detail, errors);
        }
        if (self.has_changed(COMPLETE) || self.has_changed(SUCCESS_CRITERIA_MET))
            && self.is(COMPLETE)
            && !self.is(SUCCESS_CRITERIA_MET)
        {
            let detail =
                "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
            refuse_conditions(detail, errors);
        }
    }

    fn finished_with_leftovers(&self, errors: &mut Errors) {
        let status = &self.new.status;
        let finished_changed = self.has_finished_changed();
        if !status.is_finished() {
            return;
        }
        if (finished_changed || self.differs(|status| status.active)) && status.active > 0 {
            let detail = "active>0 is invalid for finished job";
            errors.push(FieldError::invalid(&STATUS.child("active"), status.active, detail));
        }
        let start_changed = self.differs(|status| status.start_time);
        let needs_start = (finished_changed || start_changed) && !self.never_had_to_start();
        if needs_start && status.start_time.is_none() {
            let detail = "startTime is required for finished job";
            errors.push(FieldError::required(&STATUS.child("startTime"), detail));
        }
        let uncounted_changed = self.differs(|status| status.uncounted_terminated_pods.clone());
        let leftovers = status.uncounted_terminated_pods.as_ref().filter(|pods| !pods.is_empty());
        if let Some(pods) = leftovers
            && (finished_changed || uncounted_changed)
        {
            let path = STATUS.child("uncountedTerminatedPods");
            let value = super::job::internal(pods, "UncountedTerminatedPods");
            errors.push(FieldError::invalid(&path, value, "must be empty for finished job"));
        }
    }

    /// A suspended Job with zero completions completes before it starts.
    fn never_had_to_start(&self) -> bool {
        self.new.spec.is_suspended() && self.new.spec.completions == Some(0)
    }

    fn index_sets(&self, errors: &mut Errors) {
        let spec = &self.new.spec;
        let status = &self.new.status;
        let completed_changed = self.differs(|status| status.completed_indexes.clone());
        let failed_changed = self.differs(|status| status.failed_indexes.clone());
        let completed = STATUS.child("completedIndexes");
        let failed = STATUS.child("failedIndexes");
        if let Some(completions) = spec.completions
            && completed_changed
        {
            let text = &status.completed_indexes;
            readable("completedIndexes", text, completions, &completed, errors);
        }
        if let Some(completions) = spec.completions
            && let Some(text) = &status.failed_indexes
            && failed_changed
            && spec.backoff_limit_per_index.is_some()
        {
            readable("failedIndexes", text, completions, &failed, errors);
        }
        if completed_changed && !status.completed_indexes.is_empty() && !spec.is_indexed() {
            let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
            errors.push(FieldError::invalid(&completed, &status.completed_indexes, detail));
        }
        let Some(text) = &status.failed_indexes else {
            return;
        };
        if failed_changed && spec.backoff_limit_per_index.is_none() {
            let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
            errors.push(FieldError::invalid(&failed, text, detail));
        }
        if let Some(completions) = spec.completions
            && (completed_changed || failed_changed)
        {
            disjoint(&status.completed_indexes, text, completions, errors);
        }
    }

    fn terminating_and_ready(&self, errors: &mut Errors) {
        let status = &self.new.status;
        let terminating_changed = self.differs(|status| status.terminating);
        if let Some(terminating) = status.terminating.filter(|count| *count > 0)
            && status.is_finished()
            && (self.has_finished_changed() || terminating_changed)
        {
            let path = STATUS.child("terminating");
            let detail = "terminating>0 is invalid for finished job";
            errors.push(FieldError::invalid(&path, terminating, detail));
        }
        let changed = self.differs(|status| (status.ready, status.active));
        if let Some(ready) = status.ready.filter(|ready| changed && *ready > status.active) {
            let detail = "cannot set more ready pods than active";
            errors.push(FieldError::invalid(&STATUS.child("ready"), ready, detail));
        }
    }

    fn success_criteria(&self, errors: &mut Errors) {
        let is_met = self.is(SUCCESS_CRITERIA_MET);
        if is_met && self.is(FAILED) {
            let detail = "cannot set SuccessCriteriaMet=True and Failed=true conditions";
            refuse_conditions(detail, errors);
        }
        if is_met && self.is(FAILURE_TARGET) {
            let detail = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
            refuse_conditions(detail, errors);
        }
        if self.new.spec.success_policy.is_some() && !is_met && self.is(COMPLETE) {
            let detail = "cannot set Complete=True for Job with SuccessPolicy unless \
             SuccessCriteriaMet=True";
            refuse_conditions(detail, errors);
        }
    }

    /// Rejects the removal of conditions and times that are final.
    fn history(&self, errors: &mut Errors) {
        for kind in [FAILED, COMPLETE, FAILURE_TARGET] {
            if self.was(kind) && !self.is(kind) {
                let detail = format!("cannot disable the terminal {kind}=True condition");
                refuse_conditions(detail, errors);
            }
        }
        self.decreasing_counters(errors);
        self.changed_times(errors);
        if self.was(SUCCESS_CRITERIA_MET) && !self.is(SUCCESS_CRITERIA_MET) {
            refuse_conditions("cannot disable the SuccessCriteriaMet=True condition", errors);
        }
        if self.was(COMPLETE) && !self.was(SUCCESS_CRITERIA_MET) && self.is(SUCCESS_CRITERIA_MET) {
            let detail =
                "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
            refuse_conditions(detail, errors);
        }
    }

    fn decreasing_counters(&self, errors: &mut Errors) {
        let new = &self.new.status;
        let old = &self.old.status;
        if new.failed < old.failed {
            let detail = "cannot decrease the failed counter";
            errors.push(FieldError::invalid(&STATUS.child("failed"), new.failed, detail));
        }
        let spec = &self.new.spec;
        // An elastic Indexed Job may shrink, which reduces the completed indexes.
        let is_elastic = spec.is_indexed() && spec.completions == spec.parallelism;
        if new.succeeded < old.succeeded && !is_elastic {
            let detail = "cannot decrease the succeeded counter";
            errors.push(FieldError::invalid(&STATUS.child("succeeded"), new.succeeded, detail));
        }
    }

    fn changed_times(&self, errors: &mut Errors) {
        let new = &self.new.status;
        let old = &self.old.status;
        if let (Some(new), Some(old)) = (new.completion_time, old.completion_time)
            && new != old
        {
            let path = STATUS.child("completionTime");
            errors.push(FieldError::invalid(&path, BadValue::json(&new), "field is immutable"));
        }
        let is_false = |kind| new.condition(kind).is_some_and(|c| c.status == "False");
        let is_resuming = self.was(SUSPENDED) && is_false(SUSPENDED);
        let changed = old.start_time.is_some() && old.start_time != new.start_time;
        if changed && !is_resuming && !self.new.spec.is_suspended() {
            let detail = "field is immutable for unsuspended job once set";
            let value = BadValue::json(&new.start_time);
            errors.push(FieldError::invalid(&STATUS.child("startTime"), value, detail));
        }
    }
}

fn readable(name: &str, text: &str, completions: i32, path: &FieldPath<'_>, errors: &mut Errors) {
    if let Err(why) = indexes::parse(text, completions) {
        let detail = format!("error parsing {name}: {why}");
        errors.push(FieldError::invalid(path, text, detail));
    }
}

fn disjoint(completed: &str, failed: &str, completions: i32, errors: &mut Errors) {
    let parse = |text| indexes::parse(text, completions).unwrap_or_default();
    if let Some(index) = indexes::find_overlap(&parse(completed), &parse(failed)) {
        let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
        errors.push(FieldError::invalid(&STATUS.child("failedIndexes"), failed, detail));
    }
}
