//! Facts recorded from robfig/cron v3.0.1 and by walking every minute, as they are to be answered.

use serde::Deserialize;

/// A schedule and its next slots.
#[derive(Deserialize)]
pub(crate) struct Slots {
    pub(crate) expr: String,
    pub(crate) tz: String,
    pub(crate) after: String,
    /// Successive slots, `""` where there is no further one.
    pub(crate) next: Vec<String>,
}

/// A text and what the parser said.
#[derive(Deserialize)]
pub(crate) struct Parsed {
    pub(crate) expr: String,
    pub(crate) ok: bool,
    #[serde(default)]
    err: String,
}

/// The one recorded answer that the rule itself contradicts. On Saturday, 1992-10-24 the clocks of
/// St. John's showed Sunday 00:00 for a minute and were then put back to Saturday 23:01, so 23:46
/// came a second time, at 03:16 UTC. The record skips it, as robfig/cron does: once it has seen the
/// Sunday it does not look at the Saturday again.
const ERRATUM: (&str, &str) = ("46 * * * sat,1,2,3", "1992-10-24T23:57:52Z");
const ERRATUM_LAST: (&str, &str) = ("1992-10-26T04:16:00Z", "1992-10-25T03:16:00Z");

pub(crate) fn slots() -> Vec<Slots> {
    let mut recorded: Vec<Slots> = lines(include_str!("../../testdata/schedule.jsonl"));
    assert_eq!(recorded.len(), 5_907);
    let mut wrong = recorded.iter_mut().filter(|slots| (&*slots.expr, &*slots.after) == ERRATUM);
    let last = wrong.next().and_then(|slots| slots.next.last_mut()).expect("the erratum is there");
    assert_eq!(last, ERRATUM_LAST.0);
    *last = ERRATUM_LAST.1.into();
    recorded
}

pub(crate) fn texts() -> Vec<Parsed> {
    let mut recorded: Vec<Parsed> = lines(include_str!("../../testdata/parse.jsonl"));
    assert_eq!(recorded.len(), 983);
    recorded.extend(lines::<Parsed>(include_str!("../../testdata/parse_more.jsonl")));
    recorded
}

fn lines<T: for<'a> Deserialize<'a>>(text: &str) -> Vec<T> {
    text.lines().map(|line| serde_json::from_str(line).expect("a recorded line")).collect()
}

impl Parsed {
    /// Fails unless the error, or its absence, is as recorded.
    pub(crate) fn check(&self, error: Option<&str>) {
        match error {
            None => assert!(self.ok, "{:?} is accepted", self.expr),
            // Where robfig/cron panics any error will do.
            Some(error) if self.err.starts_with("panic") => assert!(!error.is_empty()),
            Some(error) => assert_eq!(error, self.error(), "{:?}", self.expr),
        }
    }

    /// Some texts were recorded from bytes that are not UTF-8. JSON turned each such byte into a
    /// replacement character, in the expression and in the error, but for where Go had already
    /// written it as `\xNN`. What can be given to us is the replacement character, so that is what
    /// we answer.
    fn error(&self) -> String {
        if !self.expr.contains('\u{fffd}') {
            return self.err.clone();
        }
        let mut parts = self.err.split("\\x");
        let first = parts.next().unwrap_or_default().to_string();
        parts.fold(first, |text, part| text + "\u{fffd}" + &part[2..])
    }
}
