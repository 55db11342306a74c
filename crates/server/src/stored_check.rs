//! Checks that stored objects are readable.
//!
//! A list contains all objects of a kind, so one unreadable object would make the lists of its kind
//! fail, and with them the controllers. The server therefore moves it to another prefix. The check runs
//! after the start, because it would delay it by a quarter with 100,000 objects. A list that fails in
//! the meantime is tried again by its client.

use std::fmt;

use punctual_store::{Op, Precondition, Snapshot, Store};
use serde::Deserialize;

use crate::registry::resource_prefix;
use crate::resource::{RESOURCES, Resource};
use crate::secret_encryption::is_encrypted;

/// Unreadable objects are moved to this prefix, followed by their key.
const UNREADABLE_PREFIX: &str = "/unreadable";
/// The number of objects that are checked before other tasks run, which takes about a millisecond.
const CHECKED_AT_ONCE: usize = 200;

/// Why a stored object is unreadable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableObject {
    /// The key in the store: the resource, the namespace and the name.
    pub key: String,
    /// The cause.
    pub reason: String,
}

impl fmt::Display for UnreadableObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.reason)
    }
}

impl std::error::Error for UnreadableObject {}

/// The fields that every object has. Decoding them checks the syntax of the whole object.
#[derive(Deserialize)]
struct ObjectHead {
    kind: String,
    metadata: MetadataHead,
}

#[derive(Deserialize)]
struct MetadataHead {
    name: String,
    #[serde(default)]
    namespace: String,
}

/// Returns the unreadable objects of a snapshot.
pub fn find_unreadable(snapshot: &Snapshot) -> Vec<UnreadableObject> {
    let mut unreadable = Vec::new();
    for resource in RESOURCES {
        let prefix = resource_prefix(resource);
        let objects = snapshot.prefix(&prefix);
        unreadable.extend(
            objects.filter_map(|(key, entry)| {
                check_stored(resource, &prefix, key, &entry.value).err()
            }),
        );
    }
    unreadable
}

/// Checks one stored object. `prefix` is that of the keys of its resource.
fn check_stored(
    resource: &Resource,
    prefix: &str,
    key: &str,
    value: &[u8],
) -> Result<(), UnreadableObject> {
    // Only a server with the encryption key can read it.
    if is_encrypted(value) {
        return Ok(());
    }
    let path = key.strip_prefix(prefix).unwrap_or_default();
    check(path, resource.kind, value)
        .map_err(|reason| UnreadableObject { key: key.to_owned(), reason })
}

/// Checks one object. `path` is its namespace and name as in its key.
fn check(path: &str, kind: &str, value: &[u8]) -> Result<(), String> {
    let head: ObjectHead = serde_json::from_slice(value).map_err(|error| error.to_string())?;
    let MetadataHead { name, namespace } = head.metadata;
    let found = if namespace.is_empty() { name } else { format!("{namespace}/{name}") };
    if head.kind != kind {
        return Err(format!("it has the kind {:?} instead of {kind}", head.kind));
    }
    if found != path {
        return Err(format!("it has the name {found:?}"));
    }
    Ok(())
}

/// Moves the unreadable objects of a snapshot to another prefix, where nothing reads them. Ends early
/// if `store` returns `None`, because the server no longer exists.
pub(crate) async fn move_unreadable(snapshot: Snapshot, store: impl Fn() -> Option<Store>) {
    for resource in RESOURCES {
        let prefix = resource_prefix(resource);
        for (number, (key, entry)) in snapshot.prefix(&prefix).enumerate() {
            let unreadable = check_stored(resource, &prefix, key, &entry.value).err();
            let is_pause = number % CHECKED_AT_ONCE == CHECKED_AT_ONCE - 1;
            if unreadable.is_none() && !is_pause {
                continue;
            }
            let Some(store) = store() else { return };
            if let Some(unreadable) = unreadable {
                quarantine(&store, unreadable).await;
            }
            tokio::task::yield_now().await;
        }
    }
}

async fn quarantine(store: &Store, UnreadableObject { key, reason }: UnreadableObject) {
    let Some(entry) = store.get(&key) else { return };
    let kept = format!("{UNREADABLE_PREFIX}{key}");
    let ops = vec![
        Op::delete(key.as_str(), Precondition::At(entry.modified)),
        Op::put(kept.as_str(), entry.value, Precondition::Any),
    ];
    match store.write(ops).await {
        Ok(_) => tracing::error!(
            key,
            reason,
            "a stored object is unreadable and is not served; it is kept as {kept}; create it again or \
             restore a backup"
        ),
        Err(error) => {
            tracing::error!(key, reason, %error, "cannot move an unreadable object, so lists of its kind may fail; create it again or restore a backup");
        }
    }
}

#[cfg(test)]
mod tests {
    use punctual_store::{InMemoryLog, Options};

    use super::*;

    #[tokio::test]
    async fn unreadable_objects_are_moved_aside_and_others_are_kept() {
        let (store, committer) =
            Store::start_inline(Box::new(InMemoryLog), Options::default()).unwrap();
        tokio::spawn(committer);
        let good = r#"{"apiVersion":"v1","kind":"Event","metadata":{"resourceVersion":"","name":"a","namespace":"n"}}"#;
        for (key, value) in [
            ("/events/n/a", good),
            ("/events/n/b", good),
            ("/events/n/c", "{\"kind\":"),
            ("/events/n/d", "null"),
            ("/configmaps/n/a", good),
            ("/other", "not an object of a resource"),
        ] {
            store.write(Op::create(key, value)).await.unwrap();
        }
        let keys: Vec<_> =
            find_unreadable(&store.snapshot()).into_iter().map(|object| object.key).collect();
        assert_eq!(keys.len(), 4, "{keys:?}");
        move_unreadable(store.snapshot(), || Some(store.clone())).await;
        assert!(find_unreadable(&store.snapshot()).is_empty());
        let snapshot = store.snapshot();
        assert_eq!(snapshot.prefix("/events/").count(), 1);
        assert_eq!(snapshot.prefix("/unreadable/events/n/").count(), 3);
        assert_eq!(&*snapshot.get("/unreadable/events/n/d").unwrap().value, b"null");
    }

    #[tokio::test]
    async fn a_server_starts_with_an_unreadable_object_and_moves_it_aside() {
        let (store, committer) =
            Store::start_inline(Box::new(InMemoryLog), Options::default()).unwrap();
        tokio::spawn(committer);
        for number in 0..3 * CHECKED_AT_ONCE {
            let event = format!(
                r#"{{"kind":"Event","metadata":{{"name":"e{number:04}","namespace":"n"}}}}"#
            );
            let key = format!("/events/n/e{number:04}");
            store.write(Op::create(key.as_str(), event)).await.unwrap();
        }
        store.write(Op::create("/events/n/x", "{")).await.unwrap();
        let config = crate::server::Config::new(store.clone());
        let server = crate::server::Server::start(config).await.unwrap();
        while store.get("/events/n/x").is_some() {
            tokio::task::yield_now().await;
        }
        assert!(store.get("/unreadable/events/n/x").is_some());
        assert_eq!(store.snapshot().prefix("/events/").count(), 3 * CHECKED_AT_ONCE);
        server.shutdown();
    }
}
