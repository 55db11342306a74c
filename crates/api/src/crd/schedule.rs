//! The grammar of schedules as rules in the Common Expression Language (CEL), with which a cluster
//! rejects a ScheduledJob (our custom resource with the schema of CronJob) whose schedule is wrong.
//!
//! The valid fields of a schedule form a regular language, including bounds and the order of
//! ranges, so the expressions are exact. They are generated from the bounds because they are too
//! long to write by hand. Two exceptions: steps with more than 18 digits are rejected, and `@at`
//! accepts only the extended form of ISO 8601.

use serde_json::{Value, json};

/// A field of a schedule.
struct ScheduleField {
    name: &'static str,
    low: u32,
    high: u32,
    /// The names of the values, starting with the lowest.
    names: &'static [&'static str],
}

const FIELDS: [ScheduleField; 5] = [
    ScheduleField { name: "minute", low: 0, high: 59, names: &[] },
    ScheduleField { name: "hour", low: 0, high: 23, names: &[] },
    ScheduleField { name: "day of the month", low: 1, high: 31, names: &[] },
    ScheduleField {
        name: "month",
        low: 1,
        high: 12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    ScheduleField {
        name: "day of the week",
        low: 0,
        high: 6,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

/// Fields are separated by Unicode white space.
const WORD: &str = r"[^\s\v\x{85}\p{Z}]+";
const DESCRIPTORS: &str =
    "['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']";
const DURATION: &str =
    r"^@every [+-]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|\x{b5}s|\x{3bc}s|ms|s|m|h))+)$";
/// Valid dates by length of month, including February 29 of leap years.
const DATE: &str = concat!(
    r"([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])",
    r"|[0-9]{4}-(0[13-9]|1[0-2])-(29|30)",
    r"|[0-9]{4}-(0[13578]|1[02])-31",
    r"|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)",
);
/// An optional time of day with an optional offset.
const TIME: &str = concat!(
    r"([Tt ]([01][0-9]|2[0-3])(:[0-5][0-9](:([0-5][0-9]|60)([.,]0{1,9})?)?)?",
    r"([Zz]|[+-]([01][0-9]|2[0-5])(:[0-5][0-9](:[0-5][0-9])?|[0-5][0-9]([0-5][0-9])?)?)?)?",
);
/// The maximum length of a schedule; it bounds the cost of the rules.
const LEN_MAX: usize = 4096;

/// Returns the schema fragment for the struct that has a schedule.
pub(super) fn rules() -> Value {
    let mut rules = vec![
        json!({
            "rule": "!self.contains('TZ')",
            "message": "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        }),
        json!({
            "rule": format!("self.startsWith('@') || self.findAll({}).size() == 5", raw(WORD)),
            "message": "expected exactly 5 fields",
        }),
    ];
    rules.extend(FIELDS.iter().enumerate().map(|(index, field)| field.rule(index)));
    rules.extend(descriptors());
    json!({ "properties": { "schedule": {
        "minLength": 1,
        "maxLength": LEN_MAX,
        "x-kubernetes-validations": rules,
    } } })
}

fn descriptors() -> [Value; 4] {
    [
        json!({
            "rule": format!(
                "!self.startsWith('@') || self.startsWith('@every ') || self.startsWith('@at ') \
                 || self in {DESCRIPTORS}"
            ),
            "messageExpression": "'unrecognized descriptor: ' + self",
        }),
        json!({
            "rule": format!("!self.startsWith('@every ') || self.matches({})", raw(DURATION)),
            "message": "failed to parse duration: expected one like @every 1h30m",
        }),
        json!({
            "rule": format!(
                "!self.matches({}) || duration(self.substring(7)) <= duration('9223372036.854775807s')",
                raw(DURATION)
            ),
            "message": "failed to parse duration: out of range",
        }),
        json!({
            "rule": format!(
                "!self.startsWith('@at ') || self.matches({})", raw(&format!("^@at {DATE}{TIME}$"))
            ),
            "message": "failed to parse time: expected one like @at 2026-12-31T23:59:00Z, \
                        @at 2026-12-31T23:59:00+01:00 or, in the zone, @at 2026-12-31T23:59",
        }),
    ]
}

impl ScheduleField {
    /// Returns the rule for the field at an index. The rule appends a comma to the field, so that one
    /// expression matches every list item.
    fn rule(&self, index: usize) -> Value {
        let words = format!("self.findAll({})", raw(WORD));
        let list = raw(&format!("^(({})?,)+$", self.item()));
        json!({
            "rule": format!(
                "self.startsWith('@') || {words}.size() != 5 || ({words}[{index}] + ',').matches({list})"
            ),
            "message": format!(
                "the {} must be a list of values from {} to {}, ranges and steps",
                self.name, self.low, self.high
            ),
        })
    }

    /// Returns the expression for a list item, such as `1-5/2`. After `*-` any characters are allowed, as
    /// in robfig/cron.
    fn item(&self) -> String {
        let ranges: Vec<_> = (self.low..=self.high)
            .map(|first| {
                format!("{}(-{})?", self.values(first, first), self.values(first, self.high))
            })
            .collect();
        format!(r"([*?](-[^,/]*)?|{})(/\+?0*[1-9][0-9]{{0,17}})?", ranges.join("|"))
    }

    /// Returns the expression for the values between two bounds, as numbers or case-insensitive
    /// names.
    fn values(&self, low: u32, high: u32) -> String {
        let names = self.names.iter().zip(self.low..);
        let names = names.filter(|(_, value)| (low..=high).contains(value));
        let names: String = names.map(|(name, _)| format!("|{}", in_any_case(name))).collect();
        format!(r"(\+?0*({}){names})", numbers(low, high))
    }
}

/// Returns the expression for the numbers between two bounds below 100: `3[7-9]|[4-5][0-9]`. The
/// caller allows leading zeros.
fn numbers(low: u32, high: u32) -> String {
    let tens = |ten: u32| {
        let first = low.max(ten * 10) % 10;
        let last = high.min(ten * 10 + 9) % 10;
        let ten = if ten == 0 { String::new() } else { ten.to_string() };
        if first == last { format!("{ten}{first}") } else { format!("{ten}[{first}-{last}]") }
    };
    let tens: Vec<_> = (low / 10..=high / 10).map(tens).collect();
    tens.join("|")
}

fn in_any_case(name: &str) -> String {
    name.chars().map(|letter| format!("[{letter}{}]", letter.to_ascii_uppercase())).collect()
}

/// Formats a raw CEL string, in which a backslash is literal.
fn raw(text: &str) -> String {
    format!("r'{text}'")
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn number_ranges_are_grouped_by_tens() {
        for (low, high, want) in [
            (0, 9, "[0-9]"),
            (7, 7, "7"),
            (7, 12, "[7-9]|1[0-2]"),
            (37, 59, "3[7-9]|4[0-9]|5[0-9]"),
            (30, 31, "3[0-1]"),
        ] {
            assert_eq!(numbers(low, high), want);
        }
    }
}
