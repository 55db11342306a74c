//! `spec.concurrencyPolicy`: the policies of Kubernetes, and `CatchUp`, which runs all pending
//! slots (scheduled times) in order.

use std::fmt;

/// What the controller does when a slot is due and an earlier run is active. The names are those of the
/// API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConcurrencyPolicy {
    /// Starts the run beside the active ones.
    #[default]
    Allow,
    /// Waits until no run is active or the deadline has passed.
    Forbid,
    /// Deletes the active run first.
    Replace,
    /// Our policy that runs all pending slots in order: waits until no run is active, and drops no slot.
    CatchUp,
}

impl ConcurrencyPolicy {
    /// All policies.
    pub const ALL: [ConcurrencyPolicy; 4] = [
        ConcurrencyPolicy::Allow,
        ConcurrencyPolicy::Forbid,
        ConcurrencyPolicy::Replace,
        ConcurrencyPolicy::CatchUp,
    ];

    /// Parses the value of the API field.
    pub fn parse(text: &str) -> Option<ConcurrencyPolicy> {
        ConcurrencyPolicy::ALL.into_iter().find(|policy| policy.to_string() == text)
    }

    /// Whether a slot waits until the previous run has ended.
    pub fn waits(self) -> bool {
        matches!(self, ConcurrencyPolicy::Forbid | ConcurrencyPolicy::CatchUp)
    }
}

impl fmt::Display for ConcurrencyPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_parsed_from_its_name() {
        for policy in ConcurrencyPolicy::ALL {
            assert_eq!(ConcurrencyPolicy::parse(&policy.to_string()), Some(policy));
        }
        assert_eq!(ConcurrencyPolicy::parse("allow"), None);
    }
}
