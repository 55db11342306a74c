//! `successPolicy`: when an Indexed Job has succeeded although not every index did.

use punctual_api::job::{SuccessPolicy, SuccessPolicyRule};

use super::indexes::Indexes;

/// The position of the first rule that holds.
pub(super) fn rule_met(
    policy: Option<&SuccessPolicy>,
    succeeded: &Indexes,
    index_limit: u32,
) -> Option<usize> {
    if succeeded.is_empty() {
        return None;
    }
    policy?.rules.iter().position(|rule| holds(rule, succeeded, index_limit))
}

fn holds(rule: &SuccessPolicyRule, succeeded: &Indexes, index_limit: u32) -> bool {
    let enough = |count: u64| {
        rule.succeeded_count.is_some_and(|wanted| count >= u64::from(wanted.max(0).unsigned_abs()))
    };
    let Some(text) = &rule.succeeded_indexes else { return enough(succeeded.len()) };
    let wanted = Indexes::parse(text, index_limit);
    let met = wanted.overlap(succeeded);
    // A rule that names no index of the Job can never be met, whatever the count.
    !wanted.is_empty() && (met == wanted.len() || enough(met))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_holds_once_its_indexes_or_its_count_are_reached() {
        for (rules, succeeded, expected) in [
            (r#"[]"#, "0-4", None),
            (r#"[{"succeededIndexes":"0"}]"#, "", None),
            (r#"[{"succeededIndexes":"0"}]"#, "1-4", None),
            (r#"[{"succeededIndexes":"0"}]"#, "0", Some(0)),
            (r#"[{"succeededIndexes":"0,2-3"}]"#, "0,2", None),
            (r#"[{"succeededIndexes":"0,2-3"}]"#, "0-3", Some(0)),
            (r#"[{"succeededIndexes":"0-3","succeededCount":2}]"#, "0,4", None),
            (r#"[{"succeededIndexes":"0-3","succeededCount":2}]"#, "0,3", Some(0)),
            (r#"[{"succeededCount":3}]"#, "0,4", None),
            (r#"[{"succeededCount":3}]"#, "0,2,4", Some(0)),
            (r#"[{"succeededIndexes":"x","succeededCount":0}]"#, "0-4", None),
            (r#"[{"succeededIndexes":"7"},{"succeededIndexes":"1"}]"#, "1", Some(1)),
            (r#"[{}]"#, "0-4", None),
        ] {
            let policy: SuccessPolicy =
                serde_json::from_str(&format!(r#"{{"rules":{rules}}}"#)).unwrap();
            let met = rule_met(Some(&policy), &Indexes::parse(succeeded, 5), 5);
            assert_eq!(met, expected, "{rules} {succeeded}");
        }
        assert_eq!(rule_met(None, &Indexes::parse("0", 5), 5), None);
    }
}
