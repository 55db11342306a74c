//! Kill -9 under load: a child process writes and prints acknowledged writes. The parent kills it at a
//! random time, opens the store and checks that it has all acknowledged writes.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Mutex,
    thread,
};

use punctual_store::{Op, Options, Precondition, Store};
use punctual_testing::TestRng;

const KILLS: u64 = 20;
const WRITERS: u64 = 8;
/// The maximum number of lines that the parent reads before the kill.
const LINES_MAX: u64 = 400;

#[expect(
    clippy::disallowed_methods,
    reason = "only this test and its child process read these variables"
)]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn open(path: &Path) -> Store {
    Store::open(path, Options { history_changes_max: 50, ..Options::default() }).unwrap()
}

/// Writes the same number to two keys in one transaction, again and again.
fn write_forever(store: &Store, writer: u64, stdout: &Mutex<std::io::Stdout>) {
    for number in 1_u64.. {
        let value = format!("{number:>0$}", 10 + (number % 7) as usize * 400);
        let both = ["a", "b"]
            .map(|half| Op::put(format!("/{half}/{writer}"), value.clone(), Precondition::Any));
        let committed = store.write_blocking(both.to_vec()).unwrap();
        let mut stdout = stdout.lock().unwrap();
        writeln!(stdout, "acknowledged {writer} {number} {}", committed.revision).unwrap();
        stdout.flush().unwrap();
    }
}

#[test]
#[ignore = "a child process of acknowledged_writes_survive_kills"]
fn child_process() {
    let store = open(Path::new(&setting("PUNCTUAL_STORE_CHILD").unwrap()));
    let stdout = Mutex::new(std::io::stdout());
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = &store;
            let stdout = &stdout;
            scope.spawn(move || write_forever(store, writer, stdout));
        }
    });
}

fn spawn(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::child_process", "--ignored", "--nocapture"])
        .env("PUNCTUAL_STORE_CHILD", path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills a child after `lines` lines. Returns all acknowledged writes that it printed: writer, number,
/// revision. The pipe keeps lines that were printed before the kill.
fn run_and_kill(path: &Path, lines: u64) -> Vec<[u64; 3]> {
    let mut child = spawn(path);
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = Vec::new();
    let parse = |line: String| -> Option<[u64; 3]> {
        let numbers = line.split("acknowledged ").nth(1)?.split(' ');
        let numbers: Vec<u64> = numbers.map_while(|command| command.parse().ok()).collect();
        numbers.try_into().ok()
    };
    while (acknowledged.len() as u64) < lines {
        acknowledged.extend(output.next().unwrap().map(parse).unwrap());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let remaining = output
        .map_while(Result::ok)
        .filter(|line| line.ends_with(|end: char| end.is_ascii_digit()));
    // The last line may be truncated within its revision, which is then too small but harmless.
    acknowledged.extend(remaining.filter_map(parse));
    acknowledged
}

fn number(store: &Store, key: &str) -> u64 {
    let entry = store.get(key).unwrap();
    String::from_utf8(entry.value.to_vec()).unwrap().trim().parse().unwrap()
}

#[test]
fn acknowledged_writes_survive_kills() {
    let kills = setting("PUNCTUAL_STORE_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let rng = TestRng::new(kills);
    let mut acknowledged_count = 0;
    let mut unacknowledged = 0;
    let mut revision = 0;
    for _ in 0..kills {
        let writes = run_and_kill(&path, 1 + rng.below(LINES_MAX));
        let store = open(&path);
        let last: BTreeMap<u64, u64> =
            writes.iter().map(|[writer, number, _]| (*writer, *number)).collect();
        for (writer, acknowledged) in last {
            let halves = ["a", "b"].map(|half| number(&store, &format!("/{half}/{writer}")));
            assert_eq!(halves[0], halves[1], "a transaction is atomic");
            assert!(halves[0] >= acknowledged, "{} after {acknowledged}", halves[0]);
            assert!(halves[0] <= acknowledged + 1, "each writer has at most one write in flight");
            unacknowledged += halves[0] - acknowledged;
        }
        let newest = writes.iter().map(|[_, _, revision]| *revision).max().unwrap();
        assert!(store.revision() >= newest && newest > revision, "revisions only grow");
        revision = store.revision();
        acknowledged_count += writes.len();
    }
    println!(
        "kill -9: {kills} kills, {acknowledged_count} acknowledged transactions, 0 lost, {unacknowledged} kept \
         unacknowledged, every restart succeeded, now at revision {revision}"
    );
}
