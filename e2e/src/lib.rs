//! The server under the clients that people use: kubectl and the official Python client.
//!
//! Every test here runs against two servers, kube-apiserver and `punctual serve`, and both must answer
//! alike. What a machine lacks is skipped visibly; `e2e/setup` finds or makes it.
//! Nothing here knows a crate of ours: the server is a program like any other.

pub mod blur;
mod certificates;
mod cluster;
pub mod docs;
mod environment;
mod kube_apiserver;
mod kubeconfig;
pub mod probe;
mod process;
mod programs;
mod punctual;
pub mod suite;
pub mod transcript;
pub mod usage;

pub use cluster::Cluster;
pub use kube_apiserver::{Controllers, KubeApiServer};
pub use programs::Programs;
pub use punctual::{Punctual, Unready};
