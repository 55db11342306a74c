//! End-to-end tests with the clients that users have: kubectl, Helm and the official Python client.
//!
//! Every transcript runs on two servers, kube-apiserver and `punctual serve`, and both must give the
//! same output. Tests of the controller run on a cluster of Kubernetes' own programs: a
//! [`KubeApiServer`] with chosen [`Controllers`], a [`FakeNode`] that completes Pods, and a [`Client`].
//! Tests whose programs are missing on this machine are skipped with a message; `e2e/setup` installs
//! the programs. This crate depends on no other crate of ours: it tests the program from outside.

mod background_thread;
mod certificates;
mod child_process;
pub mod client;
mod cluster;
pub mod controller;
mod crd;
mod environment;
mod fake_node;
pub mod files;
pub mod harness;
pub mod json;
mod kube_apiserver;
mod kubeconfig;
pub mod load;
pub mod normalize;
pub mod probe;
pub mod process_usage;
mod programs;
mod punctual;

pub use background_thread::{BackgroundThread, StopFlag};
pub use child_process::ChildProcess;
pub use client::Client;
pub use cluster::Cluster;
pub use crd::install_crd;
pub use fake_node::FakeNode;
pub use kube_apiserver::{Controllers, KubeApiServer};
pub use programs::Programs;
pub use punctual::Punctual;
