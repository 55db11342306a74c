//! The open connections: enforces their limits and chooses which idle one makes room for a new one.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::limits::ConnectionLimits;

/// Maximum number of connections that are told to close but have not closed yet.
const EVICTING_MAX: usize = 64;

/// The open connections.
pub(crate) struct ConnectionTable {
    limits: ConnectionLimits,
    state: Mutex<TableState>,
    /// Notified when a connection was removed.
    removed: Notify,
}

#[derive(Default)]
struct TableState {
    next_id: u64,
    evicting: usize,
    connections: HashMap<u64, TableEntry>,
    addresses: HashMap<IpAddr, AddressConnections>,
    users: HashMap<String, usize>,
    idle: BTreeSet<IdleConnection>,
}

struct TableEntry {
    address: IpAddr,
    requests: usize,
    idle: Option<IdleConnection>,
    /// The user of the first authenticated request, unless it is an administrator.
    user: Option<String>,
    is_authenticated: bool,
    is_evicted: bool,
    evict: CancellationToken,
}

#[derive(Default)]
struct AddressConnections {
    count: usize,
    idle: BTreeSet<IdleConnection>,
}

/// An idle connection. The order is the order of eviction: connections that never had an
/// authenticated request come first, then those that have been idle for the longest time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct IdleConnection {
    is_authenticated: bool,
    since: Instant,
    id: u64,
}

/// The entry of one connection. Dropping it removes the connection.
pub(crate) struct ConnectionEntry {
    table: Arc<ConnectionTable>,
    id: u64,
    evict: CancellationToken,
}

impl ConnectionTable {
    pub(crate) fn new(limits: ConnectionLimits) -> Arc<ConnectionTable> {
        Arc::new(ConnectionTable { limits, state: Mutex::default(), removed: Notify::new() })
    }

    /// Adds a connection, which is idle. At a limit an idle connection is evicted. Returns `None` if
    /// there is none.
    pub(crate) fn add(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionEntry> {
        let address = network(address);
        let mut state = self.lock();
        let of_address = state.addresses.get(&address);
        if of_address.is_some_and(|entry| entry.count >= self.limits.per_address_max) {
            let oldest = of_address.and_then(|entry| entry.idle.first().copied());
            state.evict(oldest?);
        } else if state.connections.len() - state.evicting >= self.limits.total_max {
            let oldest = state.idle.first().copied();
            state.evict(oldest?);
        }
        let id = state.next_id;
        state.next_id += 1;
        let evict = CancellationToken::new();
        let entry = TableEntry {
            address,
            requests: 0,
            idle: None,
            user: None,
            is_authenticated: false,
            is_evicted: false,
            evict: evict.clone(),
        };
        state.connections.insert(id, entry);
        state.addresses.entry(address).or_default().count += 1;
        state.set_idle(id, Some(Instant::now()));
        drop(state);
        Some(ConnectionEntry { table: self.clone(), id, evict })
    }

    /// Waits while many connections are closing. A burst of new connections must not use up the file
    /// descriptors before the evicted ones are closed.
    pub(crate) async fn wait_for_evictions(&self) {
        loop {
            let removed = self.removed.notified();
            if self.lock().evicting < EVICTING_MAX {
                return;
            }
            removed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the address whose connections are counted together: a client usually has a whole IPv6
/// network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from(u128::from(address) >> 64 << 64)),
    }
}

impl TableState {
    /// Tells an idle connection to close. It no longer counts for its address.
    fn evict(&mut self, idle: IdleConnection) {
        self.set_idle(idle.id, None);
        let Some(entry) = self.connections.get_mut(&idle.id) else { return };
        entry.is_evicted = true;
        entry.evict.cancel();
        let address = entry.address;
        self.evicting += 1;
        self.decrement_address_count(address);
    }

    /// Makes a connection idle since a time, or not idle.
    fn set_idle(&mut self, id: u64, since: Option<Instant>) {
        let Some(entry) = self.connections.get_mut(&id) else { return };
        let Some(of_address) = self.addresses.get_mut(&entry.address) else { return };
        if let Some(before) = entry.idle.take() {
            self.idle.remove(&before);
            of_address.idle.remove(&before);
        }
        if let Some(since) = since
            && !entry.is_evicted
        {
            let idle = IdleConnection { is_authenticated: entry.is_authenticated, since, id };
            entry.idle = Some(idle);
            self.idle.insert(idle);
            of_address.idle.insert(idle);
        }
    }

    fn decrement_address_count(&mut self, address: IpAddr) {
        let Some(of_address) = self.addresses.get_mut(&address) else { return };
        of_address.count -= 1;
        if of_address.count == 0 {
            self.addresses.remove(&address);
        }
    }

    fn remove(&mut self, id: u64) {
        self.set_idle(id, None);
        let Some(entry) = self.connections.remove(&id) else { return };
        if entry.is_evicted {
            self.evicting -= 1;
        } else {
            self.decrement_address_count(entry.address);
        }
        if let Some(user) = entry.user
            && let Some(count) = self.users.get_mut(&user)
        {
            *count -= 1;
            if *count == 0 {
                self.users.remove(&user);
            }
        }
    }
}

impl ConnectionEntry {
    /// Returns the token that is cancelled when the connection is evicted.
    pub(crate) fn evicted(&self) -> CancellationToken {
        self.evict.clone()
    }

    /// Counts a request, during which the connection is not idle.
    pub(crate) fn start_request(&self) {
        let mut state = self.table.lock();
        state.set_idle(self.id, None);
        if let Some(entry) = state.connections.get_mut(&self.id) {
            entry.requests += 1;
        }
    }

    /// Ends a request.
    pub(super) fn end_request(&self, now: Instant) {
        let mut state = self.table.lock();
        let Some(entry) = state.connections.get_mut(&self.id) else { return };
        entry.requests -= 1;
        if entry.requests == 0 {
            state.set_idle(self.id, Some(now));
        }
    }

    /// Records that the connection belongs to an administrator.
    pub(super) fn set_admin(&self) {
        if let Some(entry) = self.table.lock().connections.get_mut(&self.id) {
            entry.is_authenticated = true;
        }
    }

    /// Records the user of the first authenticated request. Returns whether the user may have
    /// another connection.
    pub(super) fn set_user(&self, user: &str) -> bool {
        let mut guard = self.table.lock();
        let state = &mut *guard;
        let Some(entry) = state.connections.get_mut(&self.id) else { return true };
        if entry.user.is_some() {
            return true;
        }
        let count = state.users.get(user).copied().unwrap_or_default();
        if count >= self.table.limits.per_user_max {
            return false;
        }
        entry.is_authenticated = true;
        entry.user = Some(user.to_owned());
        state.users.insert(user.to_owned(), count + 1);
        true
    }
}

impl Drop for ConnectionEntry {
    fn drop(&mut self) {
        self.table.lock().remove(self.id);
        self.table.removed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(total_max: usize, per_address_max: usize) -> Arc<ConnectionTable> {
        let limits = ConnectionLimits {
            total_max,
            per_address_max,
            per_user_max: 2,
            ..ConnectionLimits::with_total(total_max)
        };
        ConnectionTable::new(limits)
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn the_longest_idle_connection_makes_room_and_busy_ones_stay() {
        let table = table(3, 3);
        let busy = table.add(address(1)).unwrap();
        busy.start_request();
        let known = table.add(address(1)).unwrap();
        assert!(known.set_user("a"));
        known.start_request();
        known.end_request(Instant::now());
        let unknown = table.add(address(1)).unwrap();
        let fourth = table.add(address(1)).unwrap();
        assert!(unknown.evicted().is_cancelled(), "it never had an authenticated request");
        fourth.start_request();
        let fifth = table.add(address(2)).unwrap();
        assert!(known.evicted().is_cancelled() && !busy.evicted().is_cancelled());
        fifth.start_request();
        assert!(table.add(address(2)).is_none(), "no connection is idle");
        drop([busy, known, unknown, fourth, fifth]);
        let state = table.lock();
        assert!(state.connections.is_empty() && state.addresses.is_empty());
        assert!(state.idle.is_empty() && state.users.is_empty() && state.evicting == 0);
    }

    #[test]
    fn an_address_has_a_limit_of_its_own() {
        let table = table(10, 2);
        let entries: Vec<_> = (0..2).map(|_| table.add(address(1)).unwrap()).collect();
        let other = table.add(address(2)).unwrap();
        let third = table.add(address(1)).unwrap();
        assert!(entries[0].evicted().is_cancelled() && !entries[1].evicted().is_cancelled());
        assert!(!other.evicted().is_cancelled());
        third.start_request();
        entries[1].start_request();
        assert!(table.add(address(1)).is_none());
        assert!(table.add(address(2)).is_some());
    }

    #[test]
    fn a_user_has_a_limit_of_connections() {
        let table = table(10, 10);
        let entries: Vec<_> = (0..3).map(|_| table.add(address(1)).unwrap()).collect();
        assert!(entries[0].set_user("a") && entries[1].set_user("a") && entries[0].set_user("a"));
        assert!(!entries[2].set_user("a") && entries[2].set_user("b"));
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_together() {
        let parse = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(network(parse("2001:db8::1")), network(parse("2001:db8::ffff:1")));
        assert_ne!(network(parse("2001:db8::1")), network(parse("2001:db8:0:1::1")));
        assert_eq!(network(parse("::ffff:10.0.0.1")), address(1));
    }
}
