//! Tests of the public interface: transactions, snapshots, watches and restarts, and the durability of
//! acknowledged writes when the disk or the process fails.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints how many cases it checked"
)]

mod archive;
mod committer;
mod corruption;
mod damage;
mod disk;
mod files;
mod io_errors;
mod kills;
mod model;
mod power_cuts;
mod properties;
mod transactions;
mod watches;

use punctual_store::{Options, RedbLog, Store};

/// A store on an in-memory disk.
fn in_memory() -> Store {
    with_options(Options::default())
}

fn with_options(options: Options) -> Store {
    let log = RedbLog::with_backend(disk::TestDisk::default()).unwrap();
    Store::start(Box::new(log), options).unwrap()
}
