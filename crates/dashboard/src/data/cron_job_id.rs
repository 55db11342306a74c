//! Identifies a CronJob, in URLs and in the cache.

use std::fmt;

use punctual_api::{CronJobKind, names};
use punctual_client::resources::cron_jobs_of;
use punctual_views::CronJobSnapshot;

/// Identifies a CronJob.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CronJobId {
    pub(crate) kind: CronJobKind,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl CronJobId {
    /// Returns the ID of a CronJob that was read.
    pub(crate) fn of(snapshot: &CronJobSnapshot) -> CronJobId {
        CronJobId {
            kind: snapshot.kind(),
            namespace: snapshot.cron_job.metadata.namespace.clone(),
            name: snapshot.cron_job.metadata.name.clone(),
        }
    }

    /// Parses the parts of a URL. Names become parts of API paths, so they must be valid.
    pub(crate) fn from_parts(plural: &str, namespace: &str, name: &str) -> Option<CronJobId> {
        let kinds = [CronJobKind::BatchV1, CronJobKind::ScheduledJob];
        let kind = kinds.into_iter().find(|kind| kind.plural() == plural)?;
        let is_valid = is_object_name(namespace) && is_object_name(name);
        is_valid.then(|| CronJobId { kind, namespace: namespace.into(), name: name.into() })
    }

    /// Parses what [`CronJobId::to_string`] returns.
    pub(crate) fn parse(text: &str) -> Option<CronJobId> {
        let mut parts = text.splitn(3, '/');
        CronJobId::from_parts(parts.next()?, parts.next()?, parts.next()?)
    }

    /// Returns the path of the page.
    pub(crate) fn path(&self) -> String {
        format!("/{self}")
    }

    /// Returns the path of the object in the Kubernetes API.
    pub(crate) fn api_path(&self) -> String {
        cron_jobs_of(self.kind).object_path(&self.namespace, &self.name)
    }
}

impl fmt::Display for CronJobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.kind.plural(), self.namespace, self.name)
    }
}

/// Whether a text is a valid name, so that it cannot change the meaning of a path.
pub(crate) fn is_object_name(text: &str) -> bool {
    names::check_dns_subdomain(text).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written_and_names_cannot_change_paths() {
        let id = CronJobId::parse("scheduledjobs/shop/sync.eu").unwrap();
        assert_eq!((id.kind, id.name.as_str()), (CronJobKind::ScheduledJob, "sync.eu"));
        assert_eq!(CronJobId::parse(&id.to_string()), Some(id.clone()));
        assert_eq!(id.path(), "/scheduledjobs/shop/sync.eu");
        for text in [
            "pods/a/b",
            "cronjobs/a",
            "cronjobs/../b",
            "cronjobs/a/b/c",
            "cronjobs/a/b?x",
            "cronjobs//b",
        ] {
            assert_eq!(CronJobId::parse(text), None, "{text}");
        }
    }
}
