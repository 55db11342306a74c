//! Tests of the metrics endpoint.

use std::sync::Arc;

use punctual_store::Options;
use serde_json::json;

use crate::client::TestServer;

#[tokio::test]
async fn metrics_include_the_process_and_extra_metrics_and_end_once() {
    let extra = |text: &mut String| text.push_str("# TYPE others gauge\nothers 7\n");
    let server =
        TestServer::with(Options::default(), |config| config.extra_metrics = Some(Arc::new(extra)));
    let server = server.await;
    let page = server.admin().get("/metrics").await.text;
    let version = env!("CARGO_PKG_VERSION");
    let tzdata = punctual_schedule::Zones::bundled().version().to_owned();
    let build = format!("punctual_build_info{{version=\"{version}\",tzdata=\"{tzdata}\"}} 1\n");
    assert!(page.contains(&build), "{page}");
    assert!(page.contains("\npunctual_tzdata_release_timestamp_seconds 1"), "{page}");
    assert!(page.ends_with("\nothers 7\n# EOF\n"), "{page}");
    assert_eq!(page.matches("# EOF").count(), 1);
    if cfg!(target_os = "linux") {
        let value = |name: &str| -> f64 {
            let line = page.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name} in {page}")).trim().parse().unwrap()
        };
        assert!(value("process_resident_memory_bytes ") > 1e6);
        assert!(value("process_open_fds ") > 2.0);
        assert!(value("process_cpu_seconds_total ") >= 0.0);
        assert!(value("process_start_time_seconds ") > 1e9);
    }
}

#[tokio::test]
async fn stored_objects_are_counted_by_resource() {
    let server = TestServer::new().await;
    let client = server.admin();
    let count = async |resource: &str| {
        let page = client.get("/metrics").await.text;
        let name = format!("apiserver_storage_objects{{resource=\"{resource}\"}} ");
        let value = page.lines().find_map(|line| line.strip_prefix(&name)).map(str::to_owned);
        value.unwrap_or_else(|| panic!("{name} in {page}"))
    };
    assert_eq!(count("namespaces").await, "4");
    assert_eq!(count("jobs.batch").await, "0");
    let path = "/api/v1/namespaces/default/configmaps";
    for name in ["a", "b"] {
        client.post(path, &json!({"metadata": {"name": name}})).await;
    }
    assert_eq!(count("configmaps").await, "2");
    client.delete(&format!("{path}/a")).await;
    assert_eq!(count("configmaps").await, "1");
}
