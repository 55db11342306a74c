//! Completes the names of CronJobs: asks the cluster that the words of the command line select.

use std::ffi::OsStr;
use std::time::Duration;

use clap_complete::engine::CompletionCandidate;
use punctual_api::CronJobKind;
use tokio::time::timeout;

use super::args::ConnectionArgs;
use super::session::Session;
use crate::cluster_config::ClusterArgs;

/// A user who presses a key waits no longer.
const TIMEOUT: Duration = Duration::from_secs(3);
/// The most names that are offered.
const NAMES_MAX: usize = 1_000;

/// Returns the names that begin with the current word; none if the cluster does not answer.
pub(super) fn complete(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let words: Vec<String> = std::env::args().collect();
    let names = super::block_on(async {
        timeout(TIMEOUT, read_names(&connection(&words), current)).await?
    });
    let names = names.unwrap_or_default().into_iter();
    names.filter(|name| name.starts_with(current)).map(CompletionCandidate::new).collect()
}

/// Returns the names with the type that the current word begins with.
async fn read_names(args: &ConnectionArgs, current: &str) -> anyhow::Result<Vec<String>> {
    let session = Session::connect(args).await?;
    let prefix = current.split_once('/').map(|(prefix, _)| prefix);
    let mut names = Vec::new();
    for kind in session.kinds() {
        let is_wanted = prefix
            .is_none_or(|prefix| is_scheduled_job(prefix) == (kind == CronJobKind::ScheduledJob));
        if !is_wanted {
            continue;
        }
        let listed = session.list_cron_jobs(kind, &session.namespace, None).await?;
        let found = listed.items.into_iter().take(NAMES_MAX).map(|cron_job| cron_job.metadata.name);
        names.extend(found.map(|name| match prefix {
            Some(prefix) => format!("{prefix}/{name}"),
            None => name,
        }));
    }
    Ok(names)
}

fn is_scheduled_job(prefix: &str) -> bool {
    prefix.starts_with('s')
}

/// Reads the options of the connection from the words of an incomplete command line.
fn connection(words: &[String]) -> ConnectionArgs {
    let value = |names: &[&str]| {
        let mut pairs = words.iter().zip(words.iter().skip(1));
        let separate = pairs.find(|(word, _)| names.contains(&word.as_str()));
        let joined = || {
            let with_value = words.iter().filter_map(|word| word.split_once('='));
            with_value
                .filter(|(name, _)| names.contains(name))
                .map(|(_, value)| value.to_owned())
                .next()
        };
        separate.map(|(_, value)| value.clone()).or_else(joined)
    };
    let kubeconfig = value(&["--kubeconfig"]).map(Into::into);
    ConnectionArgs {
        cluster: ClusterArgs { kubeconfig, context: value(&["--context"]) },
        data_dir: value(&["--data-dir"])
            .map(Into::into)
            .or_else(|| std::env::var_os("PUNCTUAL_DATA_DIR").map(Into::into)),
        namespace: value(&["-n", "--namespace"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_command_line_select_the_cluster() {
        let words = ["why", "-n", "shop", "--kubeconfig=/tmp/k", "--context", "west", "b"];
        let words: Vec<String> = words.map(String::from).to_vec();
        let args = connection(&words);
        assert_eq!(args.namespace.as_deref(), Some("shop"));
        assert_eq!(args.cluster.context.as_deref(), Some("west"));
        assert_eq!(args.cluster.kubeconfig.unwrap().to_str(), Some("/tmp/k"));
        assert_eq!(connection(&[]).namespace, None);
    }
}
