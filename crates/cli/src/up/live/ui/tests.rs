//! Tests of what keys do.

use super::*;
use crate::up::view_model::tests::{cron_job, job, listed, put_cron_job, put_job};

const NEXT: &str = "2026-01-01T00:01:00Z";

fn model() -> ViewModel {
    let suspended = CronJobSummary { is_suspended: true, ..cron_job("n/off", NEXT) };
    listed(vec![
        put_cron_job(cron_job("n/a", NEXT)),
        put_cron_job(cron_job("n/b", NEXT)),
        put_cron_job(suspended),
        put_job(job("n/a-1", None)),
    ])
}

/// Presses keys, and draws after each as the view does. Returns the actions.
fn press(ui: &mut Ui, model: &mut ViewModel, keys: &[Key]) -> Vec<ViewAction> {
    let mut actions = Vec::new();
    for key in keys {
        actions.extend(ui.handle_key(*key, model));
        model.cron_jobs.prepare();
        let length = model.cron_jobs.matching();
        ui.cron_jobs.fit(length, 10, |uid| model.cron_jobs.position(uid));
        ui.runs.fit(run_count(model), 10, |_| None);
        ui.remember_selection(model);
    }
    actions
}

fn started() -> (Ui, ViewModel) {
    let mut ui = Ui::default();
    let mut model = model();
    press(&mut ui, &mut model, &[Key::Up]);
    (ui, model)
}

fn keys(text: &str) -> Vec<Key> {
    text.chars().map(Key::Char).collect()
}

fn target(name: &str) -> CronJobTarget {
    CronJobTarget { kind: WatchedKind::CronJob, name: name.into() }
}

#[test]
fn changes_need_an_answer_and_concern_the_selected_cron_job() {
    let (mut ui, mut model) = started();
    assert_eq!(press(&mut ui, &mut model, &keys("jt")), []);
    assert!(ui.question.as_ref().unwrap().text.contains("n/b"));
    assert_eq!(press(&mut ui, &mut model, &keys("y")), [ViewAction::Trigger(target("n/b"))]);
    for answer in ["n", "q", "x"] {
        assert_eq!(press(&mut ui, &mut model, &keys(&format!("t{answer}"))), [], "{answer}");
        assert!(ui.question.is_none());
    }
    assert_eq!(press(&mut ui, &mut model, &[Key::Char('t'), Key::Enter]), []);
    assert_eq!(press(&mut ui, &mut model, &keys("sy")), [ViewAction::Suspend(target("n/b"))]);
    assert_eq!(press(&mut ui, &mut model, &keys("Gsy")), [ViewAction::Resume(target("n/off"))]);
    assert_eq!(press(&mut ui, &mut model, &keys("qy")), [ViewAction::Quit]);
}

#[test]
fn an_answer_is_for_the_object_of_the_question_even_if_the_list_changes() {
    let (mut ui, mut model) = started();
    press(&mut ui, &mut model, &keys("t"));
    let failing = CronJobSummary { failures: 1, ..cron_job("n/b", NEXT) };
    model.apply(put_cron_job(failing));
    assert_eq!(press(&mut ui, &mut model, &keys("y")), [ViewAction::Trigger(target("n/a"))]);
}

#[test]
fn the_filter_is_edited_kept_and_cleared() {
    let (mut ui, mut model) = started();
    press(&mut ui, &mut model, &keys("/susq"));
    assert_eq!((ui.filter.as_str(), model.cron_jobs.matching()), ("susq", 0));
    press(&mut ui, &mut model, &[Key::Backspace, Key::Enter]);
    assert_eq!((ui.filter.as_str(), ui.is_editing_filter), ("sus", false));
    let actions = press(&mut ui, &mut model, &[Key::Enter]);
    assert_eq!(actions, [ViewAction::ShowDetails(target("n/off"))]);
    press(&mut ui, &mut model, &[Key::Escape]);
    assert_eq!(model.cron_jobs.matching(), 3);
    press(&mut ui, &mut model, &keys(&format!("/{}", "x".repeat(1_000))));
    assert_eq!(ui.filter.len(), FILTER_LEN_MAX);
    press(&mut ui, &mut model, &[Key::Control('u')]);
    assert_eq!(ui.filter, "");
}

#[test]
fn logs_are_opened_from_both_lists() {
    let (mut ui, mut model) = started();
    let actions = press(&mut ui, &mut model, &keys("l"));
    assert_eq!(actions, [ViewAction::ShowLatestLog(target("n/a"))]);
    let actions = press(&mut ui, &mut model, &[Key::Tab, Key::Enter]);
    assert_eq!(actions, [ViewAction::ShowJobLog("n/a-1".into())]);
    assert_eq!(
        press(&mut ui, &mut model, &keys("ts")),
        [],
        "runs are neither started nor suspended"
    );
}

#[test]
fn pages_are_closed_without_stopping_anything() {
    let (mut ui, mut model) = started();
    for open in ["?", "m"] {
        press(&mut ui, &mut model, &keys(open));
        assert!(ui.page.is_some());
        assert_eq!(press(&mut ui, &mut model, &keys("q")), [ViewAction::ClosePage]);
        assert!(ui.page.is_none() && ui.question.is_none());
    }
    assert_eq!(press(&mut ui, &mut model, &keys("d")), [ViewAction::IssueDashboardLink]);
}

#[test]
fn messages_are_counted_until_they_are_read_and_cleaned() {
    let (mut ui, mut model) = started();
    ui.add_message("\x1b[31mERROR\x1b[0m no");
    assert_eq!(ui.unread_messages, 1);
    press(&mut ui, &mut model, &keys("m"));
    assert_eq!(ui.unread_messages, 0);
    assert_eq!(ui.messages.rows(80, 5), ["ERROR no"]);
}

#[test]
fn no_sequence_of_keys_causes_a_panic() {
    let all: Vec<Key> = "jkgGlotsmdqyn?h/ x"
        .chars()
        .map(Key::Char)
        .chain([Key::Enter, Key::Escape, Key::Tab, Key::Backspace, Key::PageDown, Key::End])
        .collect();
    let (mut ui, mut model) = started();
    let mut empty = ViewModel::default();
    let mut state = 1_u64;
    for _ in 0..20_000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = all[(state >> 33) as usize % all.len()];
        let model = if state.is_multiple_of(3) { &mut empty } else { &mut model };
        press(&mut ui, model, &[key]);
    }
}
