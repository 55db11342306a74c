//! A connection to the cluster of a command: finds it, and reads objects and lists.

use std::ops::Deref;

use punctual_reader::Reader;
pub(super) use punctual_reader::encode;

use super::args::ConnectionArgs;
use crate::cluster_client::{ClusterClient, connect_or_local};

/// The user agent, which the server uses as field manager.
const AGENT: &str = "punctual-cli";

/// A connection to a cluster.
pub(super) struct Session {
    pub(super) cluster: ClusterClient,
    pub(super) reader: Reader,
    /// The namespace of objects that are named.
    pub(super) namespace: String,
}

impl Session {
    pub(super) async fn connect(args: &ConnectionArgs) -> anyhow::Result<Session> {
        let cluster = connect_or_local(&args.cluster, args.data_dir.as_deref(), AGENT).await?;
        let namespace = args.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| cluster.client.default_namespace().to_owned());
        let reader = Reader::connect(cluster.client.clone(), cluster.url.clone()).await?;
        Ok(Session { cluster, reader, namespace })
    }

    /// Uses a client that is connected already.
    pub(super) async fn with_client(client: kube::Client, url: &str) -> anyhow::Result<Session> {
        let namespace = client.default_namespace().to_owned();
        let reader = Reader::connect(client.clone(), url.to_owned()).await?;
        let cluster = ClusterClient { client, url: url.to_owned() };
        Ok(Session { cluster, reader, namespace })
    }
}

/// A session reads as its reader does.
impl Deref for Session {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}
