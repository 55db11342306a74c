//! Tests of the slot ledger: records move from statuses to the archive, and are served as slotrecords.

mod retention;

use std::collections::BTreeSet;

use axum::body::Body;
use http::Method;
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use punctual_server::{ADMIN_GROUP, Config, Server, User};
use punctual_store::{Op, Precondition};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::client::{CRON_JOBS, TestClient, TestResponse, TestServer, VIEW, cron_job};

const RECORDS: &str = "/apis/punctual.dev/v1/namespaces/default/slotrecords";
const ALL_RECORDS: &str = "/apis/punctual.dev/v1/slotrecords";
const START: i64 = 1_790_000_040;

/// Returns the slot with a number, of a CronJob that runs every minute.
fn slot(number: i64) -> String {
    Timestamp::from_second(START + 60 * number).unwrap().to_string()
}

fn record(number: i64, result: &str) -> Value {
    json!({"slot": slot(number), "decision": "Started", "reason": "Scheduled", "result": result})
}

async fn create(client: &TestClient, name: &str) {
    let mut object = cron_job(name);
    object["metadata"]["labels"] = json!({"app": name});
    let response = client.post(CRON_JOBS, &object).await;
    assert_eq!(response.code, 201, "{}", response.text);
}

async fn write_slots(client: &TestClient, name: &str, slots: &Value) -> TestResponse {
    client.merge(&format!("{CRON_JOBS}/{name}/status"), &json!({"status": {"slots": slots}})).await
}

/// Appends a record to the status, as the controller does.
async fn append(client: &TestClient, name: &str, record: Value) {
    let mut slots = live(client, name).await;
    slots.push(record);
    let response = write_slots(client, name, &json!(slots)).await;
    assert_eq!(response.code, 200, "{}", response.text);
}

async fn live(client: &TestClient, name: &str) -> Vec<Value> {
    let found = client.get(&format!("{CRON_JOBS}/{name}")).await.body;
    found["status"]["slots"].as_array().cloned().unwrap_or_default()
}

async fn list(client: &TestClient, path: &str) -> Vec<Value> {
    let response = client.get(path).await;
    assert_eq!(response.code, 200, "{}", response.text);
    response.body["items"].as_array().unwrap().clone()
}

fn field_of<'a>(records: &'a [Value], field: &str) -> Vec<&'a str> {
    records.iter().map(|record| record[field].as_str().unwrap_or_default()).collect()
}

/// Returns the numbers of the slots.
fn numbers(records: &[Value]) -> Vec<i64> {
    let number = |slot: &&str| (slot.parse::<Timestamp>().unwrap().as_second() - START) / 60;
    field_of(records, "slot").iter().map(number).collect()
}

fn names(records: &[Value]) -> Vec<String> {
    let name = |record: &Value| record["metadata"]["name"].as_str().unwrap().to_owned();
    records.iter().map(name).collect()
}

#[tokio::test]
async fn only_the_newest_and_running_records_stay_in_the_status() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "a").await;
    for number in 0..6 {
        append(&client, "a", record(number, if number == 2 { "Running" } else { "Failed" })).await;
    }
    assert_eq!(numbers(&live(&client, "a").await), [2, 5]);
    let records = list(&client, RECORDS).await;
    assert_eq!(numbers(&records), [5, 4, 3, 2, 1, 0]);
    let first = &records[5];
    assert_eq!((&first["cronJob"], &first["cronJobKind"]), (&json!("a"), &json!("CronJob")));
    assert_eq!(first["metadata"]["labels"], json!({"app": "a"}));
    assert_eq!(first["metadata"]["namespace"], "default");
    assert_eq!(first["reason"], "Scheduled");
    // The record of an ended run moves.
    write_slots(&client, "a", &json!([record(2, "Succeeded"), record(5, "Failed")])).await;
    assert_eq!(numbers(&live(&client, "a").await), [5]);
    let records = list(&client, RECORDS).await;
    assert_eq!(numbers(&records), [5, 4, 3, 2, 1, 0]);
    assert_eq!(records[3]["result"], "Succeeded");
}

#[tokio::test]
async fn records_keep_their_identity_when_they_are_archived() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "a").await;
    let mut requested = record(0, "Succeeded");
    requested["request"] = json!("r1");
    requested["job"] = json!({"name": "a-0123", "uid": "not a usual uid"});
    append(&client, "a", record(0, "Succeeded")).await;
    let before = list(&client, RECORDS).await;
    append(&client, "a", requested).await;
    append(&client, "a", record(1, "Succeeded")).await;
    let records = list(&client, RECORDS).await;
    let unique: BTreeSet<_> = names(&records).into_iter().collect();
    assert_eq!((records.len(), unique.len()), (3, 3), "{records:?}");
    let archived = records.iter().find(|it| names(&before).contains(&names(&[(*it).clone()])[0]));
    let archived = archived.unwrap();
    assert_eq!(archived["metadata"]["uid"], before[0]["metadata"]["uid"]);
    for item in &records {
        let name = item["metadata"]["name"].as_str().unwrap();
        let found = client.get(&format!("{RECORDS}/{name}")).await;
        assert_eq!(found.code, 200, "{}", found.text);
        assert_eq!(found.body["kind"], "SlotRecord");
        for field in ["slot", "request", "job", "metadata", "cronJobUID"] {
            assert_eq!(found.body[field], item[field], "{field}");
        }
        let selected = format!("{ALL_RECORDS}?fieldSelector=metadata.name={name}");
        assert_eq!(names(&list(&client, &selected).await), [name]);
    }
    for name in ["a", "a-1-2", "a-29833334-0000000000", "%00", "x-29833334-00"] {
        assert_eq!(client.get(&format!("{RECORDS}/{name}")).await.code, 404, "{name}");
    }
}

#[tokio::test]
async fn archiving_a_record_again_replaces_it() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "a").await;
    append(&client, "a", record(0, "Failed")).await;
    append(&client, "a", record(1, "Failed")).await;
    // A write that is repeated, and one with another result and with a duplicate.
    for result in ["Failed", "Succeeded"] {
        let slots = json!([record(0, "Unknown"), record(0, result), record(1, "Failed")]);
        assert_eq!(write_slots(&client, "a", &slots).await.code, 200);
        let records = list(&client, RECORDS).await;
        assert_eq!(field_of(&records, "result"), ["Failed", result]);
    }
    let failed = list(&client, &format!("{RECORDS}?fieldSelector=result=Failed")).await;
    assert_eq!(numbers(&failed), [1]);
}

#[tokio::test]
async fn records_that_a_client_leaves_out_are_archived() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "a").await;
    let slots = json!([record(0, "Running"), record(1, "Failed")]);
    write_slots(&client, "a", &slots).await;
    assert_eq!(write_slots(&client, "a", &json!([])).await.code, 200);
    assert_eq!(live(&client, "a").await, [json!(null); 0]);
    let records = list(&client, RECORDS).await;
    assert_eq!(field_of(&records, "result"), ["Failed", "Unknown"]);
}

#[tokio::test]
async fn malformed_records_of_clients_are_rejected_with_their_field() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "a").await;
    let long = "x".repeat(5000);
    let many: Vec<Value> = (0..5000).map(|number| record(number, "Failed")).collect();
    let mut message = record(0, "Failed");
    message["message"] = json!(long);
    let mut odd = record(0, "Failed");
    odd["decision"] = json!("Odd");
    let mut ancient = record(0, "Failed");
    ancient["slot"] = json!("1234-01-01T00:00:00Z");
    for (slots, expected) in [
        (json!(many), "status.slots: Too many: 5000"),
        (json!([record(1, "Failed"), message]), "status.slots[1].message: Too long"),
        (json!([odd]), "status.slots[0]: Invalid value"),
        (json!([ancient]), "status.slots[0].slot: Invalid value"),
        (json!([{"decision": "Missed"}]), "must be a time from 1970 to 9999"),
    ] {
        let response = write_slots(&client, "a", &slots).await;
        assert_eq!(response.code, 422, "{}", response.text);
        assert!(response.text.contains(expected), "{} lacks {expected}", response.text);
    }
    let mut absurd = record(0, "Failed");
    absurd["count"] = json!(i64::MIN);
    absurd["attempts"] = json!(i32::MIN);
    absurd["through"] = json!("9999-12-30T22:00:00Z");
    absurd["createdTime"] = json!("0001-01-01T00:00:00Z");
    absurd["job"] = json!({"name": "Ünicode ", "uid": "-"});
    append(&client, "a", absurd.clone()).await;
    append(&client, "a", record(1, "Failed")).await;
    let records = list(&client, RECORDS).await;
    for (field, value) in absurd.as_object().unwrap() {
        assert_eq!(&records[1][field], value, "{field}");
    }
    let table = get_table(&client, RECORDS).await;
    assert_eq!(table["rows"].as_array().unwrap().len(), 2);
}

async fn get_table(client: &TestClient, path: &str) -> Value {
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let request = client.request(Method::GET, path).header("Accept", accept);
    client.send(request.body(Body::empty()).unwrap()).await.body
}

#[tokio::test]
async fn lists_are_filtered_and_paged_with_the_newest_slot_first() {
    let server = TestServer::new().await;
    let client = server.admin();
    for name in ["a", "b"] {
        create(&client, name).await;
        for number in 0..20 {
            let result = if number % 3 == 0 { "Failed" } else { "Succeeded" };
            append(&client, name, record(number, result)).await;
        }
    }
    append(&client, "b", json!({"slot": slot(20), "decision": "Missed", "reason": "NameTaken"}))
        .await;
    append(&client, "b", json!({"slot": slot(21), "decision": "Skipped", "reason": "Suspended"}))
        .await;
    let all = list(&client, ALL_RECORDS).await;
    assert_eq!(all.len(), 42);
    let slots = field_of(&all, "slot");
    assert!(slots.is_sorted_by(|one, next| one >= next), "{slots:?}");
    let after = slot(17);
    let before = slot(3);
    for (query, count) in [
        ("fieldSelector=cronJob=a", 20),
        ("fieldSelector=cronJob=nope", 0),
        ("fieldSelector=cronJob!=a", 22),
        ("fieldSelector=decision=Missed", 1),
        ("fieldSelector=decision=Started,result=Failed", 14),
        ("fieldSelector=cronJob=b,result=Failed", 7),
        ("fieldSelector=result=", 2),
        ("fieldSelector=result!=Failed", 28),
        ("fieldSelector=reason=Suspended", 1),
        (&format!("fieldSelector=slotAfter={after}"), 6),
        (&format!("fieldSelector=slotBefore={before}"), 6),
        (&format!("fieldSelector=slotAfter={before},slotBefore={after},cronJob=a"), 13),
        ("labelSelector=app%3Da", 20),
        ("labelSelector=app%3Da&fieldSelector=result=Failed", 7),
        ("labelSelector=app%20in%20(a,b)", 42),
        ("labelSelector=app%3Dnope", 0),
        ("fieldSelector=metadata.namespace=default", 42),
        ("fieldSelector=metadata.namespace=other", 0),
    ] {
        let found = list(&client, &format!("{ALL_RECORDS}?{query}")).await;
        assert_eq!(found.len(), count, "{query}");
        let paged = read_pages(&client, &format!("{ALL_RECORDS}?{query}"), 4).await;
        assert_eq!(names(&paged), names(&found), "{query}");
    }
    assert_eq!(
        list(&client, "/apis/punctual.dev/v1/namespaces/x/slotrecords").await,
        Vec::<Value>::new()
    );
}

async fn read_pages(client: &TestClient, path: &str, limit: usize) -> Vec<Value> {
    let mut items = Vec::new();
    let mut token = String::new();
    loop {
        let page = client.get(&format!("{path}&limit={limit}&continue={token}")).await;
        assert_eq!(page.code, 200, "{}", page.text);
        let page_items = page.body["items"].as_array().unwrap();
        assert!(page_items.len() <= limit);
        items.extend(page_items.iter().cloned());
        token = page.body["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        if token.is_empty() {
            return items;
        }
    }
}

#[tokio::test]
async fn pages_have_each_record_exactly_once_while_records_move() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "a").await;
    // All are running, so all are in the status.
    let running: Vec<Value> = (0..40).map(|number| record(number, "Running")).collect();
    assert_eq!(write_slots(&client, "a", &json!(running)).await.code, 200);
    let mut seen = Vec::new();
    let mut token = String::new();
    let mut ended = 0;
    loop {
        let page = client.get(&format!("{RECORDS}?limit=3&continue={token}")).await.body;
        seen.extend(numbers(page["items"].as_array().unwrap()));
        token = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        if token.is_empty() {
            break;
        }
        // Some runs end, and new slots start.
        ended += 7;
        let result = |number: i64| if number % 40 < ended { "Succeeded" } else { "Running" };
        let slots: Vec<Value> =
            (0..40 + ended).map(|number| record(number, result(number))).collect();
        assert_eq!(write_slots(&client, "a", &json!(slots)).await.code, 200);
    }
    assert_eq!(seen, (0..40).rev().collect::<Vec<i64>>());
}

#[tokio::test]
async fn malformed_tokens_and_selectors_are_bad_requests() {
    let server = TestServer::new().await;
    let client = server.admin();
    let encode = |text: &str| {
        use base64::Engine as _;
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
    };
    let tokens = [
        "x".to_owned(),
        "!!".to_owned(),
        encode("{}"),
        encode(r#"{"v":"punctual.dev/v1","rv":1,"at":""}"#),
        encode(r#"{"v":"punctual.dev/v1","rv":1,"at":"zz"}"#),
        encode(r#"{"v":"punctual.dev/v1","rv":-1,"at":"000000000000000000000000"}"#),
        encode(&format!(r#"{{"v":"punctual.dev/v1","rv":1,"at":"{}"}}"#, "0".repeat(4000))),
        encode(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"a"}"#),
    ];
    for token in tokens {
        for limit in ["", "&limit=2"] {
            let response = client.get(&format!("{RECORDS}?continue={token}{limit}")).await;
            assert_eq!(response.code, 400, "{token}: {}", response.text);
        }
    }
    for selector in [
        "slotAfter=yesterday",
        "slotAfter!=2026-01-01T00:00:00Z",
        "decision=missed",
        "result=Success",
        "spec.schedule=x",
        "cronJob",
    ] {
        let response = client.get(&format!("{RECORDS}?fieldSelector={selector}")).await;
        assert_eq!(response.code, 400, "{selector}: {}", response.text);
    }
    let future = client.get(&format!("{RECORDS}?resourceVersion=999999")).await;
    assert_eq!(future.code, 504, "{}", future.text);
    let past = format!("{RECORDS}?resourceVersion=1&resourceVersionMatch=Exact");
    assert_eq!(client.get(&past).await.code, 410);
}

#[tokio::test]
async fn the_resource_is_read_only_and_viewers_may_read_it() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "a").await;
    append(&client, "a", record(0, "Failed")).await;
    let name = names(&list(&client, RECORDS).await).remove(0);
    let object = format!("{RECORDS}/{name}");
    let body = json!({"apiVersion": "punctual.dev/v1", "kind": "SlotRecord"});
    assert_eq!(client.post(RECORDS, &body).await.code, 405);
    assert_eq!(client.put(&object, &body).await.code, 405);
    assert_eq!(client.merge(&object, &body).await.code, 405);
    assert_eq!(client.delete(&object).await.code, 405);
    assert_eq!(client.delete(RECORDS).await.code, 405);
    let viewer = server.client(VIEW);
    assert_eq!(list(&viewer, RECORDS).await.len(), 1);
    assert_eq!(viewer.get(&object).await.code, 200);
    assert_eq!(server.client("").get(RECORDS).await.code, 403);
    let resources = client.get("/apis/punctual.dev/v1").await.body;
    let found =
        resources["resources"].as_array().unwrap().iter().find(|it| it["name"] == "slotrecords");
    assert_eq!(found.unwrap()["verbs"], json!(["get", "list", "watch"]));
    assert_eq!(found.unwrap()["shortNames"], json!(["slots"]));
}

#[tokio::test]
async fn tables_have_the_columns_of_the_ledger() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "a").await;
    let mut run = record(0, "Succeeded");
    run["job"] = json!({"name": "a-29833334", "uid": "u"});
    run["createdTime"] = json!("2026-09-21T14:14:03Z");
    run["startTime"] = json!("2026-09-21T14:14:04Z");
    run["completionTime"] = json!("2026-09-21T14:15:34Z");
    append(&client, "a", run).await;
    let skipped = json!({"slot": slot(1), "through": slot(9), "count": 9, "decision": "Skipped",
        "reason": "Suspended"});
    append(&client, "a", skipped).await;
    let table = get_table(&client, RECORDS).await;
    let columns = table["columnDefinitions"].as_array().unwrap();
    assert_eq!(
        field_of(columns, "name"),
        ["CronJob", "Slot", "Decision", "Reason", "Result", "Late", "Took", "Job", "Name"]
    );
    let cells = |row: usize| table["rows"][row]["cells"].as_array().unwrap()[..8].to_vec();
    assert_eq!(
        cells(0),
        [
            "a",
            "2026-09-21T14:15:00Z (9 slots)",
            "Skipped",
            "Suspended",
            "<none>",
            "<none>",
            "<none>",
            "<none>"
        ]
    );
    assert_eq!(
        cells(1),
        [
            "a",
            "2026-09-21T14:14:00Z",
            "Started",
            "Scheduled",
            "Succeeded",
            "3s",
            "90s",
            "a-29833334"
        ]
    );
}

#[tokio::test]
async fn a_watch_reports_every_new_and_changed_record() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "a").await;
    append(&client, "a", record(0, "Running")).await;
    let revision = client.get(RECORDS).await.body["metadata"]["resourceVersion"].clone();
    let revision = revision.as_str().unwrap().to_owned();
    let query = format!("watch=1&timeoutSeconds=1&resourceVersion={revision}");
    let mut all = client.watch(&format!("{RECORDS}?{query}")).await;
    let failed = format!("{RECORDS}?{query}&fieldSelector=result=Failed");
    let mut failed = client.watch(&failed).await;
    append(&client, "a", record(1, "Running")).await;
    // One is changed and archived, one is added and archived, and one is added, in one write.
    let slots = json!([
        record(0, "Failed"),
        record(1, "Running"),
        record(2, "Failed"),
        record(3, "Running")
    ]);
    assert_eq!(write_slots(&client, "a", &slots).await.code, 200);
    // A write that archives what has not changed reports nothing.
    let slots = json!([record(1, "Running"), record(3, "Failed")]);
    assert_eq!(write_slots(&client, "a", &slots).await.code, 200);
    assert_eq!(client.delete(&format!("{CRON_JOBS}/a")).await.code, 200);
    let expected = [
        ("ADDED", 1, "Running"),
        ("MODIFIED", 0, "Failed"),
        ("ADDED", 2, "Failed"),
        ("ADDED", 3, "Running"),
        ("MODIFIED", 3, "Failed"),
        ("MODIFIED", 1, "Unknown"),
    ];
    let mut version = revision.parse::<u64>().unwrap();
    for (kind, number, result) in expected {
        let event = all.next().await.unwrap();
        assert_eq!(event["type"], kind, "{event}");
        assert_eq!(numbers(&[event["object"].clone()]), [number], "{event}");
        assert_eq!(event["object"]["result"], result);
        let found = event["object"]["metadata"]["resourceVersion"].as_str().unwrap();
        assert!(found.parse::<u64>().unwrap() >= version);
        version = found.parse().unwrap();
    }
    for (kind, number) in [("ADDED", 0), ("ADDED", 2), ("ADDED", 3)] {
        let event = failed.next().await.unwrap();
        assert_eq!(event["type"], kind);
        assert_eq!(numbers(&[event["object"].clone()]), [number], "{event}");
    }
    assert_eq!(all.collect().await, Vec::<Value>::new());
    // Without a version, the watch begins with the existing records.
    let initial =
        client.watch(&format!("{RECORDS}?watch=1&timeoutSeconds=1")).await.collect().await;
    assert_eq!(initial.len(), 4);
}

#[tokio::test]
async fn a_watch_from_before_a_restart_must_list_again() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "a").await;
    append(&client, "a", record(0, "Failed")).await;
    let revision = server.store.revision();
    append(&client, "a", record(1, "Failed")).await;
    // Changes from before the start lack the records that they archived.
    let restarted = Server::start(Config::new(server.store.clone())).await.unwrap();
    let router = restarted.local_router(User::new("admin", ADMIN_GROUP));
    let watch = async |revision: u64| {
        let path = format!("{RECORDS}?watch=1&timeoutSeconds=1&resourceVersion={revision}");
        let request = http::Request::get(path).body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        response.into_body().collect().await.unwrap().to_bytes()
    };
    let event: Value = serde_json::from_slice(&watch(revision).await).unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert!(watch(server.store.revision()).await.is_empty());
}

#[tokio::test]
async fn a_dropped_archive_entry_does_not_break_lists() {
    let server = TestServer::new().await;
    let client = server.admin();
    create(&client, "a").await;
    for number in 0..3 {
        append(&client, "a", record(number, "Failed")).await;
    }
    let keys: Vec<Vec<u8>> = {
        let reader = server.store.archive().read().unwrap();
        let range = reader.range(std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
        range.unwrap().map(|pair| pair.unwrap().0).collect()
    };
    // Values that this program did not write are left out.
    let ops = keys.iter().filter(|key| key[0] == b'r').take(1);
    let ops = ops.map(|key| punctual_store::ArchiveOp::put(key.clone(), "?")).collect();
    let check = Op::check("/nothing", Precondition::Absent);
    server.store.write(punctual_store::Transaction::from(check).with_archive(ops)).await.unwrap();
    assert_eq!(numbers(&list(&client, RECORDS).await), [2, 1]);
}
