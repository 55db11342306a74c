//! `podFailurePolicy`: the action for a failed Pod. The first matching rule decides.

use punctual_api::job::{OnExitCodes, OnPodCondition, PodFailurePolicy, PodFailurePolicyRule};

use super::pod_view::{ContainerExit, PodView};

/// The action for a failed Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FailureAction {
    /// The failure counts towards the backoff limit.
    Count,
    /// The failure does not count.
    Ignore,
    /// The index of the Pod fails, regardless of its backoff limit.
    FailIndex,
    /// The Job fails.
    FailJob {
        /// The position of the rule, for the message.
        rule: usize,
        /// What the rule matched, for the message.
        matched: RuleMatch,
    },
}

/// What a rule matched in a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RuleMatch {
    /// The exit code of a container.
    ContainerExit(ContainerExit),
    /// A condition of this type.
    Condition(String),
}

/// Returns the action of a policy for a failed Pod. Without a matching rule the failure counts.
pub(super) fn find_action(policy: Option<&PodFailurePolicy>, pod: &PodView) -> FailureAction {
    let rules = policy.map(|policy| policy.rules.as_slice()).unwrap_or_default();
    let actions = rules.iter().enumerate().filter_map(|(at, rule)| {
        let matched = match_rule(rule, pod)?;
        match rule.action.as_str() {
            "FailJob" => Some(FailureAction::FailJob { rule: at, matched }),
            "FailIndex" => Some(FailureAction::FailIndex),
            "Ignore" => Some(FailureAction::Ignore),
            "Count" => Some(FailureAction::Count),
            // Ignore rules whose action a later version of Kubernetes may define.
            _ => None,
        }
    });
    actions.into_iter().next().unwrap_or(FailureAction::Count)
}

/// Returns Kubernetes' message for a Pod that failed its Job.
pub(super) fn failure_message(
    namespace: &str,
    pod: &PodView,
    rule: usize,
    matched: &RuleMatch,
) -> String {
    let name = &pod.name;
    match matched {
        RuleMatch::ContainerExit(ContainerExit { container, code }) => format!(
            "Container {container} for pod {namespace}/{name} failed with exit code {code} \
             matching FailJob rule at index {rule}"
        ),
        RuleMatch::Condition(condition_type) => format!(
            "Pod {namespace}/{name} has condition {condition_type} matching FailJob rule at index {rule}"
        ),
    }
}

fn match_rule(rule: &PodFailurePolicyRule, pod: &PodView) -> Option<RuleMatch> {
    match &rule.on_exit_codes {
        Some(codes) => {
            let exit = pod.exits.iter().find(|exit| matches_exit(codes, exit))?;
            Some(RuleMatch::ContainerExit(exit.clone()))
        }
        None => {
            let (condition_type, _) = pod.conditions.iter().find(|(condition_type, status)| {
                rule.on_pod_conditions
                    .iter()
                    .any(|pattern| matches_condition(pattern, condition_type, status))
            })?;
            Some(RuleMatch::Condition(condition_type.clone()))
        }
    }
}

fn matches_exit(codes: &OnExitCodes, exit: &ContainerExit) -> bool {
    let is_listed = codes.values.contains(&exit.code);
    codes.container_name.as_ref().is_none_or(|name| *name == exit.container)
        && match codes.operator.as_str() {
            "In" => is_listed,
            "NotIn" => !is_listed,
            _ => false,
        }
}

fn matches_condition(pattern: &OnPodCondition, condition_type: &str, status: &str) -> bool {
    pattern.condition_type == condition_type && pattern.status == status
}

#[cfg(test)]
mod tests {
    use punctual_api::Pod;

    use super::*;

    fn check(rules: &str, status: &str, expected: FailureAction) {
        let policy: PodFailurePolicy = serde_json::from_str(rules).unwrap();
        let pod: Pod = serde_json::from_str(&format!(r#"{{"status":{status}}}"#)).unwrap();
        assert_eq!(
            find_action(Some(&policy), &PodView::from_pod(&pod)),
            expected,
            "{rules} {status}"
        );
    }

    fn exit(container: &str, code: i32) -> RuleMatch {
        RuleMatch::ContainerExit(ContainerExit { container: container.to_owned(), code })
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
                FailureAction::FailJob { rule: 0, matched: exit("b", 7) },
            ),
            (
                r#"{"rules":[{"action":"Ignore","onExitCodes":{"operator":"In","values":[8]}},
                    {"action":"FailJob","onExitCodes":{"operator":"In","values":[9]}}]}"#,
                FailureAction::FailJob { rule: 1, matched: exit("i", 9) },
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
    fn no_rule_matches_a_container_that_succeeded() {
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
            let matched = expected.map(|kind| RuleMatch::Condition(kind.to_owned()));
            let expected = matched.map_or(FailureAction::Count, |matched| FailureAction::FailJob {
                rule: 0,
                matched,
            });
            check(rules, status, expected);
        }
    }

    #[test]
    fn the_message_names_what_the_rule_matched() {
        let pod: Pod = serde_json::from_str(r#"{"metadata":{"name":"p"}}"#).unwrap();
        let pod = PodView::from_pod(&pod);
        assert_eq!(
            failure_message("ns", &pod, 2, &exit("c", 42)),
            "Container c for pod ns/p failed with exit code 42 matching FailJob rule at index 2"
        );
        assert_eq!(
            failure_message("ns", &pod, 0, &RuleMatch::Condition("DisruptionTarget".to_owned())),
            "Pod ns/p has condition DisruptionTarget matching FailJob rule at index 0"
        );
    }
}
