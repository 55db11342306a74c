//! Tests of the permissions of each role.

use axum::body::Body;
use http::Method;
use serde_json::json;

use crate::client::{CRON_JOBS, TestServer, VIEW, cron_job};

#[tokio::test]
async fn viewers_may_read_everything_but_secrets() {
    let server = TestServer::new().await;
    server.admin().post(CRON_JOBS, &cron_job("a")).await;
    let viewer = server.client(VIEW);
    assert_eq!(viewer.get(&format!("{CRON_JOBS}/a")).await.code, 200);
    assert_eq!(viewer.get("/metrics").await.code, 200);
    let refused = viewer.delete(&format!("{CRON_JOBS}/a")).await;
    assert_eq!(refused.code, 403);
    let message = "cronjobs.batch \"a\" is forbidden: User \"view\" cannot delete resource \
                   \"cronjobs\" in API group \"batch\" in the namespace \"default\"";
    assert_eq!(refused.body["message"], message);
    assert_eq!(viewer.get("/api/v1/namespaces/default/secrets").await.code, 403);
    assert_eq!(viewer.get("/api/v1/secrets?watch=true").await.code, 403);
}

#[tokio::test]
async fn self_subject_reviews_return_permissions_and_identity() {
    let server = TestServer::new().await;
    let review = |verb: &str| {
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": verb, "group": "batch", "resource": "cronjobs", "namespace": "n"}}})
    };
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    for (client, verb, allowed) in [
        (server.admin(), "create", true),
        (server.client(VIEW), "list", true),
        (server.client(VIEW), "create", false),
    ] {
        let response = client.post(path, &review(verb)).await;
        assert_eq!(
            (response.code.as_u16(), &response.body["status"]["allowed"]),
            (201, &json!(allowed))
        );
    }
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let response = server.client(VIEW).post(path, &review).await;
    assert_eq!(response.body["status"]["userInfo"]["username"], "view");
}

#[tokio::test]
async fn anonymous_users_may_read_only_health_and_version() {
    let server = TestServer::new().await;
    let anonymous = server.client("");
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
        assert_eq!(anonymous.get(path).await.code, 200, "{path}");
    }
    for path in ["/api", "/apis", "/metrics", "/openapi/v3", CRON_JOBS, "/nope"] {
        assert_eq!(anonymous.get(path).await.code, 403, "{path}");
    }
}

#[tokio::test]
async fn impersonation_is_refused() {
    let server = TestServer::new().await;
    let client = server.admin();
    for (name, value) in [("Impersonate-User", "x"), ("Impersonate-Group", "system:masters")] {
        let request = client.request(Method::GET, CRON_JOBS).header(name, value);
        let refused = client.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(refused.code, 403);
        let message = refused.body["message"].as_str().unwrap();
        assert!(message.contains("does not support impersonation"), "{message}");
    }
}
