//! What is asked: the schedules, the zones, the questions, and the instants they are asked at.

const DAY: i64 = 86_400;
/// 2020-01-01 and 2036-01-01, in Unix seconds.
const YEARS: std::ops::Range<i64> = 1_577_836_800..2_082_758_400;
const SEED: u64 = 0x70_75_6e_63_74_75_61_6c;
/// Enough that neither a cold cache nor one odd instant shows in the mean.
pub(crate) const INSTANTS: usize = 1000;
/// A peer counts a day by up to 1440 steps, so fewer calls say as much.
pub(crate) const COUNT_INSTANTS: usize = 200;

/// A schedule, with its weekdays by number (0 is Sunday) and by name.
///
/// The names are for the libraries that number weekdays from 1: the names mean the same everywhere.
pub(crate) struct Expression {
    pub(crate) text: &'static str,
    pub(crate) named: &'static str,
}

pub(crate) const EXPRESSIONS: [Expression; 8] = [
    Expression { text: "* * * * *", named: "* * * * *" },
    Expression { text: "*/5 * * * *", named: "*/5 * * * *" },
    Expression { text: "0 0 * * *", named: "0 0 * * *" },
    Expression { text: "30 6-16/4 * * 1-5", named: "30 6-16/4 * * MON-FRI" },
    Expression { text: "0 0 29 2 *", named: "0 0 29 2 *" },
    Expression { text: "0 0 13 * 5", named: "0 0 13 * FRI" },
    Expression { text: "59 23 31 12 *", named: "59 23 31 12 *" },
    Expression { text: "0 3 * * 0", named: "0 3 * * SUN" },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zone {
    Utc,
    NewYork,
}

impl Zone {
    pub(crate) const ALL: [Zone; 2] = [Zone::Utc, Zone::NewYork];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Zone::Utc => "UTC",
            Zone::NewYork => "America/New_York",
        }
    }
}

/// A question about an instant `t`. The answer is a Unix second or a number of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// The first slot after `t`.
    Next,
    /// The last slot at or before `t`.
    Latest,
    /// The last slot at or before `t`, the last run having been in 1970.
    LatestSince1970,
    /// How many slots there are in a span up to and including `t`.
    Count(Span),
}

impl Question {
    pub(crate) const ALL: [Question; 6] = [
        Question::Next,
        Question::Latest,
        Question::LatestSince1970,
        Question::Count(Span::Day),
        Question::Count(Span::Year),
        Question::Count(Span::Since1970),
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    Day,
    Year,
    Since1970,
}

impl Span {
    /// The instant after which to count.
    pub(crate) fn before(self, until: i64) -> i64 {
        match self {
            Span::Day => until - DAY,
            Span::Year => until - 365 * DAY,
            Span::Since1970 => 0,
        }
    }
}

/// One thing to measure: a question about a schedule in a zone.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) question: Question,
    pub(crate) zone: Zone,
    pub(crate) expression: &'static Expression,
}

impl Row {
    /// How many of the instants it is asked at.
    pub(crate) fn calls(&self) -> usize {
        match self.question {
            Question::Count(_) => COUNT_INSTANTS,
            _ => INSTANTS,
        }
    }
}

/// All rows. Their order is what the processes of a run have in common.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for question in Question::ALL {
        for zone in Zone::ALL {
            rows.extend(EXPRESSIONS.iter().map(|expression| Row { question, zone, expression }));
        }
    }
    rows
}

/// Random instants, the same in every run.
pub(crate) fn instants() -> Vec<i64> {
    let mut state = SEED;
    let span = (YEARS.end - YEARS.start) as u64;
    std::iter::repeat_with(|| YEARS.start + (splitmix(&mut state) % span) as i64)
        .take(INSTANTS)
        .collect()
}

/// The generator of Steele, Lea and Flood (2014): good enough, and short enough to need no crate.
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use punctual_schedule::{Schedule, Zones};

    use super::*;

    #[test]
    fn the_two_spellings_of_a_schedule_mean_the_same() {
        let utc = Zones::bundled().utc();
        for Expression { text, named } in &EXPRESSIONS {
            let by_number = Schedule::parse(text, &utc).expect("valid");
            let by_name = Schedule::parse(named, &utc).expect("valid");
            for t in instants() {
                let t = Timestamp::from_second(t).expect("in range");
                assert_eq!(by_number.next_after(t), by_name.next_after(t), "{named} at {t}");
            }
        }
    }

    #[test]
    fn the_instants_are_spread_over_the_years() {
        let instants = instants();
        let sixteenth = (YEARS.end - YEARS.start) / 16;
        for part in 0..16 {
            let start = YEARS.start + part * sixteenth;
            assert!(instants.iter().any(|t| (start..start + sixteenth).contains(t)), "part {part}");
        }
    }
}
