//! Random texts and instants for the schedule library: half of them schedules by the grammar, half
//! of them schedules that were damaged. Any panic, and any answer slower than a millisecond, fails.

use std::{panic, time::Duration};

use jiff::Timestamp;
use punctual_schedule::{Schedule, Zone, Zones};

use crate::dice::Dice;

const ANSWER_MAX: Duration = Duration::from_millis(1);
/// An answer slower than this is asked for again: the machine has other things to do as well.
const SUSPECT: Duration = Duration::from_micros(50);
const TRIES: usize = 5;
const ZONES: [&str; 8] = [
    "UTC",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Asia/Gaza",
    "America/St_Johns",
    "Antarctica/Troll",
];
const TOKENS: [&str; 44] = [
    "*",
    "?",
    "*/5",
    "*/7",
    "*/61",
    "0",
    "59",
    "60",
    "31",
    "29",
    "2",
    "1-5",
    "5-1",
    "1-2-3",
    "1/2/3",
    "sun",
    "MON-FRI",
    "jan",
    "DEC",
    "L",
    "@daily",
    "@every ",
    "@at ",
    "@",
    "TZ=",
    "CRON_TZ=",
    "UTC ",
    "Europe/Berlin ",
    "1h30m",
    "90s",
    ".5h",
    "99999999999999999999",
    "2562047h",
    "2026-03-08T02:30",
    "2026-11-01T01:30:00Z",
    "+01:00",
    "-",
    ",",
    "/",
    "+5",
    " ",
    "\t",
    "\u{a0}",
    "\u{301}",
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many texts
    #[arg(long, default_value_t = 10_000_000)]
    inputs: u64,
    /// Where to begin; the same seed gives the same texts
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What was seen.
#[derive(Default)]
struct Seen {
    accepted: u64,
    panics: u64,
    slow: u64,
    slowest: Duration,
    slowest_text: String,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    load_zones()?;
    let zones: Vec<Zone> =
        ZONES.iter().map(|name| Zones::bundled().get(name)).collect::<Result<_, _>>()?;
    let mut dice = Dice(args.seed);
    let mut seen = Seen::default();
    for input in 0..args.inputs {
        let Some(zone) = zones.get(dice.below(zones.len() as u64) as usize) else { continue };
        let text = text(&mut dice);
        let at = instant(&mut dice);
        try_text(&text, zone, at, &mut seen);
        if (input + 1) % 1_000_000 == 0 {
            println!("{} texts, {} accepted", input + 1, seen.accepted);
        }
    }
    report(args, &seen)
}

fn report(args: &Args, seen: &Seen) -> anyhow::Result<()> {
    let Seen { accepted, panics, slow, slowest, slowest_text } = seen;
    println!("{} texts from seed {}, {accepted} accepted", args.inputs, args.seed);
    println!("{panics} panics, {slow} answers over {ANSWER_MAX:?}");
    println!("slowest answer {slowest:?}: {slowest_text:?}");
    anyhow::ensure!(panics + slow == 0, "the schedule library failed");
    Ok(())
}

/// Every zone's table is made once; how long the slowest takes is worth knowing.
fn load_zones() -> anyhow::Result<()> {
    let zones = Zones::bundled();
    let mut slowest = (Duration::ZERO, String::new());
    for name in zones.names() {
        let (zone, taken) = timed(|| zones.get(&name));
        zone?;
        slowest = slowest.max((taken, name));
    }
    println!("slowest zone to load: {} in {:?}", slowest.1, slowest.0);
    Ok(())
}

fn try_text(text: &str, zone: &Zone, at: Timestamp, seen: &mut Seen) {
    let ask = || panic::catch_unwind(|| slowest_answer(text, zone, at));
    let Ok(mut answer) = ask() else {
        println!("panic: {text:?} at {at} in {zone:?}");
        seen.panics += 1;
        return;
    };
    for _ in 1..TRIES {
        if answer.1 <= SUSPECT {
            break;
        }
        answer = ask().map_or(answer, |again| again.min(answer));
    }
    let (accepted, taken) = answer;
    seen.accepted += u64::from(accepted);
    if taken > ANSWER_MAX {
        println!("slow: {text:?} at {at} in {zone:?}: {taken:?}");
        seen.slow += 1;
    }
    if taken > seen.slowest {
        (seen.slowest, seen.slowest_text) = (taken, text.into());
    }
}

/// Whether the text is a schedule, and the slowest answer about it.
fn slowest_answer(text: &str, zone: &Zone, at: Timestamp) -> (bool, Duration) {
    let (parsed, parsing) = timed(|| Schedule::parse(text, zone));
    let Ok(schedule) = parsed else { return (false, parsing) };
    let (next, next_taken) = timed(|| schedule.next_after(at));
    let (latest, latest_taken) = timed(|| schedule.latest_at_or_before(at));
    let count_taken = timed(|| schedule.count_in(Timestamp::MIN, at)).1;
    let words_taken = timed(|| (schedule.describe(), schedule.lints(at))).1;
    assert!(next.is_none_or(|next| next > at) && latest.is_none_or(|latest| latest <= at));
    let slowest = [parsing, next_taken, latest_taken, count_taken, words_taken];
    (true, slowest.into_iter().max().unwrap_or_default())
}

#[expect(clippy::disallowed_methods, reason = "measures")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = std::time::Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn instant(dice: &mut Dice) -> Timestamp {
    let (min, max) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    let ours = dice.below(8) > 0;
    let (min, max) = if ours { (0, 4_000_000_000) } else { (min, max) };
    let second = min + dice.below((max - min) as u64) as i64;
    Timestamp::from_second(second).unwrap_or_default()
}

fn text(dice: &mut Dice) -> String {
    let mut text = match dice.below(8) {
        0 => (0..dice.below(8)).map(|_| dice.pick(&TOKENS)).collect(),
        1 => format!("@every {}{}", dice.below(100_000), dice.pick(&["s", "m", "h", "ms"])),
        _ => {
            let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
            bounds.map(|(min, max)| field(dice, min, max)).join(" ")
        }
    };
    for _ in 0..dice.below(6).saturating_sub(2) {
        damage(dice, &mut text);
    }
    text
}

fn field(dice: &mut Dice, min: u64, max: u64) -> String {
    let items = 1 + dice.below(4) / 3;
    (0..items).map(|_| item(dice, min, max)).collect::<Vec<_>>().join(",")
}

fn item(dice: &mut Dice, min: u64, max: u64) -> String {
    let value = min + dice.below(max - min + 1);
    let last = value + dice.below(max - value + 1);
    let step = 1 + dice.below(70);
    match dice.below(8) {
        0 => format!("{value}-{last}"),
        1 => format!("{value}-{last}/{step}"),
        2 => format!("{value}/{step}"),
        3 => format!("*/{step}"),
        4 | 5 => "*".into(),
        _ => value.to_string(),
    }
}

fn damage(dice: &mut Dice, text: &mut String) {
    let mut chars: Vec<char> = text.chars().collect();
    let at = dice.below(chars.len() as u64 + 1) as usize;
    match dice.below(3) {
        0 if at < chars.len() => drop(chars.remove(at)),
        1 => chars.insert(at, char::from_u32(dice.below(0x250) as u32).unwrap_or(' ')),
        _ => drop(chars.splice(at..at, dice.pick(&TOKENS).chars())),
    }
    *text = chars.into_iter().collect();
}
