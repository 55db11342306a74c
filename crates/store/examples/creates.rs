//! Measures how many creates of 2 kB per second the store commits with 1, 16 and 256 writers, and how
//! long it takes to open the store afterwards, including after a kill:
//! `cargo run --release -p punctual-store --example creates -- [directory] [seconds]`

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::{
    error::Error,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use punctual_store::{Op, Options, Store};

const VALUE_BYTES: usize = 2048;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let seconds = arguments.next().map_or(Ok(3), |text| text.parse())?;
    for writers in [1, 16, 256] {
        let path = directory.join(format!("creates-{}-{writers}.redb", std::process::id()));
        measure(&path, writers, Duration::from_secs(seconds))?;
        remove(&path)?;
    }
    Ok(())
}

fn measure(path: &Path, writers: usize, duration: Duration) -> Result<(), Box<dyn Error>> {
    let store = Store::open(path, Options::default())?;
    let began_at = now();
    let threads: Vec<_> = (0..writers)
        .map(|writer| {
            let store = store.clone();
            thread::spawn(move || create(&store, writer, began_at, duration))
        })
        .collect();
    let mut latencies: Vec<Duration> =
        threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect();
    let took = began_at.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let at = |percent: usize| {
        latencies.get(latencies.len() * percent / 100).copied().unwrap_or_default()
    };
    let rate = latencies.len() as f64 / took;
    let p50 = at(50);
    let p99 = at(99);
    // A copy of the open file is the state after a kill.
    let killed = path.with_extension("killed");
    std::fs::copy(path, &killed)?;
    drop(store);
    let clean = measure_open(path)?;
    let unclean = measure_open(&killed)?;
    let keys = latencies.len();
    let megabytes = std::fs::metadata(path)?.len() >> 20;
    remove(&killed)?;
    println!(
        "{writers:>3} writers: {rate:>6.0}/s, p50 {p50:?}, p99 {p99:?}; \
         {keys} keys in {megabytes} MB open in {clean:?}, after a kill in {unclean:?}"
    );
    Ok(())
}

/// Returns how long it takes to open the store.
fn measure_open(path: &Path) -> Result<Duration, Box<dyn Error>> {
    let began_at = now();
    let store = Store::open(path, Options::default())?;
    let took = began_at.elapsed();
    store.close_blocking()?;
    Ok(took)
}

fn remove(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut lock = path.to_owned().into_os_string();
    lock.push(".lock");
    std::fs::remove_file(path)?;
    Ok(std::fs::remove_file(lock)?)
}

/// Creates keys for the duration and returns the latency of each create.
fn create(store: &Store, writer: usize, began_at: Instant, duration: Duration) -> Vec<Duration> {
    let mut latencies = Vec::new();
    while began_at.elapsed() < duration {
        let key = format!("/registry/cronjobs/space-{writer}/name-{}", latencies.len());
        let sent_at = now();
        if store.write_blocking(Op::create(key, vec![b'x'; VALUE_BYTES])).is_err() {
            break;
        }
        latencies.push(sent_at.elapsed());
    }
    latencies
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}
