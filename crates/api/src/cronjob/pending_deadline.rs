//! `spec.pendingDeadlineSeconds`: how long a run may take until its first Pod is ready.
//!
//! A run whose image cannot be pulled never starts (kubernetes/kubernetes#76570). The status of a Job
//! shows only how many Pods are ready and how many ended, so a template with anything else that keeps a
//! started Pod from being ready cannot have this deadline.

use serde_json::Value;

use super::CronJob;
use crate::job::JobTemplateSpec;
use crate::pod::PodSpec;
use crate::well_known::annotations;

/// A field of the Job template that rules a pending deadline out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingDeadlineConflict {
    /// The path of the field below `spec.jobTemplate.spec.template.spec`.
    pub field: String,
    /// Why the field rules the deadline out.
    pub reason: &'static str,
}

impl CronJob {
    /// Returns the effective pending deadline: the field, else the annotation. Values below 1 count as
    /// absent.
    pub fn pending_deadline_seconds(&self) -> Option<i64> {
        let annotated =
            || self.metadata.annotation(annotations::PENDING_DEADLINE_SECONDS)?.trim().parse().ok();
        let seconds = self.spec.pending_deadline_seconds.or_else(annotated)?;
        (seconds > 0).then_some(seconds)
    }
}

/// Returns the fields of a Job template that rule a pending deadline out.
pub fn pending_deadline_conflicts(template: &JobTemplateSpec) -> Vec<PendingDeadlineConflict> {
    let pod = &template.spec.template.spec;
    let mut conflicts = probe_conflicts(pod);
    let mut add = |field: &str, reason| {
        conflicts.push(PendingDeadlineConflict { field: field.to_owned(), reason });
    };
    for (field, reason) in [
        ("readinessGates", "a Pod that has started is not ready until its readiness gates pass"),
        (
            "schedulingGates",
            "a Pod that waits for its scheduling gates looks like one that cannot start",
        ),
    ] {
        let gates = pod.extra.get(field).and_then(Value::as_array);
        if gates.is_some_and(|gates| !gates.is_empty()) {
            add(field, reason);
        }
    }
    if pod.restart_policy == "OnFailure" {
        let reason = "a container that is restarted looks like one that has not started; use Never";
        add("restartPolicy", reason);
    }
    conflicts
}

fn probe_conflicts(pod: &PodSpec) -> Vec<PendingDeadlineConflict> {
    let mut conflicts = Vec::new();
    for (list, index, container) in pod.containers_in_order() {
        let probes = [
            ("readinessProbe", container.readiness_probe.is_some()),
            ("startupProbe", container.startup_probe.is_some()),
        ];
        let set = probes.into_iter().filter(|(_, is_set)| *is_set);
        conflicts.extend(set.map(|(probe, _)| PendingDeadlineConflict {
            field: format!("{list}[{index}].{probe}"),
            reason: "a Pod that has started is not ready until its probes succeed",
        }));
    }
    conflicts
}
