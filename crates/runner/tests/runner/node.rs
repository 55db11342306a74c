//! Tests of the Node object.

use std::sync::Arc;

use kube::api::{Api, DynamicObject};
use punctual_client::resources::NODES;
use punctual_client::{ApiClient, SystemClock};
use punctual_runner::register_node;

use crate::test_node::TestNode;

#[tokio::test(flavor = "multi_thread")]
async fn the_node_is_ready_and_is_not_written_again() {
    let test_node = TestNode::without_runner(|_| {}).await;
    let api = ApiClient::new(test_node.client.clone(), Arc::new(()));
    register_node(&api, &SystemClock, "here", 7).await.unwrap();
    let nodes: Api<DynamicObject> = Api::all_with(test_node.client.clone(), &NODES.api_resource());
    let node = nodes.get("here").await.unwrap();
    let ready = &node.data["status"]["conditions"][0];
    assert_eq!((&ready["type"], &ready["status"]), (&"Ready".into(), &"True".into()));
    assert_eq!(node.data["status"]["capacity"]["pods"], "7");
    register_node(&api, &SystemClock, "here", 7).await.unwrap();
    let again = nodes.get("here").await.unwrap();
    assert_eq!(again.metadata.resource_version, node.metadata.resource_version);
}
