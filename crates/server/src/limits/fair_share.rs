//! Divides a limited resource fairly between users.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::auth::{ADMIN_GROUP, User};

/// Administrators can always use the capacity divided by this number, whatever other users do.
const ADMIN_RESERVE_DIVISOR: usize = 5;

/// A number of units, such as requests or bytes, that users share.
///
/// Administrators are limited only by the capacity. The other users together never use the reserve
/// of the administrators. The rest is divided by the number of users plus one, and each user can use
/// one part, so a new user finds free units. A user's first request may exceed this part, because a
/// large request could otherwise never be served.
pub(crate) struct FairShare {
    capacity: usize,
    /// The units that users other than administrators can use together.
    shared_capacity: usize,
    usage: Mutex<Usage>,
}

#[derive(Default)]
struct Usage {
    total: usize,
    shared: usize,
    /// The units of each user who has any, except administrators.
    by_user: HashMap<String, usize>,
}

/// Units that are in use until this is dropped.
pub(crate) struct Share {
    pool: Arc<FairShare>,
    /// The user, unless it is an administrator.
    user: Option<String>,
    units: usize,
}

impl FairShare {
    pub(crate) fn new(capacity: usize) -> Arc<FairShare> {
        let shared_capacity = capacity - capacity / ADMIN_RESERVE_DIVISOR;
        Arc::new(FairShare { capacity, shared_capacity, usage: Mutex::default() })
    }

    /// Takes units for a user. Returns `None` if the user would exceed a limit.
    pub(crate) fn try_take(self: &Arc<Self>, user: &User, units: usize) -> Option<Share> {
        let mut usage = self.lock();
        if units > self.capacity.saturating_sub(usage.total) {
            return None;
        }
        let is_admin = user.is_member_of(ADMIN_GROUP);
        if !is_admin {
            let own = usage.by_user.get(&user.name).copied().unwrap_or_default();
            let users = usage.by_user.len() + usize::from(own == 0);
            let fair = (self.shared_capacity / (users + 1)).max(units.min(1));
            // A first request can be larger than the share, so that any size can be served.
            let is_within_share = own == 0 || own + units <= fair;
            if !is_within_share || units > self.shared_capacity.saturating_sub(usage.shared) {
                return None;
            }
            usage.shared += units;
            *usage.by_user.entry(user.name.clone()).or_default() += units;
        }
        usage.total += units;
        let user = (!is_admin).then(|| user.name.clone());
        Some(Share { pool: self.clone(), user, units })
    }

    fn lock(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut usage = self.pool.lock();
        usage.total -= self.units;
        let Some(user) = &self.user else { return };
        usage.shared -= self.units;
        if let Some(own) = usage.by_user.get_mut(user) {
            *own -= self.units;
            if *own == 0 {
                usage.by_user.remove(user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::VIEW_GROUP;

    fn take_all(pool: &Arc<FairShare>, user: &User) -> Vec<Share> {
        std::iter::from_fn(|| pool.try_take(user, 1)).take(1000).collect()
    }

    #[test]
    fn a_user_leaves_room_for_others_and_for_administrators() {
        let pool = FairShare::new(100);
        let first = take_all(&pool, &User::new("a", VIEW_GROUP));
        let second = take_all(&pool, &User::new("b", VIEW_GROUP));
        let third = take_all(&pool, &User::new("c", VIEW_GROUP));
        assert_eq!((first.len(), second.len(), third.len()), (40, 26, 14));
        assert_eq!(take_all(&pool, &User::new("admin", ADMIN_GROUP)).len(), 20);
        drop(first);
        assert_eq!(take_all(&pool, &User::new("c", VIEW_GROUP)).len(), 12, "a third of 80 each");
    }

    #[test]
    fn all_units_are_free_after_use() {
        let pool = FairShare::new(10);
        for _ in 0..100 {
            assert_eq!(take_all(&pool, &User::new("a", VIEW_GROUP)).len(), 4);
            assert_eq!(take_all(&pool, &User::new("admin", ADMIN_GROUP)).len(), 10);
        }
        assert!(pool.lock().by_user.is_empty());
    }

    #[test]
    fn one_large_request_is_served_if_it_fits() {
        let pool = FairShare::new(100);
        let user = User::new("a", VIEW_GROUP);
        let large = pool.try_take(&user, 80).unwrap();
        assert!(pool.try_take(&user, 1).is_none());
        drop(large);
        assert!(pool.try_take(&user, 81).is_none());
        assert!(pool.try_take(&User::new("admin", ADMIN_GROUP), 100).is_some());
    }
}
