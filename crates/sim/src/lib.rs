//! The whole system under virtual time and faults, in one thread, out of one seed.
//!
//! Server, store, controllers, leader election and the Job controller are the real ones. The disk, the
//! network, the clocks, the node and the users are simulated. What happened is written down by the
//! simulated parts ([`history`]) and judged by [`check`], which shares no code with what it judges.

mod campaign;
pub mod check;
mod clock;
mod dice;
mod disk;
mod draw;
pub mod history;
mod mutation_test;
mod node;
mod plays;
mod process;
pub mod scenario;
mod shrink;
mod site;
mod stage;
mod timeline;
mod trial;
mod users;
mod watched;
mod wire;
mod world;

pub use self::campaign::{Campaign, campaign};
pub use self::draw::draw;
pub use self::mutation_test::{MutationResult, test_mutations};
pub use self::plays::Play;
pub use self::shrink::shrink;
pub use self::timeline::timeline;
pub use self::trial::{Trial, attempt, catch_panics, digest};
pub use self::world::live;
