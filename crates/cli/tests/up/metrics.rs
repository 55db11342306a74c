//! Tests of what the metrics of `punctual up` report.

use std::collections::BTreeMap;

use http::Request;
use serde_json::json;

use crate::program::TestHome;
use crate::runs::manifest;

/// Returns the value of a series.
fn value(page: &str, series: &str) -> usize {
    let mut values = page.lines().filter_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    let value = values.next().unwrap_or_else(|| panic!("{series} is not in {page}"));
    value.trim_end_matches(".0").parse().unwrap()
}

/// Returns how often each resource was watched, such as `batch/jobs`.
fn watch_requests(page: &str) -> BTreeMap<String, usize> {
    let mut requests = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("apiserver_request_total{")) {
        let label = |name: &str| {
            let (_, rest) = line.split_once(&format!("{name}=\"")).unwrap();
            rest.split('"').next().unwrap()
        };
        if label("verb") == "watch" {
            let count: usize = line.rsplit(' ').next().unwrap().parse().unwrap();
            *requests.entry(format!("{}/{}", label("group"), label("resource"))).or_default() +=
                count;
        }
    }
    requests
}

async fn read_metrics(home: &TestHome) -> String {
    let client = home.client().await;
    client.request_text(Request::get("/metrics").body(Vec::new()).unwrap()).await.unwrap()
}

#[tokio::test]
async fn one_watch_per_kind_is_open() {
    let home = TestHome::new();
    let file = home.write("quick.json", &manifest("quick", json!(["true"]), json!({})));
    let mut up = home.start(&[&file]);
    // A run needs every controller, so all watches are open when it has ended.
    let ended = up.lines.find(|line| line.as_ref().unwrap().contains(" ok after "));
    assert!(ended.is_some());
    let page = read_metrics(&home).await;
    let requests = watch_requests(&page);
    for kind in ["batch/cronjobs", "batch/jobs", "punctual.dev/scheduledjobs", "/pods"] {
        assert!(requests.contains_key(kind), "{kind} is not watched: {requests:?}");
    }
    assert!(requests.values().all(|count| *count == 1), "watched twice: {requests:?}");
    assert_eq!(value(&page, "apiserver_longrunning_requests"), requests.len(), "{requests:?}");
    up.stop();
}

#[tokio::test]
async fn the_number_of_workers_is_a_flag() {
    let home = TestHome::new();
    for (args, workers) in [(&[][..], 64), (&["--concurrent-syncs", "3"], 3)] {
        let up = home.start(args);
        let page = read_metrics(&home).await;
        assert_eq!(value(&page, "punctual_workers{name=\"cronjob\"}"), workers);
        up.stop();
    }
}
