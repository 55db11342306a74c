//! Tests with corrupted files: flipped bits and zeroed pages are rejected or harmless, never
//! served.

use std::{panic, thread};

use punctual_store::{Error, RedbLog, Store};
use punctual_testing::TestRng;

use crate::{
    disk::TestDisk,
    model::{Model, ops, random_steps},
    power_cuts::{OPTIONS, empty_image, open},
};

const FLIPS: u64 = 3_000;
const PAGE_BYTES: usize = 4096;

/// A file after a clean and after an unclean shutdown, and the states before and after the last commit.
struct SampleFiles {
    closed: Vec<u8>,
    killed: Vec<u8>,
    before: Model,
    last: Model,
}

fn write_sample() -> SampleFiles {
    let disk = TestDisk::from_image(empty_image());
    let store = open(disk.clone());
    let rng = TestRng::new(5);
    let mut before = Model::default();
    let mut last = Model::default();
    for _ in 0..60 {
        let steps = random_steps(&rng, 3000);
        store.write_blocking(ops(&steps, &last)).unwrap();
        before = last.clone();
        last.apply(&steps);
    }
    let killed = disk.lock().image.clone();
    store.close_blocking().unwrap();
    SampleFiles { closed: disk.lock().image.clone(), killed, before, last }
}

/// Returns the image with one flipped bit in a byte that is not zero.
fn flip_bit(image: &[u8], used: &[usize], rng: &TestRng) -> Vec<u8> {
    let mut image = image.to_vec();
    image[rng.pick_or_default(used)] ^= 1 << rng.below(8);
    image
}

fn nonzero_bytes(image: &[u8]) -> Vec<usize> {
    (0..image.len()).filter(|at| image[*at] != 0).collect()
}

fn start(disk: &TestDisk) -> Result<Store, Error> {
    RedbLog::with_backend(disk.clone()).and_then(|log| Store::start(Box::new(log), OPTIONS))
}

/// Returns whether the store rejects the image. If not, it must serve the complete state, including
/// after further writes.
fn is_rejected(image: Vec<u8>, model: &Model) -> bool {
    let disk = TestDisk::from_image(image);
    let store = match start(&disk) {
        Ok(store) => store,
        Err(Error::Corrupted { .. } | Error::UnsupportedFormat { .. } | Error::Io { .. }) => {
            return true;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(model.matches(&store), "corrupted data is served");
    model.assert_history_matches(&store);
    let rng = TestRng::new(7);
    let mut model = model.clone();
    for _ in 0..5 {
        let steps = random_steps(&rng, 3000);
        store.write_blocking(ops(&steps, &model)).unwrap();
        model.apply(&steps);
    }
    store.close_blocking().unwrap();
    assert!(model.matches(&start(&disk).unwrap()), "the corruption spreads");
    false
}

/// Hides the messages of panics in redb, which the store catches.
fn hide_caught_panics() {
    let this = thread::current().id();
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let caught = thread::current().id() == this
            && !panic.location().is_some_and(|at| at.file().contains("tests/store"));
        if !caught {
            report(panic);
        }
    }));
}

#[test]
fn corruption_is_rejected_or_harmless_but_never_served() {
    let SampleFiles { closed: image, last: model, .. } = write_sample();
    hide_caught_panics();
    let rng = TestRng::new(6);
    let used = nonzero_bytes(&image);
    let flips = (0..FLIPS).map(|_| is_rejected(flip_bit(&image, &used, &rng), &model));
    let flips_rejected = flips.filter(|is_rejected| *is_rejected).count();
    let mut pages = 0;
    let mut pages_rejected = 0;
    for at in (0..image.len()).step_by(PAGE_BYTES) {
        let page = at..image.len().min(at + PAGE_BYTES);
        if image[page.clone()].iter().all(|byte| *byte == 0) {
            continue;
        }
        let mut image = image.clone();
        image[page].fill(0);
        pages += 1;
        pages_rejected += u64::from(is_rejected(image, &model));
    }
    println!(
        "corruption: {FLIPS} flipped bits, {flips_rejected} rejected; {pages} zeroed pages, \
         {pages_rejected} rejected; the others were harmless, none was served"
    );
    assert!(flips_rejected > 0 && pages_rejected > 0);
}

/// A flipped bit in the last commit before an unclean shutdown looks like an interrupted commit, so redb
/// rolls back that commit, but no other, and never to a state that did not exist.
#[test]
fn corruption_after_an_unclean_shutdown_loses_at_most_the_last_commit() {
    let SampleFiles { killed: image, before, last, .. } = write_sample();
    hide_caught_panics();
    let rng = TestRng::new(8);
    let used = nonzero_bytes(&image);
    let mut rejected = 0;
    let mut harmless = 0;
    let mut rolled_back = 0;
    for _ in 0..FLIPS {
        match start(&TestDisk::from_image(flip_bit(&image, &used, &rng))) {
            Err(_) => rejected += 1,
            Ok(store) if last.matches(&store) => harmless += 1,
            Ok(store) => {
                assert!(before.matches(&store), "corrupted data is served");
                rolled_back += 1;
            }
        }
    }
    println!(
        "corruption after an unclean shutdown: {FLIPS} flipped bits, {rejected} rejected, {harmless} \
         harmless, {rolled_back} lost the last commit"
    );
}
