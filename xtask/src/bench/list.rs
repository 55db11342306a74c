//! All CronJobs in one answer, again and again.

use super::{
    clock,
    connection::{Connection, Target},
    create::PATH,
    latency::Latencies,
};

const ROUNDS: usize = 5;

/// What listing measured.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) latencies: Latencies,
    pub(super) bytes: usize,
}

/// Lists everything, and checks that it is everything.
pub(super) async fn run(target: &Target, expected: usize) -> anyhow::Result<Listed> {
    let mut connection = Connection::open(target).await?;
    let mut samples = Vec::new();
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        let start = clock::now();
        let body = connection.get(PATH).await?;
        samples.push(start.elapsed());
        bytes = body.len();
        let found = String::from_utf8_lossy(&body).matches(r#""schedule":"#).count();
        anyhow::ensure!(found == expected, "{found} CronJobs in a list of {expected}");
    }
    Ok(Listed { latencies: Latencies::new(samples), bytes })
}
