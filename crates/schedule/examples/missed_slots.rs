//! Finds the slots that a program missed while it was down, without iterating over them.
//!
//! ```sh
//! cargo run --example missed_slots
//! ```

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;

use jiff::Timestamp;
use punctual_schedule::{Schedule, Zones};

fn main() -> Result<(), Box<dyn Error>> {
    let zone = Zones::default().get("America/New_York")?;
    let schedule = Schedule::parse("*/10 * * * *", &zone)?;
    let last_run: Timestamp = "2026-10-30T04:00:00Z".parse()?;
    let now: Timestamp = "2026-11-15T12:34:56Z".parse()?;

    let missed = schedule.between(last_run, now);
    println!("{} slots in ({last_run}, {now}]", missed.clone().count());
    println!("the first: {:?}", missed.clone().next());
    println!("the last three, latest first:");
    for slot in missed.rev().take(3) {
        println!("  {slot}");
    }
    Ok(())
}
