//! The server under the clients that people use: kubectl and the official Python client.
//!
//! Every transcript is played against two servers, kube-apiserver and `punctual serve`, and both must
//! answer alike. Tests of what runs on a cluster have one of Kubernetes' own programs: a
//! [`KubeApiServer`] with the [`Controllers`] that they choose, a [`FakeNode`] in place of machines, and
//! a [`Client`] to look at it. What a machine lacks is skipped visibly; `e2e/setup` finds or makes it.
//! Nothing here knows a crate of ours: the server is a program like any other.

pub mod agreement;
mod beside;
pub mod blur;
mod certificates;
pub mod client;
mod cluster;
pub mod controller;
pub mod deploy;
pub mod docs;
mod environment;
mod fake_node;
pub mod jobs;
mod kube_apiserver;
mod kubeconfig;
pub mod probe;
mod process;
mod programs;
mod punctual;
pub mod suite;
pub mod transcript;
pub mod usage;

pub use beside::Beside;
pub use client::Client;
pub use cluster::Cluster;
pub use fake_node::FakeNode;
pub use kube_apiserver::{Controllers, KubeApiServer};
pub use programs::Programs;
pub use punctual::{Punctual, Unready};
