//! `successPolicy`: rules by which an Indexed Job succeeds before all its indexes have succeeded.

use punctual_api::job::{SuccessPolicy, SuccessPolicyRule};

use super::indexes::Indexes;

/// Returns the position of the first rule that is met.
pub(super) fn find_met_rule(
    policy: Option<&SuccessPolicy>,
    succeeded: &Indexes,
    index_limit: u32,
) -> Option<usize> {
    if succeeded.is_empty() {
        return None;
    }
    policy?.rules.iter().position(|rule| is_met(rule, succeeded, index_limit))
}

fn is_met(rule: &SuccessPolicyRule, succeeded: &Indexes, index_limit: u32) -> bool {
    let is_enough = |count: u64| {
        rule.succeeded_count.is_some_and(|wanted| count >= u64::from(wanted.max(0).unsigned_abs()))
    };
    let Some(text) = &rule.succeeded_indexes else { return is_enough(succeeded.len()) };
    let wanted = Indexes::parse(text, index_limit);
    let met = wanted.intersection_len(succeeded);
    // A rule without a valid index is never met, even if its count is 0.
    !wanted.is_empty() && (met == wanted.len() || is_enough(met))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_met_when_its_indexes_or_its_count_are_reached() {
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
            let met = find_met_rule(Some(&policy), &Indexes::parse(succeeded, 5), 5);
            assert_eq!(met, expected, "{rules} {succeeded}");
        }
        assert_eq!(find_met_rule(None, &Indexes::parse("0", 5), 5), None);
    }
}
