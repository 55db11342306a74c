//! What is said at the start and at the end.

use std::path::Path;

use kube::api::{Api, ApiResource, ListParams};
use kube::core::{NotUsed, Object};
use punctual_server::Server;

use super::apply::{Applied, How};
use crate::site;

/// So many objects are named, more are counted.
const NAMED_MAX: usize = 20;

/// Where the server is, how to ask it, and what was applied.
pub(super) fn greeting(url: &str, kubeconfig: &Path, applied: &[Applied]) -> String {
    let kubeconfig = kubeconfig.display();
    let applied = summary(applied);
    format!(
        "serving {url}\n\
         kubeconfig {kubeconfig}\n\
         {applied}\
         try: kubectl --kubeconfig {kubeconfig} get cronjobs,jobs,pods\n"
    )
}

fn summary(applied: &[Applied]) -> String {
    if applied.len() <= NAMED_MAX {
        return applied.iter().map(|Applied { what, how }| format!("{what} {how}\n")).collect();
    }
    let count = |how: How| match applied.iter().filter(|applied| applied.how == how).count() {
        0 => None,
        count => Some(format!("{count} {how}")),
    };
    let counts = [How::Created, How::Configured, How::Unchanged].into_iter().filter_map(count);
    format!("{} objects: {}\n", applied.len(), counts.collect::<Vec<_>>().join(", "))
}

/// What becomes of the Pods.
pub(super) async fn farewell(server: &Server) -> String {
    match running_pods(server).await {
        Ok(0) => "stopped\n".to_owned(),
        Ok(1) => "stopped; 1 Pod runs on, and the next `punctual up` takes it on\n".to_owned(),
        Ok(count) => {
            format!("stopped; {count} Pods run on, and the next `punctual up` takes them on\n")
        }
        Err(error) => format!("stopped; how many Pods run on is not known: {error}\n"),
    }
}

async fn running_pods(server: &Server) -> kube::Result<usize> {
    let resource = ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        plural: "pods".to_owned(),
    };
    let pods: Api<Object<NotUsed, NotUsed>> =
        Api::all_with(site::client(server, "punctual-up"), &resource);
    let running = ListParams::default().fields("status.phase=Running");
    Ok(pods.list(&running).await?.items.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(count: usize, how: How) -> Vec<Applied> {
        vec![Applied { what: "CronJob default/a".into(), how }; count]
    }

    #[test]
    fn few_objects_are_named_and_many_are_counted() {
        let few = greeting("https://127.0.0.1:1", Path::new("/k"), &applied(2, How::Created));
        let want = "serving https://127.0.0.1:1\nkubeconfig /k\nCronJob default/a created\n\
                    CronJob default/a created\n\
                    try: kubectl --kubeconfig /k get cronjobs,jobs,pods\n";
        assert_eq!(few, want);
        let many = [applied(30, How::Created), applied(2, How::Unchanged)].concat();
        assert_eq!(summary(&many), "32 objects: 30 created, 2 unchanged\n");
    }
}
