//! Tests of the workload and its script.

use std::process::Command;

use super::*;

fn generate(count: usize, seed: u64, folder: &Path) -> KillsWorkload {
    KillsWorkload::generate(count, &TestRng::new(seed), folder).unwrap()
}

#[test]
fn a_seed_determines_the_workload() {
    let folder = tempfile::tempdir().unwrap();
    let bodies = |seed| generate(50, seed, folder.path()).bodies();
    assert_eq!(bodies(1), bodies(1));
    assert_ne!(bodies(1), bodies(2));
    let text = String::from_utf8_lossy(&bodies(1).concat()).into_owned();
    for word in [r#""Allow""#, r#""Forbid""#, r#""jitter":0"#, r#""jitter":50"#] {
        assert!(text.contains(word), "{word}");
    }
}

#[test]
fn the_script_writes_lines_that_the_event_log_parses() {
    let folder = tempfile::tempdir().unwrap();
    let workload = generate(1, 1, folder.path());
    let cron_job = &workload.cron_jobs[0];
    // The shell must not read 08 as an octal number.
    for slot in ["2026-01-01T10:08:00Z", "2026-01-01T10:10:00Z"] {
        let status = Command::new("/bin/sh")
            .arg(&workload.script)
            .env("NAME", &cron_job.name)
            .env("EVENT_LOG", workload.event_log_path(cron_job))
            .env("SLOT", slot)
            .env("POD", "p")
            .envs([("SALT", "5"), ("TENTHS_MAX", "2")])
            .status();
        assert!(status.unwrap().success());
    }
    assert_eq!(workload.event_logs().unwrap()[0].events.len(), 4);
}
