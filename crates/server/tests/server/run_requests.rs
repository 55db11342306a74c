//! Tests of RunRequests: how they are created, changed, selected and shown.

use http::Method;
use serde_json::{Value, json};

use crate::client::{TestClient, TestResponse, TestServer, VIEW};

const REQUESTS: &str = "/apis/punctual.dev/v1/namespaces/default/runrequests";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn request(name: &str, target: &str) -> Value {
    json!({"apiVersion": "punctual.dev/v1", "kind": "RunRequest", "metadata": {"name": name},
        "spec": {"target": {"name": target}, "slots": ["2026-11-01T02:00:00Z"]}})
}

async fn create(client: &TestClient, name: &str, target: &str) -> TestResponse {
    let created = client.post(REQUESTS, &request(name, target)).await;
    assert_eq!(created.code, 201, "{}", created.text);
    created
}

#[tokio::test]
async fn both_dialects_serve_run_requests() {
    for server in [TestServer::new().await, TestServer::strict().await] {
        let client = server.admin();
        let mut generated = request("", "backup");
        generated["metadata"] = json!({"generateName": "backup-"});
        generated["status"] = json!({"total": 3});
        let created = client.post(REQUESTS, &generated).await.body;
        assert!(created["metadata"]["name"].as_str().unwrap().starts_with("backup-"));
        assert_eq!(created["metadata"]["generation"], 1);
        assert_eq!(created["spec"]["target"], json!({"kind": "CronJob", "name": "backup"}));
        assert_eq!(created["status"], json!({}));
        let listed = client.get("/apis/punctual.dev/v1/runrequests").await.body;
        assert_eq!(listed["kind"], "RunRequestList");
        assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_request_can_be_suspended_but_not_redirected() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "r", "backup").await;
    let path = format!("{REQUESTS}/r");
    let patch = json!({"spec": {"suspend": true, "parallelism": 5, "ttlSecondsAfterFinished": 1}});
    let suspended = client.merge(&path, &patch).await;
    assert_eq!(
        (suspended.code.as_u16(), &suspended.body["metadata"]["generation"]),
        (200, &json!(2))
    );
    for spec in [
        json!({"target": {"name": "other"}}),
        json!({"target": {"kind": "ScheduledJob"}}),
        json!({"slots": ["2026-11-01T03:00:00Z"]}),
        json!({"runs": "All"}),
        json!({"overrides": {"containers": []}}),
    ] {
        let refused = client.merge(&path, &json!({"spec": spec})).await;
        assert_eq!(refused.code, 422, "{spec}");
        assert!(refused.text.contains("field is immutable"), "{}", refused.text);
    }
    let wrong = client.post(REQUESTS, &json!({"metadata": {"name": "w"}, "spec": {}})).await;
    let message = "RunRequest.punctual.dev \"w\" is invalid: [spec.target.name: Required value, spec: \
                   Required value: must specify one of: `now`, `slots`, or `from` and `to`]";
    assert_eq!(wrong.body["message"], message);
}

#[tokio::test]
async fn server_side_apply_owns_what_it_sets() {
    let server = TestServer::new().await;
    let client = server.admin();
    let path = format!("{REQUESTS}/r?fieldManager=");
    let apply = |manager: &str, object: Value| {
        let path = format!("{path}{manager}");
        let client = client.clone();
        async move { client.write(Method::PATCH, &path, "application/apply-patch+yaml", &object).await }
    };
    let env = |value: &str| {
        let mut object = request("r", "backup");
        let env = json!([{"name": "A", "value": value}]);
        object["spec"]["overrides"] = json!({"containers": [{"name": "main", "env": env}]});
        object
    };
    assert_eq!(apply("one", env("x")).await.code, 201);
    assert_eq!(apply("one", env("x")).await.code, 200);
    assert_eq!(apply("two", env("y")).await.code, 409);
    let suspend = json!({"apiVersion": "punctual.dev/v1", "kind": "RunRequest",
        "metadata": {"name": "r"}, "spec": {"suspend": true}});
    let suspended = apply("two", suspend).await;
    assert_eq!(suspended.body["spec"]["overrides"], env("x")["spec"]["overrides"]);
    assert_eq!(suspended.body["spec"]["suspend"], true);
}

#[tokio::test]
async fn the_status_is_written_through_its_subresource() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "r", "backup").await;
    let path = format!("{REQUESTS}/r");
    let status = json!({"targetUID": "u", "acceptedTime": "2026-11-02T00:00:00Z", "total": 1,
        "slots": [{"slot": "2026-11-01T02:00:00Z"}]});
    client.merge(&path, &json!({"status": status})).await;
    assert_eq!(client.get(&path).await.body["status"], json!({}));
    let accepted = client.merge(&format!("{path}/status"), &json!({"status": status})).await;
    assert_eq!(accepted.body["status"], status);
    for wrong in [
        json!({"targetUID": "v"}),
        json!({"started": 2}),
        json!({"slots": [{}]}),
        json!({"slots": [null]}),
    ] {
        let refused = client.merge(&format!("{path}/status"), &json!({"status": wrong})).await;
        assert_eq!(refused.code, 422, "{wrong}: {}", refused.text);
    }
}

#[tokio::test]
async fn requests_are_selected_by_their_target() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "a", "backup").await;
    create(&client, "b", "report").await;
    let names = async |selector: &str| -> Vec<Value> {
        let list = client.get(&format!("{REQUESTS}?fieldSelector={selector}")).await.body;
        list["items"].as_array().unwrap().iter().map(|it| it["metadata"]["name"].clone()).collect()
    };
    assert_eq!(names("spec.target.name=report").await, ["b"]);
    assert_eq!(names("spec.target.kind=CronJob,spec.target.name=backup").await, ["a"]);
    assert_eq!(names("spec.target.kind=ScheduledJob").await, Vec::<Value>::new());
    assert_eq!(client.get(&format!("{REQUESTS}?fieldSelector=spec.runs=All")).await.code, 400);
}

#[tokio::test]
async fn a_table_shows_the_progress() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "r", "backup").await;
    let get = client.request(Method::GET, REQUESTS).header("Accept", TABLE);
    let table = client.send(get.body(axum::body::Body::empty()).unwrap()).await.body;
    let names = table["columnDefinitions"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|column| column["name"].as_str().unwrap()).collect();
    let want = [
        "Name",
        "Target",
        "Runs",
        "Total",
        "Started",
        "Succeeded",
        "Failed",
        "Skipped",
        "State",
        "Age",
    ];
    assert_eq!(names, want);
    let cells = &table["rows"][0]["cells"].as_array().unwrap()[..9];
    let want = json!(["r", "cronjob/backup", "2026-11-01T02:00:00Z", 0, 0, 0, 0, 0, "Pending"]);
    assert_eq!(json!(cells), want);
}

#[tokio::test]
async fn viewers_may_read_requests_but_not_write_them() {
    let server = TestServer::new().await;
    create(&server.admin(), "r", "backup").await;
    let viewer = server.client(VIEW);
    assert_eq!(viewer.get(&format!("{REQUESTS}/r")).await.code, 200);
    assert_eq!(viewer.post(REQUESTS, &request("s", "backup")).await.code, 403);
    let suspend = json!({"spec": {"suspend": true}});
    assert_eq!(viewer.merge(&format!("{REQUESTS}/r"), &suspend).await.code, 403);
    assert_eq!(viewer.delete(&format!("{REQUESTS}/r")).await.code, 403);
}
