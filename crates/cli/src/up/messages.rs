//! The messages that `punctual up` prints at startup and shutdown.

use std::path::Path;

use kube::api::{Api, ListParams};
use kube::core::{NotUsed, Object};
use punctual_client::resources::PODS;
use punctual_dashboard::LoginLinks;
use punctual_server::Server;

use super::manifests::{AppliedObject, ApplyResult};
use crate::{clock, instance};

/// Up to this number, applied objects are listed by name. More are only counted.
const LISTED_MAX: usize = 20;

/// Returns the server's URL, the kubeconfig, the applied objects and a kubectl command to try.
pub(super) fn startup(
    url: &str,
    kubeconfig: &Path,
    dashboard: Option<&str>,
    applied: &[AppliedObject],
) -> String {
    let dashboard = dashboard.map_or_else(String::new, |url| format!("dashboard {url}\n"));
    let kubeconfig = kubeconfig.display();
    let applied = self::applied(applied);
    format!(
        "serving {url}\n\
         kubeconfig {kubeconfig}\n\
         {dashboard}\
         {applied}\
         try: kubectl --kubeconfig {kubeconfig} get cronjobs,jobs,pods\n"
    )
}

/// Returns the URL of the dashboard. In a terminal it is a login link; in a log a link would let readers sign in.
pub(super) fn dashboard(links: Option<&LoginLinks>, is_terminal: bool) -> Option<String> {
    let links = links?;
    if is_terminal && let Ok(link) = links.link(clock::now()) {
        return Some(link);
    }
    Some(format!("{} (`punctual dashboard --login` prints a login link)", links.base()))
}

/// Lists the applied objects, or counts them if they are many.
pub(super) fn applied(applied: &[AppliedObject]) -> String {
    if applied.len() <= LISTED_MAX {
        return applied
            .iter()
            .map(|AppliedObject { object, result }| format!("{object} {result}\n"))
            .collect();
    }
    let mut counts = Vec::new();
    for result in ApplyResult::ALL {
        let count = applied.iter().filter(|applied| applied.result == result).count();
        if count > 0 {
            counts.push(format!("{count} {result}"));
        }
    }
    format!("{} objects: {}\n", applied.len(), counts.join(", "))
}

/// Returns the last line of output, with the number of Pods that keep running.
pub(super) async fn shutdown(server: &Server) -> String {
    match count_running_pods(server).await {
        Ok(0) => "stopped\n".to_owned(),
        Ok(1) => "stopped; 1 Pod keeps running, and the next `punctual up` manages it\n".to_owned(),
        Ok(count) => {
            format!("stopped; {count} Pods keep running, and the next `punctual up` manages them\n")
        }
        Err(error) => format!("stopped; could not count the Pods that keep running: {error}\n"),
    }
}

async fn count_running_pods(server: &Server) -> kube::Result<usize> {
    let pods: Api<Object<NotUsed, NotUsed>> =
        Api::all_with(instance::client(server, "punctual-up"), &PODS.api_resource());
    let running = ListParams::default().fields("status.phase=Running");
    Ok(pods.list(&running).await?.items.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(count: usize, result: ApplyResult) -> Vec<AppliedObject> {
        vec![AppliedObject { object: "CronJob default/a".into(), result }; count]
    }

    #[test]
    fn few_objects_are_listed_and_many_are_counted() {
        let few = startup(
            "https://127.0.0.1:1",
            Path::new("/k"),
            Some("http://x"),
            &objects(2, ApplyResult::Created),
        );
        let want = "serving https://127.0.0.1:1\nkubeconfig /k\ndashboard http://x\nCronJob default/a created\n\
                    CronJob default/a created\n\
                    try: kubectl --kubeconfig /k get cronjobs,jobs,pods\n";
        assert_eq!(few, want);
        let many = [objects(30, ApplyResult::Created), objects(2, ApplyResult::Unchanged)].concat();
        assert_eq!(applied(&many), "32 objects: 30 created, 2 unchanged\n");
    }
}
