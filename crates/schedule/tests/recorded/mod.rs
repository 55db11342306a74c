//! Reads the vectors recorded from robfig/cron v3.0.1 and from a check of every minute.

use serde::Deserialize;

/// A schedule with its next slots.
#[derive(Deserialize)]
pub(crate) struct RecordedSlots {
    pub(crate) expr: String,
    pub(crate) tz: String,
    pub(crate) after: String,
    /// Successive slots; `""` means that there is no further slot.
    pub(crate) next: Vec<String>,
}

/// A text with the result of robfig/cron's parser.
#[derive(Deserialize)]
pub(crate) struct RecordedParse {
    pub(crate) expr: String,
    pub(crate) ok: bool,
    #[serde(default)]
    err: String,
}

/// The only recorded vector that contradicts the rule. On Saturday 1992-10-24 the clocks of St.
/// John's showed Sunday 00:00 for a minute and were then set back to Saturday 23:01, so 23:46 occurred
/// again at 03:16 UTC. The vector omits that slot, like robfig/cron, which does not return to the
/// Saturday after it has reached the Sunday.
const ERRATUM: (&str, &str) = ("46 * * * sat,1,2,3", "1992-10-24T23:57:52Z");
const ERRATUM_LAST: (&str, &str) = ("1992-10-26T04:16:00Z", "1992-10-25T03:16:00Z");

pub(crate) fn read_slots() -> Vec<RecordedSlots> {
    let mut recorded: Vec<RecordedSlots> =
        parse_lines(include_str!("../../testdata/schedule.jsonl"));
    assert_eq!(recorded.len(), 5_907);
    let mut wrong = recorded.iter_mut().filter(|slots| (&*slots.expr, &*slots.after) == ERRATUM);
    let last = wrong
        .next()
        .and_then(|slots| slots.next.last_mut())
        .expect("the vectors contain the erratum");
    assert_eq!(last, ERRATUM_LAST.0);
    *last = ERRATUM_LAST.1.into();
    recorded
}

pub(crate) fn read_parse_results() -> Vec<RecordedParse> {
    let mut recorded: Vec<RecordedParse> = parse_lines(include_str!("../../testdata/parse.jsonl"));
    assert_eq!(recorded.len(), 983);
    recorded.extend(parse_lines::<RecordedParse>(include_str!("../../testdata/parse_more.jsonl")));
    recorded
}

fn parse_lines<T: for<'a> Deserialize<'a>>(text: &str) -> Vec<T> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line is a JSON object")).collect()
}

impl RecordedParse {
    /// Panics unless the error, or its absence, equals the recorded one.
    pub(crate) fn compare(&self, error: Option<&str>) {
        match error {
            None => assert!(self.ok, "{:?} was accepted", self.expr),
            // Any error is right where robfig/cron panics.
            Some(error) if self.err.starts_with("panic") => assert!(!error.is_empty()),
            Some(error) => assert_eq!(error, self.expected_error(), "{:?}", self.expr),
        }
    }

    /// Returns the recorded error for the text as stored. Some texts were recorded from bytes that
    /// are not UTF-8. JSON stores such a byte as a replacement character, except where Go had
    /// already written it as `\xNN` in the error.
    fn expected_error(&self) -> String {
        if !self.expr.contains('\u{fffd}') {
            return self.err.clone();
        }
        let mut parts = self.err.split("\\x");
        let first = parts.next().unwrap_or_default().to_string();
        parts.fold(first, |text, part| text + "\u{fffd}" + &part[2..])
    }
}
