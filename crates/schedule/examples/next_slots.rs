//! Prints a description of a schedule, its warnings and its next slots.
//!
//! ```sh
//! cargo run --example next_slots -- 'CRON_TZ=America/New_York 30 2 * * *' 2026-03-06T00:00:00Z
//! ```

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::{env, error::Error};

use jiff::Timestamp;
use punctual_schedule::Schedule;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let text = arguments.next().unwrap_or_else(|| "CRON_TZ=Europe/Berlin 30 2 * * 1-5".into());
    let after: Timestamp =
        arguments.next().unwrap_or_else(|| "2026-11-15T12:00:00Z".into()).parse()?;

    let schedule: Schedule = text.parse()?;
    println!("{}.", schedule.describe());
    for lint in schedule.lints(after) {
        println!("warning: {lint}");
    }
    for slot in schedule.after(after).take(5) {
        println!("{slot}  {}", schedule.zone().at(slot).strftime("%a %F %H:%M %:z"));
    }
    Ok(())
}
