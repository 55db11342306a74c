//! Whose CronJob is spoken.

/// What a server accepts in Kubernetes' own kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Our fields too: `jitter`, `CatchUp`, `@at`.
    #[default]
    Punctual,
    /// Only what kube-apiserver accepts, refused in its words.
    Strict,
}

impl Dialect {
    /// The dialect for a kind: our own kind always has our fields.
    pub fn for_kind(self, flavor: crate::CronJobKind) -> Dialect {
        match flavor {
            crate::CronJobKind::ScheduledJob => Dialect::Punctual,
            crate::CronJobKind::BatchV1 | crate::CronJobKind::BatchV1Beta1 => self,
        }
    }
}
