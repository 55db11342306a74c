//! The Kubernetes client layer that the controllers, the runner and the command line share.
//!
//! - [`ApiClient`] makes calls with a deadline and sends writes only while a [`Fence`] is open.
//! - [`watch_resource`] lists and watches one kind and passes every change to an [`EventHandler`].
//! - [`SharedWatches`] lets all components of a process use one watch of each kind.
//! - [`EventRecorder`] writes Events in the background.
//! - [`Clock`] is the clock of a process, which tests and the simulator replace.
//! - [`resources`] lists the kinds that we use and their paths.

mod api_client;
mod api_error;
mod clock;
mod error_chain;
mod event_recorder;
mod fence;
pub mod resource_version;
pub mod resources;
mod shared_watches;
mod watch;

pub use self::api_client::{ApiClient, ClientMetrics, remove_finalizer_patch};
pub use self::api_error::ApiError;
pub use self::clock::{Clock, SystemClock, sleep_until};
pub use self::error_chain::error_chain;
pub use self::event_recorder::EventRecorder;
pub use self::fence::Fence;
pub use self::resources::ResourceType;
pub use self::shared_watches::SharedWatches;
pub use self::watch::{
    CachedFields, EventHandler, SyncTracker, WatchScope, WatchSource, watch_resource,
};
