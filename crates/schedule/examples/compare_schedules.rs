//! Compares schedules by their slots, and uses them as keys of a map.
//!
//! ```sh
//! cargo run --example compare_schedules
//! ```

#![allow(clippy::print_stdout, reason = "an example prints its result")]
#![allow(clippy::mutable_key_type, reason = "the cache of zones is not part of a schedule's value")]

use std::{collections::HashMap, error::Error};

use punctual_schedule::Schedule;

fn main() -> Result<(), Box<dyn Error>> {
    let texts = ["0 0 * * *", "@daily", "TZ=UTC 0 0 1-31 * *", "CRON_TZ=Asia/Tokyo 0 0 * * *"];
    let mut spellings: HashMap<Schedule, Vec<&str>> = HashMap::new();
    for text in texts {
        spellings.entry(text.parse()?).or_default().push(text);
    }
    for (schedule, texts) in &spellings {
        println!("{schedule}: {texts:?}");
    }
    Ok(())
}
