//! Restores the state and the change history from the rows of the log, and verifies that no row is
//! missing.

use std::sync::Arc;

use crate::{
    change::Change,
    change_history::{ChangeHistory, HistoryBounds},
    log::{LogContents, LogRow},
    state::State,
};

/// Why the rows of a log are inconsistent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecoveryError {
    #[error("it ends at revision {found}, not at {expected}")]
    WrongEnd { expected: u64, found: u64 },
    #[error("revision {expected} is missing, {found} follows")]
    MissingRevision { expected: u64, found: u64 },
    #[error("revision {revision} follows {previous}")]
    OutOfOrder { previous: u64, revision: u64 },
    #[error("revision {revision} does not fit the previous value of {key}")]
    InconsistentChange { revision: u64, key: Arc<str> },
}

/// Restores the state and the change history.
pub(crate) fn recover(
    contents: LogContents,
    bounds: HistoryBounds,
) -> Result<(State, ChangeHistory), RecoveryError> {
    let mut state = State::default();
    let mut history = ChangeHistory::new(contents.compacted, bounds);
    for row in contents.rows {
        let change = to_change(row, &state, contents.compacted)?;
        state.apply(&change);
        if change.revision > contents.compacted {
            let expected = history.revision() + 1;
            if change.revision != expected {
                return Err(RecoveryError::MissingRevision { expected, found: change.revision });
            }
            history.push(Arc::new(change));
        }
    }
    if history.revision() != contents.revision {
        let expected = contents.revision;
        return Err(RecoveryError::WrongEnd { expected, found: history.revision() });
    }
    state.revision = contents.revision;
    Ok((state, history))
}

/// Adds the previous value to a row, and checks that the row can follow it.
fn to_change(row: LogRow, state: &State, compacted: u64) -> Result<Change, RecoveryError> {
    let LogRow { revision, key, current } = row;
    if revision <= state.revision {
        return Err(RecoveryError::OutOfOrder { previous: state.revision, revision });
    }
    let previous = state.get(&key).cloned();
    let is_consistent = match (&current, &previous) {
        (Some(current), Some(previous)) => current.created == previous.created,
        // Values from before the history are compacted, so an update may have no previous value.
        (Some(current), None) => current.created == revision || revision <= compacted,
        (None, previous) => previous.is_some(),
    };
    if !is_consistent {
        return Err(RecoveryError::InconsistentChange { revision, key });
    }
    Ok(Change { key, revision, current, previous, archive_ops: Arc::default() })
}

#[cfg(test)]
mod tests;
