//! `podFailurePolicy`: what the failure of a Pod means. The first rule that applies decides.

use punctual_api::job::{OnExitCodes, OnPodCondition, PodFailurePolicy, PodFailurePolicyRule};

use super::pod_view::{ContainerExit, PodView};

/// What the failure of a Pod means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FailureAction {
    /// It counts, as any failure does.
    Count,
    /// It does not count.
    Ignore,
    /// The index of the Pod has failed, however many failures it may have.
    FailIndex,
    /// The Job has failed. What applied, for the message.
    FailJob {
        /// Position of the rule.
        rule: usize,
        /// What the rule saw.
        cause: Cause,
    },
}

/// What a rule saw in a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A container that ended so.
    ContainerExit(ContainerExit),
    /// A condition of that type.
    Condition(String),
}

/// What the policy says of a failed Pod.
pub(super) fn meaning(policy: Option<&PodFailurePolicy>, pod: &PodView) -> FailureAction {
    let rules = policy.map(|policy| policy.rules.as_slice()).unwrap_or_default();
    let meanings = rules.iter().enumerate().filter_map(|(at, rule)| {
        let cause = cause(rule, pod)?;
        match rule.action.as_str() {
            "FailJob" => Some(FailureAction::FailJob { rule: at, cause }),
            "FailIndex" => Some(FailureAction::FailIndex),
            "Ignore" => Some(FailureAction::Ignore),
            "Count" => Some(FailureAction::Count),
            // A word of a later version: the rule is as if it were not there.
            _ => None,
        }
    });
    meanings.into_iter().next().unwrap_or(FailureAction::Count)
}

/// The sentence about a Pod that failed its Job.
pub(super) fn message(namespace: &str, pod: &PodView, rule: usize, cause: &Cause) -> String {
    let name = &pod.name;
    match cause {
        Cause::ContainerExit(ContainerExit { container, code }) => format!(
            "Container {container} for pod {namespace}/{name} failed with exit code {code} \
             matching FailJob rule at index {rule}"
        ),
        Cause::Condition(kind) => format!(
            "Pod {namespace}/{name} has condition {kind} matching FailJob rule at index {rule}"
        ),
    }
}

fn cause(rule: &PodFailurePolicyRule, pod: &PodView) -> Option<Cause> {
    match &rule.on_exit_codes {
        Some(codes) => {
            let exit = pod.exits.iter().find(|exit| applies(codes, exit))?;
            Some(Cause::ContainerExit(exit.clone()))
        }
        None => {
            let (kind, _) = pod.conditions.iter().find(|(kind, status)| {
                rule.on_pod_conditions.iter().any(|pattern| matches(pattern, kind, status))
            })?;
            Some(Cause::Condition(kind.clone()))
        }
    }
}

fn applies(codes: &OnExitCodes, exit: &ContainerExit) -> bool {
    let is_listed = codes.values.contains(&exit.code);
    codes.container_name.as_ref().is_none_or(|name| *name == exit.container)
        && match codes.operator.as_str() {
            "In" => is_listed,
            "NotIn" => !is_listed,
            _ => false,
        }
}

fn matches(pattern: &OnPodCondition, kind: &str, status: &str) -> bool {
    pattern.condition_type == kind && pattern.status == status
}

#[cfg(test)]
mod tests {
    use punctual_api::Pod;

    use super::*;

    fn check(rules: &str, status: &str, expected: FailureAction) {
        let policy: PodFailurePolicy = serde_json::from_str(rules).unwrap();
        let pod: Pod = serde_json::from_str(&format!(r#"{{"status":{status}}}"#)).unwrap();
        assert_eq!(meaning(Some(&policy), &PodView::from_pod(&pod)), expected, "{rules} {status}");
    }

    fn exit(container: &str, code: i32) -> Cause {
        Cause::ContainerExit(ContainerExit { container: container.to_owned(), code })
    }

    const TWO_EXITS: &str = r#"{"containerStatuses":[
        {"name":"a","state":{"terminated":{"exitCode":0}}},
        {"name":"b","state":{"terminated":{"exitCode":7}}}],
        "initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":9}}}]}"#;

    #[test]
    fn exit_codes_are_matched_by_operator_container_and_order_of_rules() {
        for (rules, expected) in [
            (r#"{"rules":[]}"#, FailureAction::Count),
            (
                r#"{"rules":[{"action":"FailJob","onExitCodes":{"operator":"In","values":[7]}}]}"#,
                FailureAction::FailJob { rule: 0, cause: exit("b", 7) },
            ),
            (
                r#"{"rules":[{"action":"Ignore","onExitCodes":{"operator":"In","values":[8]}},
                    {"action":"FailJob","onExitCodes":{"operator":"In","values":[9]}}]}"#,
                FailureAction::FailJob { rule: 1, cause: exit("i", 9) },
            ),
            (
                r#"{"rules":[{"action":"Ignore","onExitCodes":
                    {"containerName":"a","operator":"In","values":[7]}}]}"#,
                FailureAction::Count,
            ),
            (
                r#"{"rules":[{"action":"FailIndex","onExitCodes":{"operator":"NotIn","values":[7]}}]}"#,
                FailureAction::FailIndex,
            ),
            (
                r#"{"rules":[{"action":"Ignore","onExitCodes":{"operator":"NotIn","values":[7,9]}}]}"#,
                FailureAction::Count,
            ),
            (
                r#"{"rules":[{"action":"Count","onExitCodes":{"operator":"In","values":[7]}},
                    {"action":"Ignore","onExitCodes":{"operator":"In","values":[7]}}]}"#,
                FailureAction::Count,
            ),
            (
                r#"{"rules":[{"action":"Later","onExitCodes":{"operator":"In","values":[7]}},
                    {"action":"Ignore","onExitCodes":{"operator":"In","values":[7]}}]}"#,
                FailureAction::Ignore,
            ),
            (
                r#"{"rules":[{"action":"Ignore","onExitCodes":{"operator":"Near","values":[7]}}]}"#,
                FailureAction::Count,
            ),
        ] {
            check(rules, TWO_EXITS, expected);
        }
    }

    #[test]
    fn a_container_that_ended_well_is_matched_by_no_rule() {
        let rules = r#"{"rules":[{"action":"Ignore","onExitCodes":
            {"containerName":"a","operator":"NotIn","values":[1]}}]}"#;
        check(rules, TWO_EXITS, FailureAction::Count);
    }

    #[test]
    fn conditions_are_matched_by_type_and_status() {
        let rules = r#"{"rules":[{"action":"FailJob","onPodConditions":
            [{"type":"DisruptionTarget","status":"True"},{"type":"Config","status":"False"}]}]}"#;
        for (status, expected) in [
            (r#"{"conditions":[{"type":"DisruptionTarget","status":"False"}]}"#, None),
            (r#"{"conditions":[{"type":"Config","status":"False"}]}"#, Some("Config")),
            (
                r#"{"conditions":[{"type":"DisruptionTarget","status":"True"}]}"#,
                Some("DisruptionTarget"),
            ),
        ] {
            let cause = expected.map(|kind| Cause::Condition(kind.to_owned()));
            let expected = cause
                .map_or(FailureAction::Count, |cause| FailureAction::FailJob { rule: 0, cause });
            check(rules, status, expected);
        }
    }

    #[test]
    fn the_sentence_names_what_the_rule_saw() {
        let pod: Pod = serde_json::from_str(r#"{"metadata":{"name":"p"}}"#).unwrap();
        let pod = PodView::from_pod(&pod);
        assert_eq!(
            message("ns", &pod, 2, &exit("c", 42)),
            "Container c for pod ns/p failed with exit code 42 matching FailJob rule at index 2"
        );
        assert_eq!(
            message("ns", &pod, 0, &Cause::Condition("DisruptionTarget".to_owned())),
            "Pod ns/p has condition DisruptionTarget matching FailJob rule at index 0"
        );
    }
}
