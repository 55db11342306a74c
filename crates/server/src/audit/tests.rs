//! Tests of the audit log.

use jiff::Timestamp;

use super::*;

fn record(user: &str, verb: &'static str) -> AuditRecord {
    AuditRecord {
        time: Timestamp::UNIX_EPOCH,
        user: user.to_owned(),
        source: "10.0.0.1".to_owned(),
        verb,
        uri: "/api/v1/namespaces".to_owned(),
        user_agent: "kubectl".to_owned(),
        decision: Decision::Allow,
        code: 201,
        micros: 7,
        origin: RequestOrigin::Client,
        is_authenticated: !user.is_empty(),
        is_review: false,
    }
}

async fn read_when_written(path: &Path, lines: usize) -> String {
    for _ in 0..500 {
        let text = std::fs::read_to_string(path).unwrap();
        if text.lines().count() >= lines {
            return text;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{} has less than {lines} lines", path.display());
}

#[test]
fn a_record_is_a_json_line_without_the_body() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let mut file = AuditFile::open(path.clone(), ROTATION).unwrap();
    file.write(&record("admin", "create")).unwrap();
    file.flush().unwrap();
    let want = "{\"time\":\"1970-01-01T00:00:00Z\",\"user\":\"admin\",\"source\":\"10.0.0.1\",\
                \"verb\":\"create\",\"uri\":\"/api/v1/namespaces\",\"userAgent\":\"kubectl\",\
                \"decision\":\"allow\",\"code\":201,\"micros\":7}\n";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), want);
}

#[test]
fn large_files_are_rotated_and_a_number_of_them_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let rotation = Rotation { file_bytes_max: 300, files_max: 3 };
    let mut file = AuditFile::open(path, rotation).unwrap();
    for user in ["a", "b", "c", "d", "e"] {
        file.write(&record(user, "create")).unwrap();
    }
    file.flush().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("audit.log").contains("\"e\"") && read("audit.log.2").contains("\"c\""));
    assert!(!folder.path().join("audit.log.3").exists());
}

#[test]
fn long_fields_are_shortened() {
    let mut long = record("admin", "get");
    long.uri = "é".repeat(60_000);
    long.user_agent = "x".repeat(60_000);
    let bounded = long.bounded();
    assert!(bounded.uri.len() <= 1024 && bounded.uri.ends_with("é..."));
    assert_eq!(bounded.user_agent.len(), 256);
}

#[tokio::test]
async fn a_flood_of_anonymous_requests_leaves_the_log_of_users_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let log = AuditLog::to_file(&path, AuditLevel::Requests).unwrap();
    log.record(record("admin", "create"));
    for _ in 0..100_000 {
        let mut flood = record("", "get");
        flood.uri = "/".repeat(10_000);
        flood.code = 403;
        log.record(flood);
    }
    log.record(record("admin", "delete"));
    assert_eq!(read_when_written(&path, 2).await.lines().count(), 2);
    let dropped = log.dropped().get_or_create(&DropReason { reason: "rate" }).get();
    assert!(dropped > 90_000, "{dropped}");
    let bytes = std::fs::metadata(folder.path().join("audit-unauthenticated.log")).unwrap().len();
    assert!(bytes < 20_000_000, "{bytes}");
}

#[tokio::test]
async fn the_reads_of_a_user_are_limited_and_changes_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let log = AuditLog::to_file(&path, AuditLevel::Requests).unwrap();
    for _ in 0..3_000 {
        let mut read = record("view", "list");
        read.code = 200;
        log.record(read);
    }
    for _ in 0..10 {
        log.record(record("admin", "create"));
    }
    let text = read_when_written(&path, 1_010).await;
    assert_eq!(text.matches("\"verb\":\"create\"").count(), 10);
    assert!(text.matches("\"verb\":\"list\"").count() < 2_500);
}

#[test]
fn the_level_decides_which_requests_are_recorded() {
    let mut read = record("view", "get");
    read.code = 200;
    let mut refused = read.clone();
    refused.decision = Decision::Forbid;
    let health = AuditRecord { origin: RequestOrigin::HealthCheck, ..read.clone() };
    let own = AuditRecord { origin: RequestOrigin::InProcess, ..record("c", "create") };
    let change = record("admin", "create");
    let included = |level: AuditLevel| {
        [&read, &refused, &health, &own, &change].map(|record| record.is_included(level))
    };
    assert_eq!(included(AuditLevel::All), [true; 5]);
    assert_eq!(included(AuditLevel::Requests), [true, true, false, false, true]);
    assert_eq!(included(AuditLevel::Writes), [false, true, false, false, true]);
}
