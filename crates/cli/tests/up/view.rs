//! Tests of the live view in a pseudo-terminal.

use std::fmt::Write as _;

use kube::ResourceExt as _;
use kube::api::ListParams;
use rustix::process::Signal;

use crate::program::{TestHome, api, run_pod, wait_for_phase, wait_for_status};
use crate::screen::{ScreenTest, WindowSize};

const ESCAPE: &str = "\x1b";
const ENTER: &str = "\r";
const TAB: &str = "\t";
const END: &str = "\x1b[F";
const HOME: &str = "\x1b[H";
const REDRAW: &str = "\x0c";

/// A CronJob that never runs by itself.
fn cron_job(name: &str, command: &str) -> String {
    format!(
        "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: {name}}}\nspec:\n  schedule: \
         \"0 0 1 1 *\"\n  jobTemplate: {{spec: {{backoffLimit: 0, template: {{spec: {{restartPolicy: Never, \
         terminationGracePeriodSeconds: 0, containers: [{{name: a, image: a, command: [sh, -c, \
         '{command}']}}]}}}}}}}}\n"
    )
}

fn window(columns: u16, rows: u16) -> WindowSize {
    WindowSize { columns, rows }
}

/// Writes CronJobs into a file and returns its path.
fn write(home: &TestHome, cron_jobs: &[(&str, &str)]) -> String {
    let text: String = cron_jobs.iter().map(|(name, command)| cron_job(name, command)).collect();
    home.write("m.yaml", &text)
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_filter_trigger_suspend_resume_and_open_pages() {
    let home = TestHome::new();
    let hostile = r#"printf "\033]0;title\007\033[31mred\033[2J\n"; sleep 1000"#;
    let file = write(&home, &[("alpha", hostile), ("beta", "true"), ("gamma", "true")]);
    let mut screen = ScreenTest::start_up(&home, &file, window(110, 30));
    let text = wait_for_view(&screen, "default/gamma");
    assert!(text.contains("3 CronJobs") && text.contains("NEXT ("), "{text}");
    let client = home.client().await;
    let cron_jobs = api(&client, "batch/v1", "CronJob");

    // The filter selects, and its end shows all again.
    screen.press("/BET");
    screen.wait_until("only beta", |it| it.contains("default/beta") && !it.contains("alpha"));
    screen.press("x");
    screen.wait_for("No CronJob matches the filter");
    screen.press(ESCAPE);
    screen.wait_for("default/alpha");

    // Suspend and resume ask first.
    screen.press("jjs");
    screen.wait_for("Suspend default/gamma?");
    screen.press("n");
    screen.wait_until("no question", |text| !text.contains("Suspend default/gamma?"));
    screen.press("sy");
    screen.wait_for("default/gamma suspended");
    let found = cron_jobs.get("gamma").await.unwrap();
    assert_eq!(found.data["spec"]["suspend"], true);
    screen.wait_for("1 suspended");
    screen.press("sy");
    screen.wait_for("default/gamma resumed");
    assert_eq!(cron_jobs.get("gamma").await.unwrap().data["spec"]["suspend"], false);

    // The details say why nothing runs.
    screen.press(ENTER);
    let text = screen.wait_for("Schedule");
    assert!(text.contains("default/gamma now: nothing is due"), "{text}");
    screen.press(ESCAPE);
    screen.wait_for("CRONJOB");

    // A run starts, and its log is followed. What it prints does not control the terminal.
    screen.press(&format!("{HOME}ty"));
    screen.wait_for("1 running");
    screen.press("l");
    let text = screen.wait_for("red");
    assert!(text.contains("Log of the latest run of default/alpha"), "{text}");
    screen.press(ESCAPE);
    screen.press(TAB);
    screen.wait_for("Tab CronJobs");
    screen.press(ENTER);
    let text = screen.wait_until("the log", |text| text.contains("Log of default/alpha-"));
    assert!(!text.contains("CRONJOB"), "{text}");
    assert!(!screen.raw().contains("title"), "the escape sequence reached the terminal");
    let jobs = api(&client, "batch/v1", "Job").list(&ListParams::default()).await.unwrap();
    assert_eq!(jobs.items.len(), 1);
    assert!(jobs.items[0].name_any().starts_with("alpha-"), "{:?}", jobs.items[0].name_any());
    screen.press("q?");
    screen.wait_for("The selected CronJob");
    screen.press(ESCAPE);

    // The end asks, and gives the terminal back.
    screen.press("q");
    screen.wait_for("Stop Punctual?");
    screen.press("y");
    screen.wait_for_end();
    screen.assert_restored();
    let text = screen.wait_for("1 Pod keeps running");
    assert!(text.contains("serving https://127.0.0.1:") && !text.contains("CRONJOB"), "{text}");
}

#[test]
fn every_size_shows_a_complete_frame() {
    let home = TestHome::new();
    let names: Vec<String> = (0..100).map(|number| format!("job-{number:03}")).collect();
    let cron_jobs: Vec<_> = names.iter().map(|name| (name.as_str(), "true")).collect();
    let mut screen = ScreenTest::start_up(&home, &write(&home, &cron_jobs), window(80, 24));
    wait_for_view(&screen, "default/job-000");
    let sizes =
        [(10, 2), (300, 80), (20, 5), (80, 24), (11, 3), (40, 60), (300, 2), (1, 1), (10, 80)];
    for (columns, rows) in sizes {
        screen.resize(window(columns, rows));
        screen.press(REDRAW);
        let is_full = |text: &str| {
            let lines = text.lines().collect::<Vec<_>>();
            let fits = lines.iter().all(|line| line.chars().count() <= columns.into());
            // All rows are used: there are more CronJobs than rows, up to the largest window.
            fits && lines.len() == usize::from(rows)
                && lines.iter().all(|line| !line.is_empty())
                && (columns < 10 || lines[0].starts_with("Punctual"))
        };
        let what = format!("a frame of {columns} columns and {rows} rows");
        screen.wait_until(&what, |text| rows == 80 && columns > 10 || is_full(text));
    }
    screen.resize(window(80, 24));
    screen.press(END);
    let text = screen.wait_for("default/job-099");
    assert_eq!(text.matches("CRONJOB").count(), 1, "{text}");
    screen.press("?");
    for size in [window(10, 2), window(300, 80), window(20, 5)] {
        screen.resize(size);
        screen.wait_for("Help");
    }
    screen.signal(Signal::TERM);
    screen.wait_for_end();
    screen.assert_restored();
    let text = screen.wait_for("stopped");
    assert!(!text.contains("job-0"), "a frame was left behind: {text}");
}

#[test]
fn ten_thousand_cron_jobs_are_shown_filtered_and_scrolled() {
    let home = TestHome::new();
    let mut text = String::new();
    for number in 0..10_000 {
        let _ = write!(text, "{}", cron_job(&format!("job-{number:04}"), "true"));
    }
    let file = home.write("m.yaml", &text);
    let mut screen = ScreenTest::start_up(&home, &file, window(100, 40));
    screen.wait_until("all CronJobs", |it| it.contains("10000 CronJobs") && it.contains("-0000"));
    screen.press(END);
    let text = screen.wait_for("default/job-9999");
    assert!(text.contains("of 10000"), "{text}");
    screen.press("/567");
    let is_filtered =
        |it: &str| it.contains("job-0567") && it.contains("job-5670") && !it.contains("-0000");
    let text = screen.wait_until("the filter", is_filtered);
    assert!(text.contains("default/job-5679"), "{text}");
    screen.resize(window(300, 80));
    screen.wait_until("the filter", is_filtered);
    screen.press(ESCAPE);
    screen.wait_for("default/job-0000");
    screen.signal(Signal::INT);
    screen.wait_for_end();
    screen.assert_restored();
}

#[test]
fn a_paused_view_gives_the_terminal_back_and_returns() {
    let home = TestHome::new();
    let mut screen = ScreenTest::start_up(&home, &write(&home, &[("a", "true")]), window(80, 24));
    wait_for_view(&screen, "default/a");
    screen.signal(Signal::TSTP);
    screen.wait_until_stopped();
    screen.wait_for_shell_screen();
    screen.assert_restored();
    screen.signal(Signal::CONT);
    screen.wait_until("the view", screen_is_view);
    screen.press("/a");
    screen.wait_for("/a");
    // A process that is stopped without a warning draws its screen again, too.
    screen.signal(Signal::STOP);
    screen.wait_until_stopped();
    screen.signal(Signal::CONT);
    screen.press(ESCAPE);
    screen.wait_until("the view", screen_is_view);
    screen.signal(Signal::TERM);
    screen.wait_for_end();
    screen.assert_restored();
}

/// Waits until the view shows a CronJob. The lines that are printed at the start name it, too.
fn wait_for_view(screen: &ScreenTest, name: &str) -> String {
    screen.wait_until("the view", |text| text.contains("CRONJOB") && text.contains(name))
}

fn screen_is_view(text: &str) -> bool {
    text.contains("CRONJOB") && text.contains("? help")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_accepts_no_output_stops_neither_runs_nor_the_end() {
    let home = TestHome::new();
    let file = write(&home, &[("a", "true")]);
    let mut screen = ScreenTest::start_up(&home, &file, window(300, 80));
    wait_for_view(&screen, "default/a");
    let client = home.client().await;
    let stalled = screen.stalled.clone();
    let stall = stalled.lock().await;
    // Fills the buffer of the terminal.
    for _ in 0..100 {
        screen.press(REDRAW);
    }
    run_pod(&client, "runs", "true").await;
    wait_for_phase(&client, "runs", "Succeeded").await;
    screen.signal(Signal::TERM);
    assert!(screen.child.wait().unwrap().success());
    drop(stall);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_the_daemon_do_not_garble_the_screen_and_are_kept() {
    let home = TestHome::new();
    let file = write(&home, &[("a", "true")]);
    let mut screen = ScreenTest::start_up(&home, &file, window(100, 24));
    wait_for_view(&screen, "default/a");
    home.write("m.yaml", &cron_job("a", "true").replace("0 0 1 1 *", "61 * * * *"));
    let text = screen.wait_for("(m)");
    assert!(!text.contains("ERROR") && text.contains("default/a"), "{text}");
    screen.press("m");
    let text = screen.wait_for("spec.schedule: Invalid");
    assert!(text.contains("manifests have errors"), "{text}");
    screen.press(ESCAPE);
    let cron_jobs = api(&home.client().await, "batch/v1", "CronJob");
    home.write("m.yaml", &cron_job("a", "true").replace("0 0 1 1 *", "1 * * * *"));
    wait_for_status(cron_jobs, "a", |status| !status["nextScheduleTime"].is_null()).await;
    screen.signal(Signal::TERM);
    screen.wait_for_end();
    let text = screen.wait_for("spec.schedule: Invalid");
    assert!(text.contains("stopped"), "what was logged is printed at the end: {text}");
}

#[test]
fn in_the_background_and_with_plain_lines_are_printed() {
    let home = TestHome::new();
    let file = write(&home, &[("a", "true")]);
    for script in ["set -m; \"$0\" up FILE & wait", "exec \"$0\" up --plain FILE"] {
        let script = script.replace("FILE", &file);
        let screen = ScreenTest::start(&home, &script, window(100, 24));
        screen.wait_for("try: ");
        assert!(!screen.raw().contains("\x1b[?1049h"), "{}", screen.raw());
        let pid =
            std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", screen.child.id()));
        for child in pid.unwrap_or_default().split_whitespace() {
            let child = rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap();
            rustix::process::kill_process(child, Signal::TERM).unwrap();
        }
        screen.signal(Signal::TERM);
        screen.wait_for("stopped");
    }
}
