//! Fuzzes the schedule library with random texts and times: valid schedules, mutated schedules and
//! random tokens. Fails on any panic and any call slower than a millisecond.

use std::{panic, time::Duration};

use jiff::Timestamp;
use punctual_e2e::load::clock::timed;
use punctual_schedule::{Schedule, Zone, Zones};
use punctual_testing::TestRng;

const CALL_MAX: Duration = Duration::from_millis(1);
/// A slower call is repeated, since other processes may have delayed it.
const REPEAT_ABOVE: Duration = Duration::from_micros(50);
const TRIES: usize = 5;
#[rustfmt::skip]
const ZONES: [&str; 8] = [
    "UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca",
    "Asia/Gaza", "America/St_Johns", "Antarctica/Troll",
];
#[rustfmt::skip]
const TOKENS: [&str; 44] = [
    "*", "?", "*/5", "*/7", "*/61", "0", "59", "60", "31", "29", "2", "1-5", "5-1", "1-2-3",
    "1/2/3", "sun", "MON-FRI", "jan", "DEC", "L", "@daily", "@every ", "@at ", "@", "TZ=",
    "CRON_TZ=", "UTC ", "Europe/Berlin ", "1h30m", "90s", ".5h", "99999999999999999999", "2562047h",
    "2026-03-08T02:30", "2026-11-01T01:30:00Z", "+01:00", "-", ",", "/", "+5", " ", "\t", "\u{a0}",
    "\u{301}",
];

/// Options of `fuzz`.
#[derive(clap::Args)]
pub(crate) struct FuzzArgs {
    /// Number of texts
    #[arg(long, default_value_t = 10_000_000)]
    inputs: u64,
    /// Seed of the random numbers; the same seed gives the same texts
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Counts of the run.
#[derive(Default)]
struct FuzzStats {
    accepted: u64,
    panics: u64,
    slow: u64,
    slowest: Duration,
    slowest_text: String,
}

pub(crate) fn run(args: &FuzzArgs) -> anyhow::Result<()> {
    load_zones()?;
    let zones: Vec<Zone> =
        ZONES.iter().map(|name| Zones::bundled().get(name)).collect::<Result<_, _>>()?;
    let rng = TestRng::new(args.seed);
    let mut stats = FuzzStats::default();
    for input in 0..args.inputs {
        let Some(zone) = zones.get(rng.below(zones.len() as u64) as usize) else { continue };
        let text = random_text(&rng);
        let at = random_time(&rng);
        try_text(&text, zone, at, &mut stats);
        if (input + 1) % 1_000_000 == 0 {
            println!("{} texts, {} accepted", input + 1, stats.accepted);
        }
    }
    report(args, &stats)
}

fn report(args: &FuzzArgs, stats: &FuzzStats) -> anyhow::Result<()> {
    let FuzzStats { accepted, panics, slow, slowest, slowest_text } = stats;
    println!("{} texts from seed {}, {accepted} accepted", args.inputs, args.seed);
    println!("{panics} panics, {slow} calls over {CALL_MAX:?}");
    println!("slowest call {slowest:?}: {slowest_text:?}");
    anyhow::ensure!(panics + slow == 0, "the schedule library failed");
    Ok(())
}

/// Loads every time zone once and prints the slowest.
fn load_zones() -> anyhow::Result<()> {
    let zones = Zones::bundled();
    let mut slowest = (Duration::ZERO, String::new());
    for name in zones.names() {
        let (zone, duration) = timed(|| zones.get(&name));
        zone?;
        slowest = slowest.max((duration, name));
    }
    println!("slowest zone to load: {} in {:?}", slowest.1, slowest.0);
    Ok(())
}

fn try_text(text: &str, zone: &Zone, at: Timestamp, stats: &mut FuzzStats) {
    let call = || panic::catch_unwind(|| call_library(text, zone, at));
    let Ok(mut result) = call() else {
        println!("panic: {text:?} at {at} in {zone:?}");
        stats.panics += 1;
        return;
    };
    for _ in 1..TRIES {
        if result.slowest <= REPEAT_ABOVE {
            break;
        }
        if let Ok(again) = call()
            && again.slowest < result.slowest
        {
            result = again;
        }
    }
    let CallResult { is_accepted, slowest } = result;
    stats.accepted += u64::from(is_accepted);
    if slowest > CALL_MAX {
        println!("slow: {text:?} at {at} in {zone:?}: {slowest:?}");
        stats.slow += 1;
    }
    if slowest > stats.slowest {
        stats.slowest = slowest;
        stats.slowest_text = text.into();
    }
}

/// The result of all calls for one text.
#[derive(Clone, Copy)]
struct CallResult {
    /// Whether the text is a schedule.
    is_accepted: bool,
    slowest: Duration,
}

fn call_library(text: &str, zone: &Zone, at: Timestamp) -> CallResult {
    let (parsed, parsing) = timed(|| Schedule::parse(text, zone));
    let Ok(schedule) = parsed else {
        return CallResult { is_accepted: false, slowest: parsing };
    };
    let (next, next_duration) = timed(|| schedule.next_after(at));
    let (latest, latest_duration) = timed(|| schedule.latest_at_or_before(at));
    let count_duration = timed(|| schedule.count_in(Timestamp::MIN, at)).1;
    let describe_duration = timed(|| (schedule.describe(), schedule.lints(at))).1;
    assert!(next.is_none_or(|next| next > at) && latest.is_none_or(|latest| latest <= at));
    let slowest = [parsing, next_duration, latest_duration, count_duration, describe_duration];
    CallResult { is_accepted: true, slowest: slowest.into_iter().max().unwrap_or_default() }
}

fn random_time(rng: &TestRng) -> Timestamp {
    let is_common = rng.below(8) > 0;
    let range = if is_common {
        0..4_000_000_000
    } else {
        Timestamp::MIN.as_second()..Timestamp::MAX.as_second()
    };
    let second = range.start + rng.below((range.end - range.start) as u64) as i64;
    Timestamp::from_second(second).unwrap_or_default()
}

fn random_text(rng: &TestRng) -> String {
    let mut text = match rng.below(8) {
        0 => (0..rng.below(8)).map(|_| rng.pick_or_default(&TOKENS)).collect(),
        1 => {
            format!("@every {}{}", rng.below(100_000), rng.pick_or_default(&["s", "m", "h", "ms"]))
        }
        _ => {
            let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
            bounds.map(|(min, max)| random_field(rng, min, max)).join(" ")
        }
    };
    for _ in 0..rng.below(6).saturating_sub(2) {
        mutate(rng, &mut text);
    }
    text
}

fn random_field(rng: &TestRng, min: u64, max: u64) -> String {
    let items = 1 + rng.below(4) / 3;
    (0..items).map(|_| random_item(rng, min, max)).collect::<Vec<_>>().join(",")
}

fn random_item(rng: &TestRng, min: u64, max: u64) -> String {
    let value = min + rng.below(max - min + 1);
    let last = value + rng.below(max - value + 1);
    let step = 1 + rng.below(70);
    match rng.below(8) {
        0 => format!("{value}-{last}"),
        1 => format!("{value}-{last}/{step}"),
        2 => format!("{value}/{step}"),
        3 => format!("*/{step}"),
        4 | 5 => "*".into(),
        _ => value.to_string(),
    }
}

fn mutate(rng: &TestRng, text: &mut String) {
    let mut chars: Vec<char> = text.chars().collect();
    let at = rng.below(chars.len() as u64 + 1) as usize;
    match rng.below(3) {
        0 if at < chars.len() => drop(chars.remove(at)),
        1 => chars.insert(at, char::from_u32(rng.below(0x250) as u32).unwrap_or(' ')),
        _ => drop(chars.splice(at..at, rng.pick_or_default(&TOKENS).chars())),
    }
    *text = chars.into_iter().collect();
}
