//! The CronJobs of the view, filtered and in the chosen order.
//!
//! The sorted index is updated with every change, so that a frame only reads the rows that it shows. After many changes
//! at once it is sorted again when it is read next.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::{CronJobState, CronJobSummary, ObjectUid};

/// After this many changes without a read, sorting again is cheaper.
const CHANGES_MAX: usize = 64;

/// The order of the CronJobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::up) enum RowOrder {
    /// Those that need attention, then running ones, then by the next run.
    #[default]
    Attention,
    Next,
    Name,
    /// The latest result first.
    Last,
}

impl RowOrder {
    /// Returns the order that the key for orders selects next.
    pub(in crate::up) fn following(self) -> RowOrder {
        match self {
            RowOrder::Attention => RowOrder::Next,
            RowOrder::Next => RowOrder::Name,
            RowOrder::Name => RowOrder::Last,
            RowOrder::Last => RowOrder::Attention,
        }
    }

    pub(in crate::up) fn as_str(self) -> &'static str {
        match self {
            RowOrder::Attention => "failing first",
            RowOrder::Next => "next run",
            RowOrder::Name => "name",
            RowOrder::Last => "last result",
        }
    }

    fn key(self, row: &CronJobSummary) -> SortKey {
        let next = if row.is_suspended { None } else { row.next };
        let next = next.unwrap_or(Timestamp::MAX).as_second();
        let (rank, instant) = match self {
            RowOrder::Attention => match row.state() {
                CronJobState::Stuck | CronJobState::Failing => (0, 0),
                CronJobState::Running => (1, next),
                CronJobState::Suspended | CronJobState::Complete => (3, next),
                CronJobState::New | CronJobState::Ok => (2, next),
            },
            RowOrder::Next => (0, next),
            RowOrder::Name => (0, 0),
            RowOrder::Last => {
                let ended = row.last_run.as_ref().and_then(|last| last.end);
                (0, ended.map_or(i64::MAX, |ended| -ended.as_second()))
            }
        };
        (rank, instant, row.name.clone())
    }
}

/// Sorts by rank, then by time, then by name.
type SortKey = (u8, i64, Arc<str>);

/// How many CronJobs are in a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::up) struct StateCounts {
    pub(in crate::up) needing_attention: usize,
    pub(in crate::up) suspended: usize,
}

/// The CronJobs by UID, with a sorted index of those that match the filter.
#[derive(Debug, Default)]
pub(in crate::up) struct CronJobTable {
    rows: HashMap<ObjectUid, CronJobSummary>,
    index: Vec<(SortKey, ObjectUid)>,
    /// Whether the index has all changes.
    is_indexed: bool,
    changes: usize,
    order: RowOrder,
    /// In lower case.
    filter: String,
    counts: StateCounts,
}

impl CronJobTable {
    /// Inserts a row and returns the previous one.
    pub(super) fn insert(&mut self, uid: ObjectUid, row: CronJobSummary) -> Option<CronJobSummary> {
        let previous = self.remove(&uid);
        self.counts.add(&row, 1);
        if self.is_indexed && self.matches(&row) {
            let entry = (self.order.key(&row), uid.clone());
            let position = self.index.partition_point(|other| *other < entry);
            self.index.insert(position, entry);
        }
        self.rows.insert(uid, row);
        previous
    }

    pub(super) fn remove(&mut self, uid: &ObjectUid) -> Option<CronJobSummary> {
        self.changes += 1;
        if self.changes > CHANGES_MAX {
            self.is_indexed = false;
        }
        let row = self.rows.remove(uid)?;
        self.counts.add(&row, -1);
        if self.is_indexed {
            let entry = (self.order.key(&row), uid.clone());
            if let Ok(position) = self.index.binary_search(&entry) {
                self.index.remove(position);
            }
        }
        Some(row)
    }

    /// Keeps the rows for which `is_kept` returns true, and returns the removed ones.
    pub(super) fn retain(
        &mut self,
        is_kept: impl Fn(&ObjectUid, &CronJobSummary) -> bool,
    ) -> Vec<CronJobSummary> {
        let removed = self.rows.iter().filter(|(uid, row)| !is_kept(uid, row));
        let removed: Vec<ObjectUid> = removed.map(|(uid, _)| uid.clone()).collect();
        removed.iter().filter_map(|uid| self.remove(uid)).collect()
    }

    /// Brings the index up to date. Must be called before the methods that take positions.
    pub(in crate::up) fn prepare(&mut self) {
        self.changes = 0;
        if self.is_indexed {
            return;
        }
        let matching = self.rows.iter().filter(|(_, row)| self.matches(row));
        let mut index: Vec<_> =
            matching.map(|(uid, row)| (self.order.key(row), uid.clone())).collect();
        index.sort_unstable();
        self.index = index;
        self.is_indexed = true;
    }

    fn matches(&self, row: &CronJobSummary) -> bool {
        self.filter.is_empty()
            || row.name.to_lowercase().contains(&self.filter)
            || row.schedule.to_lowercase().contains(&self.filter)
            || row.state().as_str().contains(&self.filter)
    }

    pub(in crate::up) fn set_filter(&mut self, filter: &str) {
        let filter = filter.to_lowercase();
        if filter != self.filter {
            self.filter = filter;
            self.is_indexed = false;
        }
    }

    pub(in crate::up) fn set_order(&mut self, order: RowOrder) {
        if order != self.order {
            self.order = order;
            self.is_indexed = false;
        }
    }

    pub(in crate::up) fn order(&self) -> RowOrder {
        self.order
    }

    /// Returns the number of all CronJobs.
    pub(in crate::up) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of those that match the filter.
    pub(in crate::up) fn matching(&self) -> usize {
        self.index.len()
    }

    pub(in crate::up) fn counts(&self) -> StateCounts {
        self.counts
    }

    /// Returns the rows from a position on.
    pub(in crate::up) fn rows_from(
        &self,
        position: usize,
    ) -> impl Iterator<Item = (&ObjectUid, &CronJobSummary)> {
        let entries = self.index.get(position..).unwrap_or_default().iter();
        entries.filter_map(|(_, uid)| Some((uid, self.rows.get(uid)?)))
    }

    pub(in crate::up) fn get(&self, uid: &ObjectUid) -> Option<&CronJobSummary> {
        self.rows.get(uid)
    }

    /// Returns the position of a CronJob that matches the filter.
    pub(in crate::up) fn position(&self, uid: &ObjectUid) -> Option<usize> {
        let entry = (self.order.key(self.rows.get(uid)?), uid.clone());
        self.index.binary_search(&entry).ok()
    }
}

impl StateCounts {
    fn add(&mut self, row: &CronJobSummary, change: isize) {
        let count = match row.state() {
            CronJobState::Stuck | CronJobState::Failing => &mut self.needing_attention,
            CronJobState::Suspended => &mut self.suspended,
            _ => return,
        };
        *count = count.saturating_add_signed(change);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::cron_job;
    use super::*;

    fn names(table: &mut CronJobTable) -> Vec<String> {
        table.prepare();
        table.rows_from(0).map(|(_, row)| row.name.to_string()).collect()
    }

    fn insert(table: &mut CronJobTable, row: CronJobSummary) {
        table.insert(row.name.as_ref().into(), row);
    }

    fn table() -> CronJobTable {
        let mut table = CronJobTable::default();
        insert(&mut table, cron_job("n/late", "2026-01-01T03:00:00Z"));
        insert(&mut table, cron_job("n/early", "2026-01-01T01:00:00Z"));
        let failing = CronJobSummary { failures: 1, ..cron_job("n/bad", "2026-01-01T02:00:00Z") };
        insert(&mut table, failing);
        let suspended =
            CronJobSummary { is_suspended: true, ..cron_job("n/off", "2026-01-01T00:00:00Z") };
        insert(&mut table, suspended);
        table
    }

    #[test]
    fn failing_ones_come_first_and_suspended_ones_last() {
        let mut table = table();
        assert_eq!(names(&mut table), ["n/bad", "n/early", "n/late", "n/off"]);
        assert_eq!(table.counts(), StateCounts { needing_attention: 1, suspended: 1 });
        insert(&mut table, cron_job("n/bad", "2026-01-01T02:00:00Z"));
        assert_eq!(names(&mut table), ["n/early", "n/bad", "n/late", "n/off"]);
        assert_eq!(table.counts().needing_attention, 0);
        table.set_order(RowOrder::Name);
        assert_eq!(names(&mut table), ["n/bad", "n/early", "n/late", "n/off"]);
    }

    #[test]
    fn the_filter_selects_by_name_schedule_and_state_while_rows_change() {
        let mut table = table();
        table.set_filter("SUSP");
        assert_eq!(names(&mut table), ["n/off"]);
        table.set_filter("n/l");
        assert_eq!(names(&mut table), ["n/late"]);
        insert(&mut table, cron_job("n/later", "2026-01-01T04:00:00Z"));
        insert(&mut table, cron_job("n/other", "2026-01-01T04:00:00Z"));
        assert_eq!(names(&mut table), ["n/late", "n/later"]);
        assert_eq!((table.matching(), table.len()), (2, 6));
        assert_eq!(table.position(&"n/later".into()), Some(1));
        assert_eq!(table.position(&"n/other".into()), None);
    }

    #[test]
    fn an_index_after_single_changes_is_that_of_sorting_again() {
        let mut table = CronJobTable::default();
        table.prepare();
        for step in 0..2_000_u64 {
            let number = step.wrapping_mul(2_654_435_761) % 97;
            let name = format!("n/{number}");
            if step.is_multiple_of(5) {
                table.remove(&name.as_str().into());
            } else {
                let next = format!("2026-01-01T{:02}:00:00Z", step % 24);
                let failures = i64::from(step.is_multiple_of(7));
                insert(&mut table, CronJobSummary { failures, ..cron_job(&name, &next) });
            }
            if step.is_multiple_of(3) {
                let kept = names(&mut table);
                table.is_indexed = false;
                assert_eq!(names(&mut table), kept, "step {step}");
            }
        }
    }
}
