//! Every page with its states: empty, with data, and with an error. Actions with their effect.

use serde_json::json;

use crate::site::Site;

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_shown_without_and_with_data() {
    let site = Site::start("a").await;
    let cookie = site.sign_in().await;
    for path in ["/", "/timeline", "/load", "/plan", "/ledger"] {
        let reply = site.get(path, &cookie).await;
        assert_eq!(reply.status, 200, "{path}");
        assert!(reply.body.contains("<h1>"), "{path}");
    }
    site.create_cron_job(
        "backup",
        &cookie,
        json!({"schedule": "30 2 * * *", "timeZone": "Europe/Berlin"}),
    )
    .await;
    for (path, wanted) in [
        ("/", "Europe/Berlin"),
        ("/?q=backup", "backup"),
        ("/?q=nothing-like-it", "No CronJob matches"),
        ("/timeline", "backup"),
        ("/load", "By hour of the week"),
        ("/ledger", "No record matches"),
        ("/cronjobs/default/backup", "At 02:30"),
        ("/cronjobs/default/backup/slots/2027-03-29T00:30:00Z", "To come"),
        ("/cronjobs/default/backup/edit", "schedule:"),
        ("/cronjobs/default/backup/trigger", "Run now"),
        ("/cronjobs/default/backup/backfill", "Preview"),
        ("/cronjobs/default/backup/suspend", "Reason"),
        ("/cronjobs/default/backup/resume", "As its policy says"),
    ] {
        let reply = site.get(path, &cookie).await;
        assert_eq!(reply.status, 200, "{path}");
        assert!(reply.body.contains(wanted), "{path} does not contain {wanted}");
    }
    for (path, status) in [
        ("/cronjobs/default/none", 404),
        ("/pods/default/a", 404),
        ("/runs/default/none", 404),
        ("/cronjobs/default/backup/slots/yesterday", 400),
        ("/bulk?action=explode", 400),
        ("/ledger?since=yesterday", 200),
    ] {
        let reply = site.get(path, &cookie).await;
        assert_eq!(reply.status, status, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn actions_write_what_the_commands_write() {
    let site = Site::start("a").await;
    let cookie = site.sign_in().await;
    site.create_cron_job("backup", &cookie, json!({})).await;
    let page = "/cronjobs/default/backup";
    let api = "/apis/batch/v1/namespaces/default/cronjobs/backup";
    let reply =
        site.post(&format!("{page}/suspend"), &cookie, "for=4h&reason=database+upgrade").await;
    assert_eq!((reply.status, reply.header("location")), (303, Some(page)));
    let object = site.get_object(api).await;
    assert_eq!(object["spec"]["suspend"], true);
    let annotations = &object["metadata"]["annotations"];
    assert_eq!(annotations["punctual.dev/suspended-reason"], "database upgrade");
    assert_eq!(annotations["punctual.dev/suspended-by"], "admin");
    assert!(annotations["punctual.dev/suspended-until"].is_string());
    let shown = site.get(page, &cookie).await.body;
    assert!(shown.contains("backup is suspended."), "the message of the action");
    assert!(
        !site.get(page, &cookie).await.body.contains("backup is suspended."),
        "it is shown once"
    );

    assert_eq!(site.post(&format!("{page}/resume"), &cookie, "missed=drop").await.status, 303);
    let object = site.get_object(api).await;
    assert_eq!(object["spec"]["suspend"], false);
    assert_eq!(object["metadata"]["annotations"]["punctual.dev/resume-missed"], "drop");

    assert_eq!(site.post(&format!("{page}/trigger"), &cookie, "").await.status, 303);
    let body = "from=2026-01-01T00:00&to=2026-03-01T00:00&runs=All&order=NewestFirst&parallelism=3";
    assert_eq!(site.post(&format!("{page}/backfill"), &cookie, body).await.status, 303);
    let requests = site.get_object("/apis/punctual.dev/v1/namespaces/default/runrequests").await;
    let specs: Vec<_> =
        requests["items"].as_array().unwrap().iter().map(|item| item["spec"].clone()).collect();
    assert!(specs.iter().any(|spec| spec["now"] == true), "{specs:?}");
    let backfill = specs.iter().find(|spec| spec["from"].is_string()).unwrap();
    assert_eq!(backfill["target"], json!({"kind": "CronJob", "name": "backup"}));
    assert_eq!(
        (&backfill["runs"], &backfill["order"], &backfill["parallelism"]),
        (&json!("All"), &json!("NewestFirst"), &json!(3))
    );

    for (body, wanted) in [
        ("from=2026-01-02T00:00&to=2026-01-01T00:00", "later than the beginning"),
        ("from=nonsense&to=2026-01-01T00:00", "is not a time"),
    ] {
        let reply = site.post(&format!("{page}/backfill"), &cookie, body).await;
        assert_eq!(reply.status, 422);
        assert!(reply.body.contains(wanted), "{wanted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_checked_and_planned_before_it_is_saved() {
    let site = Site::start("a").await;
    let cookie = site.sign_in().await;
    site.create_cron_job("backup", &cookie, json!({})).await;
    let path = "/cronjobs/default/backup/edit";
    let api = "/apis/batch/v1/namespaces/default/cronjobs/backup";
    let mut object = site.get_object(api).await;
    object["spec"]["schedule"] = json!("*/30 * * * *");
    let form = |object: &serde_json::Value, step: &str| {
        let yaml: String = form_urlencoded::byte_serialize(object.to_string().as_bytes()).collect();
        format!("step={step}&yaml={yaml}")
    };
    let preview = site.post(path, &cookie, &form(&object, "preview")).await;
    assert_eq!(preview.status, 200);
    assert!(preview.body.contains("spec.schedule") && preview.body.contains(">Save<"));
    assert_eq!(
        site.get_object(api).await["spec"]["schedule"],
        "0 0 1 1 *",
        "a preview writes nothing"
    );

    let mut wrong = object.clone();
    wrong["spec"]["schedule"] = json!("61 * * * *");
    let refused = site.post(path, &cookie, &form(&wrong, "preview")).await;
    assert_eq!(refused.status, 422);
    wrong["metadata"]["name"] = json!("other");
    assert!(site.post(path, &cookie, &form(&wrong, "save")).await.body.contains("cannot rename"));

    assert_eq!(site.post(path, &cookie, &form(&object, "save")).await.status, 303);
    assert_eq!(site.get_object(api).await["spec"]["schedule"], "*/30 * * * *");
    // The object has changed since, so an edit of its old version is refused.
    assert_eq!(site.post(path, &cookie, &form(&object, "save")).await.status, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_event_stream_reports_a_change_and_resumes() {
    let site = Site::start("a").await;
    let cookie = site.sign_in().await;
    site.create_cron_job("one", &cookie, json!({})).await;
    let host = site.host();
    let read = async |since: &str, wanted: &str| {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let mut stream = tokio::net::TcpStream::connect(site.address).await.unwrap();
        let request = format!(
            "GET /events?scope=fleet&since={since} HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        let mut chunk = [0; 4096];
        while !text.contains(wanted) {
            let read =
                tokio::time::timeout(std::time::Duration::from_secs(5), stream.read(&mut chunk));
            let Ok(Ok(count)) = read.await else { return text };
            if count == 0 {
                return text;
            }
            text += &String::from_utf8_lossy(&chunk[..count]);
        }
        text
    };
    let first = read("", "event: change").await;
    let id = first.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    site.create_cron_job("two", &cookie, json!({})).await;
    let resumed = read(&id, "event: change").await;
    assert!(resumed.contains("event: change"), "{resumed}");
    let other_process = read("1.5", "event: change").await;
    assert!(other_process.contains("event: change"), "a restart is a change");
}
