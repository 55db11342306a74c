//! Roles: who may do what, and what others are told.

use serde_json::json;

use crate::client::{CRON_JOBS, Site, VIEW, cron_job};

#[tokio::test]
async fn a_viewer_reads_and_is_told_what_it_may_not_do() {
    let site = Site::new().await;
    site.admin().post(CRON_JOBS, &cron_job("a")).await;
    let viewer = site.client(VIEW);
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
async fn somebody_is_told_what_they_may_do_and_who_they_are() {
    let site = Site::new().await;
    let review = |verb: &str| {
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": verb, "group": "batch", "resource": "cronjobs", "namespace": "n"}}})
    };
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    for (client, verb, allowed) in [
        (site.admin(), "create", true),
        (site.client(VIEW), "list", true),
        (site.client(VIEW), "create", false),
    ] {
        let answer = client.post(path, &review(verb)).await;
        assert_eq!(
            (answer.code.as_u16(), &answer.body["status"]["allowed"]),
            (201, &json!(allowed))
        );
    }
    let who = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer =
        site.client(VIEW).post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &who).await;
    assert_eq!(answer.body["status"]["userInfo"]["username"], "view");
}

#[tokio::test]
async fn strangers_see_health_and_version() {
    let site = Site::new().await;
    let nobody = site.client("");
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
        assert_eq!(nobody.get(path).await.code, 200, "{path}");
    }
    for path in ["/api", "/apis", "/metrics", "/openapi/v3", CRON_JOBS, "/nope"] {
        assert_eq!(nobody.get(path).await.code, 403, "{path}");
    }
}
