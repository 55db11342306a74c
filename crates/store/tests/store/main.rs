//! The store as its users see it: transactions, snapshots and watches, restarts, and what becomes
//! of acknowledged writes when the disk or the process fails.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail, and tells how much it looked at"
)]

#[path = "../../../schedule/tests/oracle/dice.rs"]
mod dice;

mod committer;
mod damage;
mod disk;
mod errors;
mod files;
mod kills;
mod model;
mod power;
mod properties;
mod transactions;
mod watches;

use punctual_store::{Options, RedbLog, Store};

/// A store in memory.
fn in_memory() -> Store {
    with(Options::default())
}

fn with(options: Options) -> Store {
    let log = RedbLog::over(disk::Disk::default()).unwrap();
    Store::start(Box::new(log), options).unwrap()
}
