//! Kill -9 under load: a child writes and tells what was acknowledged, the parent kills it at some
//! moment, opens the store and looks for everything it was told of.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Mutex,
    thread,
};

use punctual_store::{Condition, Op, Options, Store};

use crate::dice::Dice;

const KILLS: u64 = 20;
const WRITERS: u64 = 8;
/// Lines that are read before the kill, at most.
const LINES_MAX: u64 = 400;

#[expect(clippy::disallowed_methods, reason = "a knob of this test, and how it talks to its child")]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn open(path: &Path) -> Store {
    Store::open(path, Options { ring_changes_max: 50, ..Options::default() }).unwrap()
}

/// One writer: the same two keys again and again, always with the same number.
fn write_for_ever(store: &Store, writer: u64, said: &Mutex<std::io::Stdout>) {
    for number in 1_u64.. {
        let value = format!("{number:>0$}", 10 + (number % 7) as usize * 400);
        let both = ["a", "b"]
            .map(|half| Op::put(format!("/{half}/{writer}"), value.clone(), Condition::Any));
        let committed = store.write_blocking(both.to_vec()).unwrap();
        let mut said = said.lock().unwrap();
        writeln!(said, "acknowledged {writer} {number} {}", committed.revision).unwrap();
        said.flush().unwrap();
    }
}

#[test]
#[ignore = "the child of acknowledged_writes_survive_kills"]
fn the_child() {
    let store = open(Path::new(&setting("PUNCTUAL_STORE_CHILD").unwrap()));
    let said = Mutex::new(std::io::stdout());
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (store, said) = (&store, &said);
            scope.spawn(move || write_for_ever(store, writer, said));
        }
    });
}

fn spawn(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::the_child", "--ignored", "--nocapture"])
        .env("PUNCTUAL_STORE_CHILD", path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What the child said before it was killed after so many lines: writer, number, revision. The
/// pipe keeps what was said before the end.
fn killed(path: &Path, lines: u64) -> Vec<[u64; 3]> {
    let mut child = spawn(path);
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    let heard = |line: String| -> Option<[u64; 3]> {
        let numbers = line.split("acknowledged ").nth(1)?.split(' ');
        let numbers: Vec<u64> = numbers.map_while(|word| word.parse().ok()).collect();
        numbers.try_into().ok()
    };
    while (said.len() as u64) < lines {
        said.extend(output.next().unwrap().map(heard).unwrap());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let rest = output
        .map_while(Result::ok)
        .filter(|line| line.ends_with(|end: char| end.is_ascii_digit()));
    // The very last line may be cut in the middle of its revision, which then is only too small.
    said.extend(rest.filter_map(heard));
    said
}

fn number(store: &Store, key: &str) -> u64 {
    let entry = store.get(key).unwrap();
    String::from_utf8(entry.value.to_vec()).unwrap().trim().parse().unwrap()
}

#[test]
fn acknowledged_writes_survive_kills() {
    let kills = setting("PUNCTUAL_STORE_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let (mut dice, mut told, mut unasked, mut revision) = (Dice(kills), 0, 0, 0);
    for _ in 0..kills {
        let said = killed(&path, 1 + dice.below(LINES_MAX));
        let store = open(&path);
        let last: BTreeMap<u64, u64> =
            said.iter().map(|[writer, number, _]| (*writer, *number)).collect();
        for (writer, acknowledged) in last {
            let halves = ["a", "b"].map(|half| number(&store, &format!("/{half}/{writer}")));
            assert_eq!(halves[0], halves[1], "a transaction is whole");
            assert!(halves[0] >= acknowledged, "{} after {acknowledged}", halves[0]);
            assert!(halves[0] <= acknowledged + 1, "one is in flight at most");
            unasked += halves[0] - acknowledged;
        }
        let newest = said.iter().map(|[_, _, revision]| *revision).max().unwrap();
        assert!(store.revision() >= newest && newest > revision, "revisions only grow");
        revision = store.revision();
        told += said.len();
    }
    println!(
        "kill -9: {kills} kills, {told} acknowledged transactions, 0 lost, {unasked} kept \
         unacknowledged, every restart clean, now at revision {revision}"
    );
}
