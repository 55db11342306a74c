//! Damaged files: flipped bits and zeroed pages are refused or harmless, never served.

use std::{panic, thread};

use punctual_store::{Error, RedbLog, Store};

use crate::{
    dice::Dice,
    disk::Disk,
    model::{Model, ops, random_steps},
    power::{OPTIONS, open, prepared},
};

const FLIPS: u64 = 3_000;
const PAGE_BYTES: usize = 4096;

/// A file after a clean and after an unclean stop, and the states before and after the last commit.
struct Written {
    closed: Vec<u8>,
    killed: Vec<u8>,
    before: Model,
    last: Model,
}

fn written() -> Written {
    let disk = Disk::holding(prepared());
    let store = open(disk.clone());
    let (mut dice, mut before, mut last) = (Dice(5), Model::default(), Model::default());
    for _ in 0..60 {
        let steps = random_steps(&mut dice, 3000);
        store.write_blocking(ops(&steps, &last)).unwrap();
        before = last.clone();
        last.apply(&steps);
    }
    let killed = disk.lock().image.clone();
    store.close_blocking().unwrap();
    Written { closed: disk.lock().image.clone(), killed, before, last }
}

/// The image with one bit flipped that is not in the middle of nothing.
fn flipped(image: &[u8], used: &[usize], dice: &mut Dice) -> Vec<u8> {
    let mut image = image.to_vec();
    image[dice.pick(used)] ^= 1 << dice.below(8);
    image
}

fn used(image: &[u8]) -> Vec<usize> {
    (0..image.len()).filter(|at| image[*at] != 0).collect()
}

fn start(disk: &Disk) -> Result<Store, Error> {
    RedbLog::over(disk.clone()).and_then(|log| Store::start(Box::new(log), OPTIONS))
}

/// Whether the damage was noticed. If it was not, everything must be there, and must stay there
/// while more is written.
fn refused(image: Vec<u8>, model: &Model) -> bool {
    let disk = Disk::holding(image);
    let store = match start(&disk) {
        Ok(store) => store,
        Err(Error::Damaged { .. } | Error::Format { .. } | Error::Io { .. }) => return true,
        Err(error) => panic!("{error}"),
    };
    assert!(model.is_shown_by(&store), "damage is served");
    model.assert_watched(&store);
    let (mut dice, mut model) = (Dice(7), model.clone());
    for _ in 0..5 {
        let steps = random_steps(&mut dice, 3000);
        store.write_blocking(ops(&steps, &model)).unwrap();
        model.apply(&steps);
    }
    store.close_blocking().unwrap();
    assert!(model.is_shown_by(&start(&disk).unwrap()), "damage spreads");
    false
}

/// redb panics over some of the damage, which is caught; the reports are not of interest.
fn hush() {
    let (this, report) = (thread::current().id(), panic::take_hook());
    panic::set_hook(Box::new(move |panic| {
        let caught = thread::current().id() == this
            && !panic.location().is_some_and(|at| at.file().contains("tests/store"));
        if !caught {
            report(panic);
        }
    }));
}

#[test]
fn damage_is_refused_or_harmless_but_never_served() {
    let Written { closed: image, last: model, .. } = written();
    hush();
    let (mut dice, used) = (Dice(6), used(&image));
    let flips = (0..FLIPS).filter(|_| refused(flipped(&image, &used, &mut dice), &model));
    let flips_refused = flips.count();
    let (mut pages, mut pages_refused) = (0, 0);
    for at in (0..image.len()).step_by(PAGE_BYTES) {
        let page = at..image.len().min(at + PAGE_BYTES);
        if image[page.clone()].iter().all(|byte| *byte == 0) {
            continue;
        }
        let mut image = image.clone();
        image[page].fill(0);
        pages += 1;
        pages_refused += u64::from(refused(image, &model));
    }
    println!(
        "damage: {FLIPS} flipped bits, {flips_refused} refused; {pages} zeroed pages, \
         {pages_refused} refused; the others were harmless, none was served"
    );
    assert!(flips_refused > 0 && pages_refused > 0);
}

/// A bit that flips in the last commit before an unclean stop looks like a commit that was cut off
/// by the stop, so redb goes back by one. No further, and never to something that never was.
#[test]
fn damage_after_an_unclean_stop_costs_the_last_commit_at_most() {
    let Written { killed: image, before, last, .. } = written();
    hush();
    let (mut dice, used) = (Dice(8), used(&image));
    let (mut refused, mut whole, mut shorter) = (0, 0, 0);
    for _ in 0..FLIPS {
        match start(&Disk::holding(flipped(&image, &used, &mut dice))) {
            Err(_) => refused += 1,
            Ok(store) if last.is_shown_by(&store) => whole += 1,
            Ok(store) => {
                assert!(before.is_shown_by(&store), "damage is served");
                shorter += 1;
            }
        }
    }
    println!(
        "damage after an unclean stop: {FLIPS} flipped bits, {refused} refused, {whole} harmless, \
         {shorter} cost the last commit"
    );
}
