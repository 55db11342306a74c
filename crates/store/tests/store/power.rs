//! Power cuts: the journal of one long run is cut at every deed, and of what was not synced an
//! arbitrary part survives. What was acknowledged must be there, and nothing may be half there.

use punctual_store::{Condition, Op, Options, RedbLog, Store};

use crate::{
    dice::Dice,
    disk::{Deed, Disk, Platter, Survival},
    model::{Model, ops, random_steps},
};

const TRANSACTIONS: u64 = 100;
/// How many transactions there are between two compactions.
const COMPACTION: usize = 30;
const CHANCES: u64 = 4;
pub(crate) const OPTIONS: Options = Options {
    waiting_max: 64,
    ring_changes_max: 20,
    ring_bytes_max: 1 << 20,
    limits: punctual_store::Limits { key_bytes_max: 100, value_bytes_max: 1 << 20, ops_max: 10 },
};

/// A new store on a disk, closed again.
pub(crate) fn prepared() -> Vec<u8> {
    let disk = Disk::default();
    open(disk.clone()).close_blocking().unwrap();
    disk.lock().image.clone()
}

pub(crate) fn open(disk: Disk) -> Store {
    Store::start(Box::new(RedbLog::over(disk).unwrap()), OPTIONS).unwrap()
}

/// What was done, and how far the journal was when each transaction was acknowledged.
struct Run {
    start: Vec<u8>,
    journal: Vec<Deed>,
    /// The states after 0, 1, 2 and more transactions.
    models: Vec<Model>,
    acknowledged_at: Vec<usize>,
}

fn run(seed: u64, in_flight: usize) -> Run {
    let mut dice = Dice(seed);
    let start = prepared();
    let disk = Disk::holding(start.clone());
    let store = open(disk.clone());
    let (mut models, mut acknowledged_at) = (vec![Model::default()], vec![]);
    let mut waiting = Vec::new();
    for _ in 0..TRANSACTIONS {
        let mut model = models.last().unwrap().clone();
        let steps = random_steps(&mut dice, 6000);
        waiting.push(store.submit(ops(&steps, &model)).unwrap());
        assert!(model.apply(&steps));
        models.push(model);
        if waiting.len() == in_flight {
            for pending in waiting.drain(..) {
                pending.wait().unwrap();
                acknowledged_at.push(disk.lock().journal.len());
            }
        }
        if models.len() % COMPACTION == 0 {
            store.compact_blocking(store.revision() - 5).unwrap();
        }
    }
    store.close_blocking().unwrap();
    acknowledged_at.resize(TRANSACTIONS as usize, disk.lock().journal.len());
    let journal = disk.lock().journal.clone();
    Run { start, journal, models, acknowledged_at }
}

/// Opens what is left and says how many transactions are there; one of the models must fit.
pub(crate) fn survived(image: Vec<u8>, models: &[Model], acknowledged: usize) -> usize {
    let store = open(Disk::holding(image));
    let rest = models.iter().enumerate().skip(acknowledged);
    let found = rest.filter(|(_, model)| model.is_shown_by(&store)).map(|(at, _)| at).next();
    let found = found.unwrap_or_else(|| {
        panic!("{acknowledged} acknowledged, but revision {} is shown", store.revision())
    });
    models[found].assert_watched(&store);
    let next = store.write_blocking(Op::put("/next", "x", Condition::Any)).unwrap();
    assert_eq!(next.revision, models[found].revision + 1);
    found
}

fn cut_everywhere(seed: u64, in_flight: usize) {
    let Run { start, journal, models, acknowledged_at } = run(seed, in_flight);
    let mut platter = Platter::holding(start);
    let (mut cuts, mut recoveries, mut unasked) = (0, 0, 0);
    for at in 0..=journal.len() {
        let acknowledged = acknowledged_at.iter().filter(|deeds| **deeds <= at).count();
        let mut dice = Dice(seed ^ at as u64);
        let chances = if platter.has_unsynced() { CHANCES } else { 0 };
        let survivals = [Survival::Nothing, Survival::Everything].into_iter();
        for survival in survivals.chain((0..chances).map(|_| Survival::Chance)) {
            let image = platter.after_power_cut(survival, &mut dice);
            let found = survived(image, &models, acknowledged);
            unasked += usize::from(found > acknowledged);
            recoveries += 1;
        }
        cuts += 1;
        if let Some(deed) = journal.get(at) {
            platter.perform(deed);
        }
    }
    println!(
        "power cuts: {cuts} places of a run of {TRANSACTIONS} transactions, {in_flight} in flight; \
         {recoveries} recoveries, nothing acknowledged lost, {unasked} kept an unacknowledged write"
    );
}

#[test]
fn acknowledged_writes_survive_a_power_cut_at_every_deed() {
    cut_everywhere(1, 1);
}

#[test]
fn acknowledged_writes_of_group_commits_survive_a_power_cut_at_every_deed() {
    cut_everywhere(2, 10);
}

#[test]
#[should_panic(expected = "100 acknowledged, but revision 0 is shown")]
fn the_checker_finds_out_a_disk_that_never_syncs() {
    let Run { start, journal, models, acknowledged_at } = run(4, 1);
    let mut platter = Platter::holding(start);
    let lies = journal.iter().filter(|deed| !matches!(deed, Deed::Sync));
    lies.for_each(|deed| platter.perform(deed));
    let image = platter.after_power_cut(Survival::Nothing, &mut Dice(4));
    survived(image, &models, acknowledged_at.len());
}
