//! From the rows of the log back to the state and the ring, and the proof that nothing is missing.

use std::sync::Arc;

use crate::{
    change::Change,
    log::{Loaded, Row},
    ring::{Ring, RingBounds},
    state::State,
};

/// What the memory holds right after the start. The error says which row does not fit.
pub(crate) fn recover(loaded: Loaded, bounds: RingBounds) -> Result<(State, Ring), String> {
    let mut state = State::default();
    let mut ring = Ring::new(loaded.compacted, bounds);
    for row in loaded.rows {
        let change = change(row, &state, loaded.compacted)?;
        state.apply(&change);
        if change.revision > loaded.compacted {
            in_order(&change, &ring)?;
            ring.push(Arc::new(change));
        }
    }
    if ring.revision() != loaded.revision {
        return Err(format!("it ends at {}, not at {}", ring.revision(), loaded.revision));
    }
    state.revision = loaded.revision;
    Ok((state, ring))
}

fn in_order(change: &Change, ring: &Ring) -> Result<(), String> {
    let (expected, found) = (ring.revision() + 1, change.revision);
    match expected == found {
        true => Ok(()),
        false => Err(format!("revision {expected} is missing, {found} follows")),
    }
}

fn change(row: Row, state: &State, compacted: u64) -> Result<Change, String> {
    let Row { revision, key, current } = row;
    if revision <= state.revision {
        return Err(format!("revision {revision} follows {}", state.revision));
    }
    let previous = state.get(&key).cloned();
    let whole = match (&current, &previous) {
        (Some(current), Some(previous)) => current.created == previous.created,
        // The values before the ring are forgotten, so a create may look like an update.
        (Some(current), None) => current.created == revision || revision <= compacted,
        (None, previous) => previous.is_some(),
    };
    match whole {
        true => Ok(Change { key, revision, current, previous }),
        false => Err(format!("revision {revision} changes {key} as it never was")),
    }
}

#[cfg(test)]
mod tests;
