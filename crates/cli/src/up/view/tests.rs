//! Tests of the rendered live view.

use punctual_schedule::Zones;

use super::super::view_model::{JobEnd, PodSummary, WatchUpdate, WatchedKind};
use super::*;

const NOW: &str = "2026-01-01T12:00:07Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn options(use_color: bool) -> ViewOptions {
    let zone = Zones::bundled().get("Europe/Berlin").unwrap();
    ViewOptions { use_color, url: "https://127.0.0.1:6443".into(), zone }
}

fn cron_job(name: &str, next: Option<&str>) -> CronJobSummary {
    CronJobSummary {
        kind: WatchedKind::CronJob,
        name: name.into(),
        schedule: "* * * * *".into(),
        zone: None,
        is_suspended: false,
        last: Some(at("2026-01-01T12:00:00Z")),
        next: next.map(at),
        active: 1,
        succeeded: 40,
        failed: 3,
        missed: 1,
        last_missed: None,
        skipped: 0,
    }
}

fn job(name: &str, since: &str, end: Option<JobEnd>) -> WatchUpdate {
    let since = at(since);
    let job = JobSummary { name: name.into(), since, seen_at: since, end };
    WatchUpdate::Job(name.into(), job)
}

fn model() -> ViewModel {
    let mut model = ViewModel::default();
    let paused = CronJobSummary {
        is_suspended: true,
        last: None,
        active: 0,
        zone: Some("Asia/Tokyo".into()),
        schedule: "0 9 * * 1-5".into(),
        ..cron_job("default/report", None)
    };
    let failed = Some("BackoffLimitExceeded: Job has reached the specified backoff limit".into());
    let updates = [
        WatchUpdate::CronJob("1".into(), cron_job("default/hello", Some("2026-01-01T12:01:00Z"))),
        WatchUpdate::CronJob("2".into(), paused),
        WatchUpdate::CronJob("3".into(), cron_job("ops/backup", Some("2026-01-01T12:00:07Z"))),
        job("default/hello-29454960", "2026-01-01T12:00:00Z", None),
        job(
            "default/hello-29454959",
            "2026-01-01T11:59:00Z",
            Some(JobEnd { at: at("2026-01-01T11:59:03Z"), error: None }),
        ),
        job(
            "ops/backup-29454900",
            "2026-01-01T11:00:00Z",
            Some(JobEnd { at: at("2026-01-01T11:02:05Z"), error: failed }),
        ),
    ];
    for update in updates {
        model.apply(update);
    }
    model
}

fn shown(size: TerminalSize) -> String {
    render(&model(), &options(false), at(NOW), size)
}

#[test]
fn a_large_window_shows_everything() {
    let want = "\
punctual 13:00:07  https://127.0.0.1:6443  3 CronJobs  1 running  120 ok  9 failed (3 missed)

CRONJOB         IN   NEXT                 LAST    ACTIVE  SCHEDULE     ZONE
ops/backup      now  2026-01-01 13:00:07  7s ago  1       * * * * *    Europe/Berlin
default/hello   53s  2026-01-01 13:01:00  7s ago  1       * * * * *    Europe/Berlin
default/report  -    suspended            -       0       0 9 * * 1-5  Asia/Tokyo

RUNNING                 FOR
default/hello-29454960  7s

LATEST RESULTS          ENDED       TOOK   RESULT
default/hello-29454959  1m 4s ago   3s     ok
ops/backup-29454900     58m 2s ago  2m 5s  failed: BackoffLimitExceeded: Job has reached the specified backoff limit
";
    assert_eq!(shown(TerminalSize { rows: 50, columns: 120 }), want);
}

#[test]
fn a_narrow_window_truncates_lines() {
    let want = "\
punctual 13:00:07  https://127.…

CRONJOB         IN   NEXT      …
ops/backup      now  2026-01-01…
default/hello   53s  2026-01-01…
default/report  -    suspended …

RUNNING                 FOR
default/hello-29454960  7s

LATEST RESULTS          ENDED  …
default/hello-29454959  1m 4s a…
ops/backup-29454900     58m 2s …
";
    assert_eq!(shown(TerminalSize { rows: 50, columns: 32 }), want);
}

#[test]
fn a_low_window_shows_some_entries_of_each_section() {
    let want = "\
punctual 13:00:07  https://127.0.0.1:6443  3 CronJobs  1 running  120 ok  9 failed (3 missed)

CRONJOB     IN   NEXT                 LAST    ACTIVE  SCHEDULE   ZONE
ops/backup  now  2026-01-01 13:00:07  7s ago  1       * * * * *  Europe/Berlin
and 2 more

RUNNING                 FOR
default/hello-29454960  7s

LATEST RESULTS          ENDED      TOOK  RESULT
default/hello-29454959  1m 4s ago  3s    ok
";
    assert_eq!(shown(TerminalSize { rows: 14, columns: 120 }), want);
    for rows in 0..14 {
        assert!(shown(TerminalSize { rows, columns: 120 }).lines().count() < rows.max(1), "{rows}");
    }
}

#[test]
fn at_most_twenty_cron_jobs_are_shown() {
    let mut model = ViewModel::default();
    for number in 0..1_000 {
        let name = format!("default/job-{number}");
        let cron_job = cron_job(&name, Some("2026-01-01T12:01:00Z"));
        model.apply(WatchUpdate::CronJob(name.into(), cron_job));
    }
    let text = render(&model, &options(false), at(NOW), TerminalSize { rows: 100, columns: 100 });
    assert_eq!(text.lines().count(), 1 + 2 + UPCOMING_MAX + 1);
    assert!(text.ends_with("and 980 more\n"), "{text}");
}

#[test]
fn colors_are_optional_and_end_with_the_line() {
    let plain = shown(TerminalSize { rows: 50, columns: 60 });
    let colored = render(&model(), &options(true), at(NOW), TerminalSize { rows: 50, columns: 60 });
    assert!(!plain.contains('\x1b'));
    let failed = colored.lines().last().unwrap();
    assert!(failed.starts_with("\x1b[31mops/backup-29454900") && failed.ends_with("\x1b[0m"));
    for (colored, plain) in colored.lines().zip(plain.lines()) {
        assert_eq!(crate::terminal::width(colored), plain.chars().count());
    }
}

#[test]
fn control_characters_and_long_names_cannot_break_the_view() {
    assert_eq!(truncate_name(&"x".repeat(300)).chars().count(), NAME_CHARS_MAX);
    let mut model = ViewModel::default();
    let error = Some("a\nb\x1b[2J\u{7}".into());
    let end = JobEnd { at: at(NOW), error };
    model.apply(job("a/b", NOW, Some(end)));
    let text = render(&model, &options(false), at(NOW), TerminalSize { rows: 24, columns: 80 });
    assert!(text.ends_with("failed: a b [2J\n"), "{text:?}");
}

#[test]
fn a_running_job_shows_the_problem_of_its_pod() {
    let mut model = model();
    let problem = Some("Pod x: container \"c\": cannot run \"nope\"".into());
    let pod = PodSummary { job: "default/hello-29454960".into(), problem };
    model.apply(WatchUpdate::Pod("x".into(), pod));
    let size = TerminalSize { rows: 50, columns: 120 };
    let text = render(&model, &options(false), at(NOW), size);
    let want = "\
RUNNING                 FOR  PROBLEM
default/hello-29454960  7s   Pod x: container \"c\": cannot run \"nope\"
";
    assert!(text.contains(want), "{text}");
}
