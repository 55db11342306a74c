use punctual_engine::Note;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn object(name: &str) -> ObjectReference {
    ObjectReference {
        kind: "CronJob".to_owned(),
        namespace: "n".to_owned(),
        name: name.to_owned(),
        uid: format!("uid of {name}"),
        api_version: "batch/v1".to_owned(),
        ..ObjectReference::default()
    }
}

/// A correlator, and what it makes of notes about one object.
struct Case(Correlator);

impl Case {
    fn new() -> Case {
        Case(Correlator::new("cronjob-controller", 64))
    }

    fn see(&mut self, name: &str, note: &Note, second: i64) -> Option<Entry> {
        self.0.correlate(Draft::new(&object(name), note, at(second)))
    }

    /// How a message about `a` comes out: `+` for a new event, its count, its message; empty if it
    /// is not written.
    fn tell(&mut self, message: &str, second: i64) -> String {
        let entry = self.see("a", &Note::normal("Why", message), second);
        entry.map_or_else(String::new, |Entry { event, is_new }| {
            format!("{}{} {}", if is_new { "+" } else { "" }, event.count, event.message)
        })
    }
}

#[test]
fn an_event_has_all_that_kubernetes_writes() {
    let note = Note::warning("Why", "what");
    let event = Case::new().see("a", &note, 5).unwrap().event;
    let expected = serde_json::json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": "a.17979cff602ff200", "namespace": "n"},
        "involvedObject": {"apiVersion": "batch/v1", "kind": "CronJob", "namespace": "n",
            "name": "a", "uid": "uid of a"},
        "reason": "Why", "message": "what", "type": "Warning", "count": 1,
        "source": {"component": "cronjob-controller"},
        "firstTimestamp": "2023-11-14T22:13:25Z", "lastTimestamp": "2023-11-14T22:13:25Z",
        "eventTime": null,
        "reportingComponent": "cronjob-controller", "reportingInstance": "",
    });
    assert_eq!(serde_json::to_value(event).unwrap(), expected);
}

#[test]
fn what_has_no_namespace_has_its_events_in_the_default_one() {
    let mut about = object("node");
    about.namespace.clear();
    let draft = Draft::new(&about, &Note::normal("Why", "what"), at(0));
    let event = Case::new().0.correlate(draft).unwrap().event;
    assert_eq!(event.metadata.namespace, "default");
    assert_eq!(event.involved_object.namespace, "");
}

#[test]
fn the_same_event_again_is_counted() {
    let mut case = Case::new();
    let first = case.see("a", &Note::normal("Why", "x"), 0).unwrap().event;
    let again = case.see("a", &Note::normal("Why", "x"), 60).unwrap();
    assert!(!again.is_new);
    assert_eq!(again.event.metadata.name, first.metadata.name);
    assert_eq!(again.event.first_timestamp, first.first_timestamp);
    assert_eq!(again.event.last_timestamp, Some(Time::new(at(60))));
    assert_eq!(again.event.count, 2);
    // Of another type, about another object, or for another reason it is another event.
    for (name, note) in [
        ("a", Note::warning("Why", "x")),
        ("b", Note::normal("Why", "x")),
        ("a", Note::normal("How", "x")),
    ] {
        assert!(case.see(name, &note, 60).unwrap().is_new, "{name} {note}");
    }
}

#[test]
fn the_tenth_that_is_alike_becomes_one_with_those_that_follow() {
    let mut case = Case::new();
    for number in 1..10 {
        assert_eq!(case.tell(&number.to_string(), number), format!("+1 {number}"));
    }
    assert_eq!(case.tell("10", 10), "+1 (combined from similar events): 10");
    assert_eq!(case.tell("11", 11), "2 (combined from similar events): 11");
    // What was told on its own is counted on its own.
    assert_eq!(case.tell("3", 12), "2 3");
    // It goes on as long as the pauses are no longer than ten minutes.
    assert_eq!(case.tell("12", 12 + 600), "3 (combined from similar events): 12");
    assert_eq!(case.tell("13", 12 + 600 + 601), "+1 13");
}

#[test]
fn too_many_about_one_object_are_not_written_but_counted() {
    let mut case = Case::new();
    let told = (0..30).filter(|second| !case.tell("x", *second).is_empty()).count();
    assert_eq!(told, 25);
    // Other objects and other types have their own.
    assert!(case.see("b", &Note::normal("Why", "x"), 30).is_some());
    assert!(case.see("a", &Note::warning("Why", "x"), 30).is_some());
    // One more in five minutes.
    assert_eq!(case.tell("x", 299), "");
    assert_eq!(case.tell("x", 301), "32 x");
    assert_eq!(case.tell("x", 302), "");
}

#[test]
fn a_clock_that_is_set_back_stops_nothing() {
    let mut case = Case::new();
    assert_eq!(case.tell("x", 1_000), "+1 x");
    assert_eq!(case.tell("x", 0), "2 x");
    assert_eq!(case.tell("y", 0), "+1 y");
}

#[test]
fn no_name_is_made_twice_and_none_is_too_long() {
    let mut case = Case::new();
    let (first, second) = (Note::normal("Why", "x"), Note::normal("Why", "y"));
    let mut name = |about: &str, note: &Note| case.see(about, note, 0).unwrap().event.metadata.name;
    assert_ne!(name("a", &first), name("a", &second));
    let long = format!("{}.{}", "a".repeat(235), "b".repeat(17));
    let name = name(&long, &first);
    assert!(name.len() <= NAME_BYTES_MAX);
    assert!(name.starts_with(&format!("{}.1797", "a".repeat(235))), "{name}");
}

#[test]
fn a_message_stays_short_when_it_is_combined() {
    let mut case = Case::new();
    for number in 0..20 {
        let message = format!("{number}{}", "é".repeat(MESSAGE_BYTES_MAX));
        let entry = case.see("a", &Note::normal("Why", message), number).unwrap();
        assert!(entry.event.message.len() <= MESSAGE_BYTES_MAX);
    }
}

#[test]
fn any_number_of_objects_takes_bounded_memory() {
    let mut correlator = Correlator::new("c", 8);
    let note = Note::normal("Why", "x");
    let mut see = |name: &str| correlator.correlate(Draft::new(&object(name), &note, at(0)));
    for number in 0..1_000 {
        assert!(see(&number.to_string()).unwrap().is_new);
    }
    // The last ones are known, the first are not any more.
    assert!(!see("999").unwrap().is_new);
    assert!(see("0").unwrap().is_new);
}
