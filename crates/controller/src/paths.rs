//! Where Jobs and Pods are.

pub(crate) fn jobs_path(namespace: &str) -> String {
    format!("/apis/batch/v1/namespaces/{namespace}/jobs")
}

pub(crate) fn job_path(namespace: &str, name: &str) -> String {
    format!("{}/{name}", jobs_path(namespace))
}

pub(crate) fn pods_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

pub(crate) fn pod_path(namespace: &str, name: &str) -> String {
    format!("{}/{name}", pods_path(namespace))
}
