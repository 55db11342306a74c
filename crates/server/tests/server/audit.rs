//! Tests of which requests the audit log records.

use std::path::Path;
use std::time::Duration;

use punctual_server::{AuditLevel, AuditLog};
use punctual_store::Options;
use serde_json::json;

use crate::client::TestServer;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// More reads than are recorded at once.
const READS: usize = 2_000;

/// Returns the log when it has a line with a text.
async fn read_until(path: &Path, text: &str) -> String {
    for _ in 0..500 {
        let log = std::fs::read_to_string(path).unwrap();
        if log.contains(text) {
            return log;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{} has no record of {text}", path.display());
}

#[tokio::test]
async fn a_query_cannot_keep_a_change_out_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let audit = AuditLog::to_file(&path, AuditLevel::Requests).unwrap();
    let server = TestServer::with(Options::default(), |config| config.audit = audit).await;
    let client = server.admin();
    for _ in 0..READS {
        client.get("/version").await;
    }
    let config_map = json!({"metadata": {"name": "a"}});
    let created = client.post(&format!("{CONFIG_MAPS}?x=/selfsubject"), &config_map).await;
    assert_eq!(created.code, 201, "{}", created.text);
    read_until(&path, "?x=/selfsubject").await;
    // A review is limited like a read, however its path is written.
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    for _ in 0..READS {
        let path = "/apis/authentication.k8s.io/v1/self%73ubjectreviews";
        assert_eq!(client.post(path, &review).await.code, 201);
    }
    client.delete(&format!("{CONFIG_MAPS}/a")).await;
    let log = read_until(&path, "\"verb\":\"delete\"").await;
    let reviews = log.matches("self%73ubjectreviews").count();
    assert!(reviews < READS / 2, "{reviews}");
}
