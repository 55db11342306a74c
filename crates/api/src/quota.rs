//! Which objects each key of a ResourceQuota counts. An example of a key is `count/jobs.batch`.
//!
//! Only numbers of objects are limited. Requests and limits of compute resources and storage are
//! accepted in a quota, with a warning, and not enforced.

/// The resources whose objects can be counted: every namespaced resource of the server except
/// Events, which Kubernetes does not count either.
pub const COUNTED_RESOURCES: [&str; 10] = [
    "configmaps",
    "cronjobs.batch",
    "jobs.batch",
    "leases.coordination.k8s.io",
    "pods",
    "resourcequotas",
    "runrequests.punctual.dev",
    "scheduledjobs.punctual.dev",
    "secrets",
    "serviceaccounts",
];

/// The resources that have a key without the prefix `count/`.
const UNPREFIXED: [&str; 4] = ["configmaps", "pods", "resourcequotas", "secrets"];

/// The objects that a key of a quota counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedObjects {
    /// The plural name, with the group if it is not the core group, such as `jobs.batch`.
    pub resource: &'static str,
    /// Whether finished Pods are not counted.
    pub excludes_finished: bool,
}

impl CountedObjects {
    /// Parses a key such as `count/jobs.batch` or `pods`. Returns `None` for a key that is not
    /// enforced.
    pub fn parse(key: &str) -> Option<CountedObjects> {
        let find = |names: &[&'static str], name: &str| {
            names.iter().copied().find(|resource| *resource == name)
        };
        match key.strip_prefix("count/") {
            Some(name) => {
                let resource = find(&COUNTED_RESOURCES, name)?;
                Some(CountedObjects { resource, excludes_finished: false })
            }
            None => {
                let resource = find(&UNPREFIXED, key)?;
                Some(CountedObjects { resource, excludes_finished: resource == "pods" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_the_objects_that_they_count() {
        let parsed = |key: &str| {
            CountedObjects::parse(key).map(|counted| (counted.resource, counted.excludes_finished))
        };
        assert_eq!(parsed("count/jobs.batch"), Some(("jobs.batch", false)));
        assert_eq!(parsed("count/pods"), Some(("pods", false)));
        assert_eq!(parsed("pods"), Some(("pods", true)));
        assert_eq!(parsed("secrets"), Some(("secrets", false)));
        for key in ["jobs.batch", "count/jobs", "count/events", "count/", "requests.cpu", ""] {
            assert_eq!(parsed(key), None, "{key}");
        }
    }
}
