//! Since when a schedule holds is written down by the server, whatever clients send.

use http::Method;
use serde_json::{Value, json};

use crate::client::{Answer, CRON_JOBS, Client, Site, cron_job};

const SINCE: &str = "punctual.dev/schedule-since";

fn since(answer: &Answer) -> &str {
    answer.body["metadata"]["annotations"][SINCE].as_str().unwrap_or_default()
}

async fn apply(client: &Client, path: &str, object: &Value) -> Answer {
    let path = format!("{path}?fieldManager=test&force=true");
    client.write(Method::PATCH, &path, "application/apply-patch+yaml", object).await
}

/// Everything that somebody manages, as one text.
fn managed(answer: &Answer) -> String {
    answer.body["metadata"]["managedFields"].to_string()
}

#[tokio::test]
async fn a_new_cron_job_has_its_schedule_since_it_was_created() {
    let site = Site::new().await;
    let client = site.admin();
    let mut object = cron_job("a");
    // What it had elsewhere means nothing here.
    object["metadata"]["annotations"] = json!({SINCE: "2020-01-01T00:00:00Z @daily"});
    object["spec"]["timeZone"] = json!("Europe/Berlin");
    let created = client.post(CRON_JOBS, &object).await;
    let stamp = created.body["metadata"]["creationTimestamp"].as_str().unwrap();
    assert_eq!(since(&created), format!("{stamp} */5 * * * * Europe/Berlin"));
    let applied = apply(&client, &format!("{CRON_JOBS}/b"), &cron_job("b")).await;
    assert_eq!(applied.code, 201, "{}", applied.text);
    assert!(since(&applied).ends_with("Z */5 * * * *"));
    assert!(!managed(&applied).contains(SINCE));
}

#[tokio::test]
async fn no_write_of_anything_else_changes_it() {
    let site = Site::new().await;
    let client = site.admin();
    let path = format!("{CRON_JOBS}/a");
    let created = client.post(CRON_JOBS, &cron_job("a")).await;
    let stamp = since(&created).to_owned();
    // A manifest knows nothing of it, and is no change.
    let replaced = client.put(&path, &cron_job("a")).await;
    assert_eq!(since(&replaced), stamp);
    assert_eq!(replaced.body, created.body);
    let wishes = [json!(null), json!("2020-01-01T00:00:00Z */5 * * * *"), json!("nonsense")];
    for wish in wishes {
        let patch = json!({"metadata": {"annotations": {SINCE: wish}}, "spec": {"suspend": true}});
        assert_eq!(since(&client.merge(&path, &patch).await), stamp);
        let patch = json!({"metadata": {"annotations": {SINCE: wish}}});
        assert_eq!(since(&client.merge(&format!("{path}/status"), &patch).await), stamp);
    }
    let mut suspended = cron_job("a");
    suspended["spec"]["suspend"] = json!(false);
    let applied = apply(&client, &path, &suspended).await;
    assert_eq!(since(&applied), stamp);
    assert_eq!(since(&client.get(&path).await), stamp);
}

#[tokio::test]
async fn another_schedule_or_zone_holds_from_now_on_and_nobody_manages_that() {
    let site = Site::new().await;
    let client = site.admin();
    let path = format!("{CRON_JOBS}/a");
    let created = client.post(CRON_JOBS, &cron_job("a")).await;
    let moved = client.merge(&path, &json!({"spec": {"schedule": "0 3 * * *"}})).await;
    assert!(since(&moved).ends_with("Z 0 3 * * *"), "{}", since(&moved));
    assert!(since(&moved) >= since(&created));
    let mut elsewhere = cron_job("a");
    elsewhere["spec"]["schedule"] = json!("0 3 * * *");
    elsewhere["spec"]["timeZone"] = json!("Asia/Tokyo");
    let replaced = client.put(&path, &elsewhere).await;
    assert!(since(&replaced).ends_with("Z 0 3 * * * Asia/Tokyo"));
    assert!(!managed(&replaced).contains(SINCE));
    elsewhere["spec"]["timeZone"] = json!("Asia/Seoul");
    let applied = apply(&client, &path, &elsewhere).await;
    assert!(since(&applied).ends_with("Z 0 3 * * * Asia/Seoul"));
    assert!(!managed(&applied).contains(SINCE));
}

#[tokio::test]
async fn where_nobody_kept_it_up_to_date_the_controller_may_say_it() {
    let site = Site::new().await;
    let client = site.admin();
    let path = format!("{CRON_JOBS}/a");
    client.post(CRON_JOBS, &cron_job("a")).await;
    let key = "/cronjobs.batch/default/a";
    let stored = site.store.get(key).expect("the object is there");
    let old = String::from_utf8(stored.value.to_vec()).unwrap().replace(SINCE, "elsewhere");
    site.store.write(punctual_store::Op::update(key, old, stored.modified)).await.unwrap();
    let told = "2026-01-31T08:00:00Z */5 * * * *";
    let patch = json!({"metadata": {"annotations": {SINCE: told}}});
    assert_eq!(since(&client.merge(&path, &patch).await), told);
}

#[tokio::test]
async fn kubernetes_dialect_has_nothing_of_the_kind_but_our_own_kind_does() {
    let site = Site::strict().await;
    let client = site.admin();
    let created = client.post(CRON_JOBS, &cron_job("a")).await;
    assert_eq!(created.body["metadata"].get("annotations"), None);
    let patch = json!({"spec": {"schedule": "0 3 * * *"}});
    let moved = client.merge(&format!("{CRON_JOBS}/a"), &patch).await;
    assert_eq!(moved.body["metadata"].get("annotations"), None);
    let mut ours = cron_job("a");
    ours["apiVersion"] = json!("punctual.dev/v1");
    ours["kind"] = json!("ScheduledJob");
    let path = "/apis/punctual.dev/v1/namespaces/default/scheduledjobs";
    let created = client.post(path, &ours).await;
    assert!(since(&created).ends_with("Z */5 * * * *"), "{}", created.text);
}
