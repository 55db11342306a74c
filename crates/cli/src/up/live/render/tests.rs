//! Tests of frames.

use punctual_schedule::Zones;

use super::*;
use crate::up::live::text_page::TextPage;
use crate::up::view_model::tests::{cron_job, job, listed, put_cron_job, put_job};
use crate::up::view_model::{JobEnd, JobSummary, LastRun};

const NOW: &str = "2026-01-01T12:00:07Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn options() -> FrameOptions {
    let zone = Zones::bundled().get("Europe/Berlin").unwrap();
    FrameOptions { zone, url: "https://127.0.0.1:6443".into() }
}

fn model() -> ViewModel {
    let last = |result, end| {
        let took = Some(SignedDuration::from_secs(3));
        Some(LastRun { result, end: Some(at(end)), took })
    };
    let hello = CronJobSummary {
        last_run: last(RunResult::Succeeded, "2026-01-01T11:59:03Z"),
        active: 1,
        ..cron_job("default/hello", "2026-01-01T12:01:00Z")
    };
    let backup = CronJobSummary {
        failures: 2,
        last_run: last(RunResult::Failed, "2026-01-01T11:02:05Z"),
        ..cron_job("ops/backup", "2026-01-02T12:00:00Z")
    };
    let report = CronJobSummary {
        is_suspended: true,
        zone: Some("Asia/Tokyo".into()),
        ..cron_job("default/report", NOW)
    };
    let running = JobSummary { since: at("2026-01-01T12:00:00Z"), ..job("default/hello-2", None) };
    let error = Some("BackoffLimitExceeded: no\x1b[2J way".into());
    let end = JobEnd { at: at("2026-01-01T11:02:05Z"), error };
    let failed = JobSummary {
        since: at("2026-01-01T11:00:00Z"),
        end: Some(end),
        ..job("ops/backup-1", None)
    };
    let cron_jobs = [hello, backup, report].map(put_cron_job);
    listed(cron_jobs.into_iter().chain([put_job(running), put_job(failed)]).collect())
}

fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let rows = buffer.content().chunks(width);
    let row = |cells: &[ratatui_core::buffer::Cell]| {
        let text: String = cells.iter().map(|cell| cell.symbol()).collect();
        format!("{}\n", text.trim_end())
    };
    rows.map(row).collect()
}

fn frame(ui: &mut Ui, model: &mut ViewModel, columns: u16, rows: u16) -> Buffer {
    render(ui, model, &options(), at(NOW), Rect::new(0, 0, columns, rows))
}

fn shown(columns: u16, rows: u16) -> String {
    text(&frame(&mut Ui::default(), &mut model(), columns, rows))
}

#[test]
fn a_wide_window_shows_all_columns_and_names_one_time_zone() {
    let want = "\
Punctual  1 failing  13:00:07 Europe/Berlin  3 CronJobs  1 running  1 suspended             https://127.0.0.1:6443
CRONJOB         STATE      IN       NEXT (Europe/Berlin)  LAST           TOOK  ACTIVE  SCHEDULE
ops/backup      failing 2  23h 59m  Fri 2026-01-02 13:00  failed 58m ago  3s    0       * * * * *
default/hello   running    53s      13:01:00              ok 1m ago       3s    1       * * * * *
default/report  suspended  -        -                     -               -     0       * * * * * Asia/Tokyo



RUN              STATE    TOOK   ENDED
default/hello-2  running  7s     -
ops/backup-1     failed   2m 5s  58m ago  BackoffLimitExceeded: no way
? help  q quit  / filter  Enter details  l log  t trigger  s suspend or resume  Tab runs  o order: failing first
";
    assert_eq!(shown(114, 12), want.replace("LAST           TOOK", "LAST            TOOK"));
}

#[test]
fn a_narrow_window_keeps_names_states_and_the_next_run() {
    let want = "\
Punctual  1 failing  13:00:07 Eu
CRONJOB       STATE      IN
ops/backup    failing 2  23h 59m
defaul…hello  running    53s
defaul…eport  suspended  -
? help  q quit  / filter
";
    assert_eq!(shown(32, 6), want);
    assert_eq!(shown(10, 2), "Punctual\nops/backup\n");
}

#[test]
fn frames_of_every_size_are_drawn() {
    let mut model = model();
    for number in 0..200 {
        let name = format!("default/a-long-name-of-a-cronjob-{number}");
        model.apply(put_cron_job(cron_job(&name, "2026-01-01T12:01:00Z")));
    }
    let mut ui = Ui::default();
    for columns in [0, 1, 2, 9, 10, 33, 80, 300] {
        for rows in (0..30).chain([80]) {
            let buffer = frame(&mut ui, &mut model, columns, rows);
            assert_eq!((buffer.area.width, buffer.area.height), (columns, rows));
            if columns >= 10 && rows > 0 {
                let text = text(&buffer);
                assert!(text.lines().all(|line| !line.is_empty()), "{columns}x{rows}:\n{text}");
            }
        }
    }
}

#[test]
fn the_selected_row_is_marked_and_stays_visible() {
    let mut model = model();
    for number in 0..100 {
        let name = format!("default/job-{number:02}");
        model.apply(put_cron_job(cron_job(&name, "2026-01-01T12:01:00Z")));
    }
    let mut ui = Ui::default();
    frame(&mut ui, &mut model, 80, 24);
    ui.handle_key(crate::up::live::keys::Key::End, &mut model);
    let buffer = frame(&mut ui, &mut model, 100, 24);
    let marked = |y: u16| buffer[(0, y)].modifier.contains(Modifier::REVERSED);
    let marked: Vec<u16> = (0..24).filter(|y| marked(*y)).collect();
    assert_eq!(marked.len(), 1);
    let text = text(&buffer);
    let line = text.lines().nth(marked[0].into()).unwrap();
    assert!(line.starts_with("default/report"), "suspended ones are last: {line}");
    assert!(text.contains(" of 103"), "{text}");
}

#[test]
fn objects_that_are_not_read_yet_do_not_look_deleted() {
    let mut ui = Ui::default();
    let text_of = |ui: &mut Ui, model: &mut ViewModel| text(&frame(ui, model, 80, 10));
    assert!(text_of(&mut ui, &mut ViewModel::default()).contains("reading objects…"));
    let shown = text_of(&mut ui, &mut listed(vec![]));
    assert!(shown.contains("No CronJobs yet. Create one with"), "{shown}");
}

#[test]
fn questions_and_notices_replace_the_keys_even_in_a_low_window() {
    let mut ui = Ui::default();
    let mut model = model();
    frame(&mut ui, &mut model, 80, 3);
    ui.handle_key(crate::up::live::keys::Key::Char('t'), &mut model);
    let text_of = |ui: &mut Ui, model: &mut ViewModel| text(&frame(ui, model, 30, 3));
    let shown = text_of(&mut ui, &mut model);
    assert!(shown.ends_with("now? [y/N]\n"), "{shown}");
    ui.question = None;
    ui.warn("no \x1b[2Jrun");
    assert!(text_of(&mut ui, &mut model).ends_with("no run\n"));
}

#[test]
fn a_page_covers_the_lists_and_says_where_it_is() {
    let mut ui = Ui::default();
    let mut page = TextPage::tail("Log of default/a-1");
    (0..100).for_each(|number| page.push(format!("line {number}")));
    ui.page = Some(OpenPage::Text(page));
    let want = "\
Log of default/a-1             97-100 of 100
line 96
line 97
line 98
line 99
Esc close  Up Down PgUp PgDn Home End scroll
";
    assert_eq!(text(&frame(&mut ui, &mut model(), 44, 6)), want);
}
