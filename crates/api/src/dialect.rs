//! Whether a server accepts our extensions to Kubernetes' CronJob.

/// Whether a server accepts, in Kubernetes' own kinds, fields and values that only Punctual has.
/// Operators choose it with `--dialect` of `punctual up` and `punctual serve`, and with `punctual validate
/// --strict`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Accepts our extensions, such as `spec.jitter`, the concurrency policy `CatchUp` (run all pending slots
    /// in order) and the schedule `@at` (run once).
    #[default]
    Punctual,
    /// Accepts only what kube-apiserver accepts, with its error messages.
    Kubernetes,
}

impl Dialect {
    /// Returns the dialect for a kind. ScheduledJob always has our extensions.
    pub fn for_kind(self, kind: crate::CronJobKind) -> Dialect {
        match kind {
            crate::CronJobKind::ScheduledJob => Dialect::Punctual,
            crate::CronJobKind::BatchV1 | crate::CronJobKind::BatchV1Beta1 => self,
        }
    }
}
