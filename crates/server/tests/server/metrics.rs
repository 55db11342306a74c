//! The metrics endpoint.

use std::sync::Arc;

use punctual_store::Options;

use crate::client::TestServer;

#[tokio::test]
async fn metrics_include_the_process_and_extra_metrics_and_end_once() {
    let extra = |text: &mut String| text.push_str("# TYPE others gauge\nothers 7\n");
    let server =
        TestServer::with(Options::default(), |config| config.extra_metrics = Some(Arc::new(extra)));
    let server = server.await;
    let page = server.admin().get("/metrics").await.text;
    let version = env!("CARGO_PKG_VERSION");
    assert!(page.contains(&format!("punctual_build_info{{version=\"{version}\"}} 1\n")), "{page}");
    assert!(page.contains("\napiserver_storage_objects 4\n"), "{page}");
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
