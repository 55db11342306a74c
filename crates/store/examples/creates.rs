//! How many creates of 2 kB a second the store makes durable, for 1, 16 and 256 writers, and how
//! long it then takes to open, also after a kill:
//! `cargo run --release -p punctual-store --example creates -- [folder] [seconds]`

#![allow(clippy::print_stdout, reason = "a measurement for people")]

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
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let seconds = arguments.next().map_or(Ok(3), |text| text.parse())?;
    for writers in [1, 16, 256] {
        let path = folder.join(format!("creates-{}-{writers}.redb", std::process::id()));
        measure(&path, writers, Duration::from_secs(seconds))?;
        remove(&path)?;
    }
    Ok(())
}

fn measure(path: &Path, writers: usize, long: Duration) -> Result<(), Box<dyn Error>> {
    let store = Store::open(path, Options::default())?;
    let began_at = now();
    let threads: Vec<_> = (0..writers)
        .map(|writer| {
            let store = store.clone();
            thread::spawn(move || create(&store, writer, began_at, long))
        })
        .collect();
    let mut waits: Vec<Duration> =
        threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect();
    let took = began_at.elapsed().as_secs_f64();
    waits.sort_unstable();
    let at = |share: usize| waits.get(waits.len() * share / 100).copied().unwrap_or_default();
    let (rate, half, most) = (waits.len() as f64 / took, at(50), at(99));
    // A copy of the open file is what a kill leaves behind.
    let killed = path.with_extension("killed");
    std::fs::copy(path, &killed)?;
    drop(store);
    let (clean, unclean) = (open(path)?, open(&killed)?);
    let (keys, disk) = (waits.len(), std::fs::metadata(path)?.len() >> 20);
    remove(&killed)?;
    println!(
        "{writers:>3} writers: {rate:>6.0}/s, p50 {half:?}, p99 {most:?}; \
         {keys} keys in {disk} MB open in {clean:?}, after a kill in {unclean:?}"
    );
    Ok(())
}

/// How long it takes to open the store.
fn open(path: &Path) -> Result<Duration, Box<dyn Error>> {
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

/// How long each create took.
fn create(store: &Store, writer: usize, began_at: Instant, long: Duration) -> Vec<Duration> {
    let mut waits = Vec::new();
    while began_at.elapsed() < long {
        let key = format!("/registry/cronjobs/space-{writer}/name-{}", waits.len());
        let asked_at = now();
        if store.write_blocking(Op::create(key, vec![b'x'; VALUE_BYTES])).is_err() {
            break;
        }
        waits.push(asked_at.elapsed());
    }
    waits
}

#[expect(clippy::disallowed_methods, reason = "measures")]
fn now() -> Instant {
    Instant::now()
}
