//! Measures how long a server takes to list all CronJobs.

use punctual_e2e::load::{
    clock,
    connection::{Connection, ConnectionTarget},
    create::CRON_JOBS,
    latency::Latencies,
};

const ROUNDS: usize = 5;

/// The measurements of lists.
#[derive(Clone, Debug)]
pub(super) struct ListResults {
    pub(super) latencies: Latencies,
    pub(super) bytes: usize,
}

/// Lists all CronJobs several times and checks their number.
pub(super) async fn run(target: &ConnectionTarget, expected: usize) -> anyhow::Result<ListResults> {
    let mut connection = Connection::open(target).await?;
    let mut samples = Vec::new();
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        let start = clock::now();
        let body = connection.get(CRON_JOBS).await?;
        samples.push(start.elapsed());
        bytes = body.len();
        let found = String::from_utf8_lossy(&body).matches(r#""schedule":"#).count();
        anyhow::ensure!(found == expected, "{found} CronJobs in a list of {expected}");
    }
    Ok(ListResults { latencies: Latencies::new(samples), bytes })
}
