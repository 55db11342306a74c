//! Which extensions to Kubernetes' CronJob a server accepts.

/// What a server accepts in Kubernetes' own kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Accepts our extensions: `jitter`, `CatchUp`, `@at`.
    #[default]
    Punctual,
    /// Accepts only what kube-apiserver accepts, with its error messages.
    Strict,
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
