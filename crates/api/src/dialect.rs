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
    pub fn for_flavor(self, flavor: crate::Flavor) -> Dialect {
        match flavor {
            crate::Flavor::ScheduledJob => Dialect::Punctual,
            crate::Flavor::BatchV1 | crate::Flavor::BatchV1Beta1 => self,
        }
    }
}
