//! The limit of open file descriptors, and how they are divided.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The number of descriptors that are kept for the store and for what the process always needs.
const BASE_RESERVE: u64 = 256;
/// The number of descriptors that are kept for each Pod that can run at a time.
const RESERVE_PER_POD: u64 = 4;
/// The limit that is assumed if the system has none.
const UNLIMITED: u64 = 1 << 20;

/// The file descriptors of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptors {
    /// The soft limit with which the process was started. Pods get the same.
    pub(crate) inherited_soft: Option<u64>,
    /// The number that the process can open.
    limit: u64,
}

impl Descriptors {
    /// Raises the soft limit to the hard limit. Clients must not be able to use up the descriptors
    /// that Pods and the store need, and the usual soft limit of 1,024 is low.
    pub(crate) fn raise_limit() -> Descriptors {
        let before = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: before.maximum, maximum: before.maximum };
        let limit = match setrlimit(Resource::Nofile, raised) {
            Ok(()) => before.maximum,
            Err(error) => {
                tracing::warn!(%error, "could not raise the limit of open files");
                before.current
            }
        };
        Descriptors { inherited_soft: before.current, limit: limit.unwrap_or(UNLIMITED) }
    }

    /// Returns how many connections and open logs clients can have together. The rest, at least half
    /// of the limit if that is low, is a reserve for the store and the Pods.
    pub(crate) fn for_clients(&self, max_pods: u32) -> usize {
        let reserve = BASE_RESERVE + RESERVE_PER_POD * u64::from(max_pods);
        let free = self.limit.saturating_sub(reserve).max(self.limit / 2);
        usize::try_from(free).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_is_kept_from_clients() {
        let descriptors = |limit| Descriptors { inherited_soft: None, limit };
        assert_eq!(descriptors(524_288).for_clients(110), 523_592);
        assert_eq!(descriptors(1_024).for_clients(110), 512);
        assert_eq!(descriptors(100).for_clients(110), 50);
    }
}
