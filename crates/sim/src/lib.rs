//! The whole system under virtual time and faults, in one thread, from one seed.
//!
//! Server, store, controllers, leader election and the runner of Pods are the real ones. The disk, the
//! network, the clocks, the processes of Pods and the users are simulated. The simulated parts record what happened
//! ([`History`](punctual_testing::history::History)), and the checker of [`punctual_testing`] verifies it:
//! for example, every slot (a scheduled time) must run exactly once.

mod batch;
mod environment;
mod faulty_network;
mod faulty_watch;
mod generate;
mod mutation_test;
mod presets;
mod process;
mod process_faults;
mod run;
mod shrink;
mod simulated_clock;
mod simulated_disk;
mod simulated_node;
mod simulated_runtime;
mod simulated_server;
mod simulated_users;
mod simulation;
mod timeline;
mod virtual_pod;

pub use self::batch::{BatchResult, run_batch};
pub use self::generate::generate;
pub use self::mutation_test::{MutationResult, test_mutations};
pub use self::presets::Preset;
pub use self::run::{SimulationRun, catch_panics, digest, run_scenario};
pub use self::shrink::shrink;
pub use self::simulation::simulate;
pub use self::timeline::timeline;
