//! Tests that one user cannot lock out others.

use axum::body::Body;
use futures::FutureExt as _;
use http::Method;
use punctual_server::ServerLimits;
use serde_json::json;

use crate::client::{CRON_JOBS, TestClient, TestServer, VIEW, cron_job};

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// A request whose body never ends.
fn unfinished(client: &TestClient) -> http::Request<Body> {
    let body = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    client.request(Method::POST, REVIEWS).body(body).unwrap()
}

#[tokio::test]
async fn unfinished_bodies_of_a_user_do_not_lock_out_administrators_and_health_checks() {
    let limits =
        ServerLimits { requests_max: 100, concurrent_bodies_max: 50, ..ServerLimits::default() };
    let server = TestServer::limited(limits).await;
    let viewer = server.client(VIEW);
    let mut pending = Vec::new();
    let mut refused = 0;
    for _ in 0..1_000 {
        let mut request = Box::pin(viewer.send(unfinished(&viewer)));
        match (&mut request).now_or_never() {
            Some(response) => {
                assert_eq!(response.code, 429);
                refused += 1;
            }
            None => pending.push(request),
        }
    }
    assert_eq!((pending.len(), refused), (20, 980), "half of what is not reserved");
    assert_eq!(server.client("").get("/healthz").await.code, 200);
    let admin = server.admin();
    for index in 0..20 {
        let created = admin.post(CRON_JOBS, &cron_job(&format!("c{index}"))).await;
        assert_eq!(created.code, 201, "{}", created.text);
    }
    assert_eq!(viewer.get(CRON_JOBS).await.code, 200, "reads need no permit for a body");
    drop(pending);
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    assert_eq!(viewer.post(REVIEWS, &review).await.code, 201);
}

#[tokio::test]
async fn unread_responses_of_a_user_do_not_lock_out_administrators() {
    let limits = ServerLimits { requests_max: 50, ..ServerLimits::default() };
    let server = TestServer::limited(limits).await;
    let viewer = server.client(VIEW);
    let mut unread = Vec::new();
    let mut refused = 0;
    for _ in 0..100 {
        let request = viewer.request(Method::GET, CRON_JOBS).body(Body::empty()).unwrap();
        let response = tower::ServiceExt::oneshot(viewer.router.clone(), request).await.unwrap();
        refused += usize::from(response.status() == 429);
        unread.push(response);
    }
    assert_eq!(refused, 80, "a permit lasts until the response was read");
    assert_eq!(server.admin().get(CRON_JOBS).await.code, 200);
    drop(unread);
    assert_eq!(viewer.get(CRON_JOBS).await.code, 200);
}
