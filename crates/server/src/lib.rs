//! The Kubernetes API for the batch kinds, over a durable store: for now, its patches.

pub mod patch;
