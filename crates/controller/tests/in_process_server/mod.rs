//! An API server in the process of a test, for all tests of the controllers that need a store on
//! disk. Add here what several of them need.

use std::time::Duration;

use kube::Client;
use punctual_server::{ADMIN_GROUP, Config, Server, User};
use punctual_store::{Options, Store};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness;

/// Longer than any step takes on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// A server with an empty store. Requests do not go through a socket.
pub(crate) struct InProcessServer {
    pub(crate) server: Server,
    pub(crate) store: Store,
    _folder: TempDir,
}

impl InProcessServer {
    /// Starts a server with the configuration that the function makes for the store.
    pub(crate) async fn start(config: impl FnOnce(Store) -> Config) -> InProcessServer {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
        let server = Server::start(config(store.clone())).await.unwrap();
        InProcessServer { server, store, _folder: folder }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.server.local_router(test_user()), "default")
    }

    /// Sends a request. A null body is omitted, and patches are merge patches.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        harness::send(&self.client(), method, path, body).await
    }

    /// The stored object with this key, or null.
    pub(crate) fn object(&self, key: &str) -> Value {
        let entry = self.store.get(key);
        entry.map(|entry| serde_json::from_slice(&entry.value).unwrap()).unwrap_or_default()
    }

    /// Waits for a condition, which is checked after each change of a key with this prefix. Returns
    /// whether it was met in time.
    pub(crate) async fn wait_until(&self, prefix: &str, condition: impl Fn() -> bool) -> bool {
        let mut watch = self.store.watch(prefix, self.store.revision()).unwrap();
        let wait = async {
            while !condition() {
                watch.next().await.unwrap();
            }
        };
        tokio::time::timeout(TIMEOUT, wait).await.is_ok()
    }
}

/// A user who may do everything.
pub(crate) fn test_user() -> User {
    User::new("test", ADMIN_GROUP)
}
