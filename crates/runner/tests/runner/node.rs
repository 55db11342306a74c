//! The node of this machine.

use kube::api::Api;
use kube::api::DynamicObject;
use punctual_runner::register_node;

use crate::world::{World, resource};

#[tokio::test(flavor = "multi_thread")]
async fn the_node_is_ready_and_written_once() {
    let world = World::without_runner(|_| {}).await;
    register_node(world.client.clone(), "here", 7).await.unwrap();
    let nodes: Api<DynamicObject> = Api::all_with(world.client.clone(), &resource("Node", "nodes"));
    let node = nodes.get("here").await.unwrap();
    let ready = &node.data["status"]["conditions"][0];
    assert_eq!((&ready["type"], &ready["status"]), (&"Ready".into(), &"True".into()));
    assert_eq!(node.data["status"]["capacity"]["pods"], "7");
    register_node(world.client.clone(), "here", 7).await.unwrap();
    let again = nodes.get("here").await.unwrap();
    assert_eq!(again.metadata.resource_version, node.metadata.resource_version);
}
