//! Tests of the correlator: counting, combining and dropping events.

use punctual_api::event::PendingEvent;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn source() -> EventSource {
    EventSource { component: "cronjob-controller".to_owned(), host: String::new() }
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

struct TestCorrelator(Correlator);

impl TestCorrelator {
    fn new() -> TestCorrelator {
        TestCorrelator(Correlator::new(source(), 64))
    }

    fn correlate(&mut self, name: &str, event: &PendingEvent, second: i64) -> Option<EventWrite> {
        self.0.correlate(QueuedEvent::new(&object(name), event, at(second)))
    }

    /// The write for an event about `a` as text: `+` if it is new, its count, its message; empty if
    /// nothing is written.
    fn describe(&mut self, message: &str, second: i64) -> String {
        let write = self.correlate("a", &PendingEvent::normal("Why", message), second);
        write.map_or_else(String::new, |EventWrite { event, is_new }| {
            format!("{}{} {}", if is_new { "+" } else { "" }, event.count, event.message)
        })
    }
}

#[test]
fn an_event_has_all_fields_that_kubernetes_writes() {
    let event = PendingEvent::warning("Why", "what");
    let event = TestCorrelator::new().correlate("a", &event, 5).unwrap().event;
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
fn an_event_about_a_cluster_scoped_object_is_in_the_default_namespace() {
    let mut node = object("node");
    node.namespace.clear();
    let queued = QueuedEvent::new(&node, &PendingEvent::normal("Why", "what"), at(0));
    let event = TestCorrelator::new().0.correlate(queued).unwrap().event;
    assert_eq!(event.metadata.namespace, "default");
    assert_eq!(event.involved_object.namespace, "");
}

#[test]
fn a_repeated_event_is_counted() {
    let mut correlator = TestCorrelator::new();
    let first = correlator.correlate("a", &PendingEvent::normal("Why", "x"), 0).unwrap().event;
    let again = correlator.correlate("a", &PendingEvent::normal("Why", "x"), 60).unwrap();
    assert!(!again.is_new);
    assert_eq!(again.event.metadata.name, first.metadata.name);
    assert_eq!(again.event.first_timestamp, first.first_timestamp);
    assert_eq!(again.event.last_timestamp, Some(Time::new(at(60))));
    assert_eq!(again.event.count, 2);
    // Another type, object or reason makes another event.
    for (name, event) in [
        ("a", PendingEvent::warning("Why", "x")),
        ("b", PendingEvent::normal("Why", "x")),
        ("a", PendingEvent::normal("How", "x")),
    ] {
        assert!(correlator.correlate(name, &event, 60).unwrap().is_new, "{name} {event}");
    }
}

#[test]
fn the_tenth_similar_event_is_combined_with_those_that_follow() {
    let mut correlator = TestCorrelator::new();
    for number in 1..10 {
        assert_eq!(correlator.describe(&number.to_string(), number), format!("+1 {number}"));
    }
    assert_eq!(correlator.describe("10", 10), "+1 (combined from similar events): 10");
    assert_eq!(correlator.describe("11", 11), "2 (combined from similar events): 11");
    // An event that was recorded separately is still counted separately.
    assert_eq!(correlator.describe("3", 12), "2 3");
    // Events are combined as long as pauses are at most ten minutes.
    assert_eq!(correlator.describe("12", 12 + 600), "3 (combined from similar events): 12");
    assert_eq!(correlator.describe("13", 12 + 600 + 601), "+1 13");
}

#[test]
fn events_above_the_rate_limit_are_counted_but_not_written() {
    let mut correlator = TestCorrelator::new();
    let written = (0..30).filter(|second| !correlator.describe("x", *second).is_empty()).count();
    assert_eq!(written, 25);
    // Other objects and other types have their own limits.
    assert!(correlator.correlate("b", &PendingEvent::normal("Why", "x"), 30).is_some());
    assert!(correlator.correlate("a", &PendingEvent::warning("Why", "x"), 30).is_some());
    // The limit allows one more event in five minutes.
    assert_eq!(correlator.describe("x", 299), "");
    assert_eq!(correlator.describe("x", 301), "32 x");
    assert_eq!(correlator.describe("x", 302), "");
}

#[test]
fn events_are_written_after_the_clock_was_set_back() {
    let mut correlator = TestCorrelator::new();
    assert_eq!(correlator.describe("x", 1_000), "+1 x");
    assert_eq!(correlator.describe("x", 0), "2 x");
    assert_eq!(correlator.describe("y", 0), "+1 y");
}

#[test]
fn names_are_unique_and_not_too_long() {
    let mut correlator = TestCorrelator::new();
    let first = PendingEvent::normal("Why", "x");
    let second = PendingEvent::normal("Why", "y");
    let mut name = |object: &str, event: &PendingEvent| {
        correlator.correlate(object, event, 0).unwrap().event.metadata.name
    };
    assert_ne!(name("a", &first), name("a", &second));
    let long = format!("{}.{}", "a".repeat(235), "b".repeat(17));
    let name = name(&long, &first);
    assert!(name.len() <= NAME_BYTES_MAX);
    assert!(name.starts_with(&format!("{}.1797", "a".repeat(235))), "{name}");
}

#[test]
fn a_combined_message_is_truncated() {
    let mut correlator = TestCorrelator::new();
    for number in 0..20 {
        let message = format!("{number}{}", "é".repeat(MESSAGE_BYTES_MAX));
        let event = PendingEvent::normal("Why", message);
        let write = correlator.correlate("a", &event, number).unwrap();
        assert!(write.event.message.len() <= MESSAGE_BYTES_MAX);
    }
}

#[test]
fn any_number_of_objects_takes_bounded_memory() {
    let mut correlator = Correlator::new(source(), 8);
    let event = PendingEvent::normal("Why", "x");
    let mut correlate =
        |name: &str| correlator.correlate(QueuedEvent::new(&object(name), &event, at(0)));
    for number in 0..1_000 {
        assert!(correlate(&number.to_string()).unwrap().is_new);
    }
    // The last objects are remembered, the first ones are evicted.
    assert!(!correlate("999").unwrap().is_new);
    assert!(correlate("0").unwrap().is_new);
}
