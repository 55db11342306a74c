//! Tests of the process that forks supervisors.

use std::path::Path;

use crate::supervisors::program_for_every_user;
use crate::test_node::{TestNode, kill, poll_until_some, script, terminated, wait_for_exit};

/// The fork servers that were started from a program.
fn fork_servers(program: &Path) -> Vec<i64> {
    let start = format!("{}\0supervise\0--fork-server\0", program.display());
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i64>().ok());
    let is_match = |pid: &i64| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.starts_with(start.as_bytes())
    };
    pids.filter(is_match).collect()
}

/// The number of a field of `/proc/PID/stat` after the name.
fn stat_field(pid: i64, position: usize) -> i64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().nth(position).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_fork_server_is_replaced_and_its_pods_keep_running() {
    let (_copy, program) = program_for_every_user();
    let node = TestNode::with(|options| options.runtime.program = program.clone()).await;
    let gate = node.folder.path().join("gate");
    let text = format!("until [ -e {} ]; do sleep 0.01; done; exit 3", gate.display());
    let uid = node.create_pod("before", script(&text)).await;
    node.wait_until_running("before").await;
    let supervisor = node.state(&uid)["supervisorPid"].as_i64().unwrap();
    assert_eq!(stat_field(supervisor, 1), i64::from(std::process::id()), "our child");
    for (round, signal) in ["KILL", "TERM"].into_iter().enumerate() {
        let servers = fork_servers(&program);
        assert_eq!(servers.len(), 1);
        kill(servers[0], signal);
        wait_for_exit(servers[0]).await;
        let name = format!("after-{round}");
        node.create_pod(&name, script("exit 4")).await;
        let pod = node.wait_for_end(&name).await;
        assert_eq!(terminated(&pod)["exitCode"], 4);
    }
    std::fs::write(gate, "").unwrap();
    let pod = node.wait_for_end("before").await;
    assert_eq!(terminated(&pod)["exitCode"], 3, "its supervisor was not affected");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fork_server_and_supervisors_have_one_thread_and_end_with_their_work() {
    let (_copy, program) = program_for_every_user();
    let mut node = TestNode::with(|options| options.runtime.program = program.clone()).await;
    let uid = node.create_pod("p", script("exec sleep 1000")).await;
    node.wait_until_running("p").await;
    let state = node.state(&uid);
    let supervisor = state["supervisorPid"].as_i64().unwrap();
    let server = fork_servers(&program)[0];
    const THREADS: usize = 17;
    assert_eq!((stat_field(server, THREADS), stat_field(supervisor, THREADS)), (1, 1));
    let files = std::fs::read_dir(format!("/proc/{server}/fd")).unwrap().count();
    assert_eq!(files, 5, "the standard streams, the connection and the lifeline");
    let container = state["containers"][0]["current"]["pid"].as_i64().unwrap();
    let mut files: Vec<_> = std::fs::read_dir(format!("/proc/{container}/fd")).unwrap().collect();
    assert_eq!(files.drain(..).count(), 3, "a program has only the standard streams");
    node.stop().await;
    poll_until_some(|| fork_servers(&program).is_empty().then_some(())).await;
    assert_eq!(stat_field(supervisor, THREADS), 1, "the supervisor is still there");
}
