//! The workload: schedules, zones, operations and instants.

const DAY: i64 = 86_400;
/// 2020-01-01 and 2036-01-01, in Unix seconds.
const YEARS: std::ops::Range<i64> = 1_577_836_800..2_082_758_400;
const SEED: u64 = 0x70_75_6e_63_74_75_61_6c;
/// Enough that a cold cache or a single unusual instant does not affect the mean.
pub(crate) const INSTANTS: usize = 1000;
/// Other libraries need up to 1440 steps to count a day, so fewer calls are enough.
pub(crate) const COUNT_INSTANTS: usize = 200;

/// A schedule with weekday numbers (0 is Sunday) and with weekday names.
///
/// Libraries whose weekday numbers start at 1 get the names.
pub(crate) struct BenchSchedule {
    pub(crate) text: &'static str,
    pub(crate) named: &'static str,
}

pub(crate) const SCHEDULES: [BenchSchedule; 8] = [
    BenchSchedule { text: "* * * * *", named: "* * * * *" },
    BenchSchedule { text: "*/5 * * * *", named: "*/5 * * * *" },
    BenchSchedule { text: "0 0 * * *", named: "0 0 * * *" },
    BenchSchedule { text: "30 6-16/4 * * 1-5", named: "30 6-16/4 * * MON-FRI" },
    BenchSchedule { text: "0 0 29 2 *", named: "0 0 29 2 *" },
    BenchSchedule { text: "0 0 13 * 5", named: "0 0 13 * FRI" },
    BenchSchedule { text: "59 23 31 12 *", named: "59 23 31 12 *" },
    BenchSchedule { text: "0 3 * * 0", named: "0 3 * * SUN" },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BenchZone {
    Utc,
    NewYork,
}

impl BenchZone {
    pub(crate) const ALL: [BenchZone; 2] = [BenchZone::Utc, BenchZone::NewYork];

    pub(crate) fn name(self) -> &'static str {
        match self {
            BenchZone::Utc => "UTC",
            BenchZone::NewYork => "America/New_York",
        }
    }
}

/// An operation on an instant `t`. The result is a Unix second or a number of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// The first slot after `t`.
    Next,
    /// The last slot at or before `t`.
    Latest,
    /// The last slot in `(1970-01-01, t]`.
    LatestSince1970,
    /// The number of slots in a range that ends with `t`.
    Count(CountRange),
}

impl Operation {
    pub(crate) const ALL: [Operation; 6] = [
        Operation::Next,
        Operation::Latest,
        Operation::LatestSince1970,
        Operation::Count(CountRange::Day),
        Operation::Count(CountRange::Year),
        Operation::Count(CountRange::Since1970),
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Operation::Next => "next slot after t",
            Operation::Latest => "latest slot at or before t",
            Operation::LatestSince1970 => "latest slot in (1970, t]",
            Operation::Count(CountRange::Day) => "slots in (t - 1 day, t]",
            Operation::Count(CountRange::Year) => "slots in (t - 1 year, t]",
            Operation::Count(CountRange::Since1970) => "slots in (1970, t]",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountRange {
    Day,
    Year,
    Since1970,
}

impl CountRange {
    /// Returns the exclusive start of the range that ends at `until`.
    pub(crate) fn start(self, until: i64) -> i64 {
        match self {
            CountRange::Day => until - DAY,
            CountRange::Year => until - 365 * DAY,
            CountRange::Since1970 => 0,
        }
    }
}

/// One measurement: an operation on a schedule in a zone.
#[derive(Clone, Copy)]
pub(crate) struct WorkItem {
    pub(crate) operation: Operation,
    pub(crate) zone: BenchZone,
    pub(crate) expression: &'static BenchSchedule,
}

impl WorkItem {
    /// The number of instants to measure.
    pub(crate) fn calls(&self) -> usize {
        match self.operation {
            Operation::Count(_) => COUNT_INSTANTS,
            _ => INSTANTS,
        }
    }
}

/// Returns all items. Every process of a benchmark run numbers them in this order.
pub(crate) fn work_items() -> Vec<WorkItem> {
    let mut rows = Vec::new();
    for operation in Operation::ALL {
        for zone in BenchZone::ALL {
            rows.extend(SCHEDULES.iter().map(|expression| WorkItem {
                operation,
                zone,
                expression,
            }));
        }
    }
    rows
}

/// Returns random instants, the same in every run.
pub(crate) fn instants() -> Vec<i64> {
    let mut state = SEED;
    let span = (YEARS.end - YEARS.start) as u64;
    std::iter::repeat_with(|| YEARS.start + (splitmix(&mut state) % span) as i64)
        .take(INSTANTS)
        .collect()
}

/// The SplitMix64 generator of Steele, Lea and Flood (2014).
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
    fn both_spellings_of_a_schedule_have_the_same_slots() {
        let utc = Zones::bundled().utc();
        for BenchSchedule { text, named } in &SCHEDULES {
            let by_number = Schedule::parse(text, &utc).expect("valid");
            let by_name = Schedule::parse(named, &utc).expect("valid");
            for t in instants() {
                let t = Timestamp::from_second(t).expect("in range");
                assert_eq!(by_number.next_after(t), by_name.next_after(t), "{named} at {t}");
            }
        }
    }

    #[test]
    fn the_instants_cover_all_years() {
        let instants = instants();
        let sixteenth = (YEARS.end - YEARS.start) / 16;
        for part in 0..16 {
            let start = YEARS.start + part * sixteenth;
            assert!(instants.iter().any(|t| (start..start + sixteenth).contains(t)), "part {part}");
        }
    }
}
