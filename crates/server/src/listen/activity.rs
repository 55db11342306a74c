//! What a connection does: its requests in progress, and its deadline while it has none.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use punctual_api::Status;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::connection_table::ConnectionEntry;
use crate::auth::{ADMIN_GROUP, User};
use crate::limits::ConnectionLimits;

/// A connection as its requests see it. Clones share it.
#[derive(Clone)]
pub(crate) struct ConnectionInfo {
    shared: Arc<SharedActivity>,
}

struct SharedActivity {
    address: IpAddr,
    entry: ConnectionEntry,
    limits: ConnectionLimits,
    activity: Mutex<Activity>,
    /// Notified when the deadline changes to an earlier time.
    changed: Notify,
}

struct Activity {
    requests: usize,
    phase: IdlePhase,
    /// Whether any bytes on an idle connection begin a request. On HTTP/2 they can be a ping.
    is_http1: bool,
}

/// What a connection without a request is waiting for, and the time at which the wait began.
#[derive(Clone, Copy)]
enum IdlePhase {
    Handshake(Instant),
    FirstRequest(Instant),
    /// The first byte of the headers of an HTTP/1.1 request has arrived.
    Headers(Instant),
    Idle(Instant),
}

/// A request in progress. It ends when this is dropped.
pub(super) struct RequestInProgress {
    connection: ConnectionInfo,
}

impl ConnectionInfo {
    pub(super) fn new(
        address: IpAddr,
        entry: ConnectionEntry,
        limits: ConnectionLimits,
    ) -> ConnectionInfo {
        let phase = IdlePhase::Handshake(Instant::now());
        let activity = Mutex::new(Activity { requests: 0, phase, is_http1: false });
        let changed = Notify::new();
        let shared = SharedActivity { address, entry, limits, activity, changed };
        ConnectionInfo { shared: Arc::new(shared) }
    }

    /// Returns the address of the client.
    pub(crate) fn address(&self) -> IpAddr {
        self.shared.address
    }

    /// Attributes the connection to the user of a request. Fails if the user has too many
    /// connections. Administrators have no limit.
    pub(crate) fn attribute_to(&self, user: &User) -> Result<(), Status> {
        if user.is_anonymous() {
            return Ok(());
        }
        if user.is_member_of(ADMIN_GROUP) {
            self.shared.entry.set_admin();
            return Ok(());
        }
        if self.shared.entry.set_user(&user.name) {
            return Ok(());
        }
        Err(Status::too_many_requests("too many connections of this user, please close some", 1))
    }

    /// Counts a request until the returned value is dropped.
    pub(super) fn start_request(&self) -> RequestInProgress {
        self.lock().requests += 1;
        self.shared.entry.start_request();
        RequestInProgress { connection: self.clone() }
    }

    /// Records that the handshake has ended.
    pub(super) fn handshake_done(&self, is_http1: bool) {
        let mut activity = self.lock();
        activity.phase = IdlePhase::FirstRequest(Instant::now());
        activity.is_http1 = is_http1;
    }

    /// Records that bytes have arrived.
    pub(super) fn bytes_received(&self) {
        let mut activity = self.lock();
        let is_waiting = activity.is_http1 && activity.requests == 0;
        if is_waiting && matches!(activity.phase, IdlePhase::Idle(_)) {
            activity.phase = IdlePhase::Headers(Instant::now());
            self.shared.changed.notify_one();
        }
    }

    /// Returns the time at which the connection must be closed if nothing happens, or `None` while a
    /// request is in progress.
    fn deadline(&self) -> Option<Instant> {
        let limits = &self.shared.limits;
        let activity = self.lock();
        let deadline = match activity.phase {
            IdlePhase::Handshake(since) => since + limits.handshake_timeout,
            IdlePhase::FirstRequest(since) => since + limits.first_request_timeout,
            IdlePhase::Headers(since) => since + limits.header_timeout,
            IdlePhase::Idle(since) => since + limits.idle_timeout,
        };
        (activity.requests == 0).then_some(deadline)
    }

    /// Whether the connection has had no request for at least this long.
    pub(super) fn is_idle_since(&self, duration: Duration) -> bool {
        let activity = self.lock();
        let since = match activity.phase {
            IdlePhase::Handshake(since)
            | IdlePhase::FirstRequest(since)
            | IdlePhase::Headers(since)
            | IdlePhase::Idle(since) => since,
        };
        activity.requests == 0 && since.elapsed() >= duration
    }

    /// Returns when the deadline of the connection has passed without a request.
    pub(super) async fn expired(&self) {
        loop {
            let changed = self.shared.changed.notified();
            match self.deadline() {
                None => changed.await,
                Some(deadline) if deadline <= Instant::now() => return,
                Some(deadline) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(deadline) => {}
                },
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Activity> {
        self.shared.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        let now = Instant::now();
        let mut activity = self.connection.lock();
        activity.requests -= 1;
        activity.phase = IdlePhase::Idle(now);
        let is_idle = activity.requests == 0;
        drop(activity);
        self.connection.shared.entry.end_request(now);
        if is_idle {
            self.connection.shared.changed.notify_one();
        }
    }
}
