//! Tests of the server with kube-rs as the client.

use futures::StreamExt as _;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use punctual_server::{ADMIN_GROUP, User};
use serde_json::json;

use crate::client::{TestServer, cron_job};

pub(crate) fn client(server: &TestServer) -> kube::Client {
    kube::Client::new(server.server.local_router(User::new("kube", ADMIN_GROUP)), "default")
}

#[tokio::test]
async fn kube_client_creates_reads_updates_and_deletes() {
    let server = TestServer::new().await;
    Box::pin(check_client(client(&server))).await;
}

/// Checks the common requests of a client.
pub(crate) async fn check_client(client: kube::Client) {
    let api: Api<CronJob> = Api::default_namespaced(client.clone());
    let object: CronJob = serde_json::from_value(cron_job("a")).unwrap();
    let created = api.create(&PostParams::default(), &object).await.unwrap();
    assert_eq!(created.spec.suspend, Some(false));
    let twice = api.create(&PostParams::default(), &object).await.unwrap_err();
    assert!(matches!(twice, kube::Error::Api(status) if status.reason == "AlreadyExists"));

    let patch = json!({"spec": {"suspend": true}});
    let merged = api.patch("a", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    assert_eq!(merged.spec.suspend, Some(true));
    let mut wanted = cron_job("a");
    wanted["spec"]["schedule"] = json!("@hourly");
    let params = PatchParams::apply("test").force();
    let applied = api.patch("a", &params, &Patch::Apply(&wanted)).await.unwrap();
    assert_eq!(applied.spec.schedule, "@hourly");
    let status = json!({"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}});
    let written =
        api.patch_status("a", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    assert!(written.status.unwrap().last_schedule_time.is_some());

    let list = api.list(&ListParams::default().fields("metadata.name=a")).await.unwrap();
    assert_eq!(list.items.len(), 1);
    api.delete("a", &DeleteParams::background()).await.unwrap();
    assert_eq!(api.get_opt("a").await.unwrap(), None);
    client.apiserver_version().await.unwrap();
}

#[tokio::test]
async fn kube_watcher_works_with_and_without_streaming_lists() {
    for streaming in [false, true] {
        let server = TestServer::new().await;
        let api: Api<ConfigMap> = Api::default_namespaced(client(&server));
        let named =
            |name: &str| serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        api.create(&PostParams::default(), &named("a")).await.unwrap();
        let config = if streaming {
            watcher::Config::default().streaming_lists()
        } else {
            watcher::Config::default()
        };
        let mut events = watcher(api.clone(), config).boxed();
        let mut seen = Vec::new();
        while seen.len() < 5 {
            let event = events.next().await.unwrap().unwrap();
            let name = |object: ConfigMap| object.metadata.name.unwrap();
            seen.push(match event {
                watcher::Event::Init => "init".to_owned(),
                watcher::Event::InitApply(object) => format!("initial {}", name(object)),
                watcher::Event::InitDone => {
                    api.create(&PostParams::default(), &named("b")).await.unwrap();
                    api.delete("a", &DeleteParams::default()).await.unwrap();
                    "done".to_owned()
                }
                watcher::Event::Apply(object) => format!("applied {}", name(object)),
                watcher::Event::Delete(object) => format!("deleted {}", name(object)),
            });
        }
        let expected = ["init", "initial a", "done", "applied b", "deleted a"];
        assert_eq!(seen, expected, "streaming: {streaming}");
    }
}
