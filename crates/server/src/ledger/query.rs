//! Lists records: those in statuses merged with the archived ones, newest slot first, each once.
//!
//! A query takes a snapshot of the statuses first and reads the archive afterwards, in batches that each
//! see it at a later commit. A record that moves to the archive meanwhile is in both, and its position
//! identifies it. So a query neither misses a record nor returns it twice, and it keeps no pages of the
//! file in use while its client reads.

use std::collections::BTreeSet;
use std::sync::Arc;

use punctual_api::Status;
use punctual_api::slot_record::{RunResult, SlotDecision};
use punctual_store::{ArchiveReader, Error, Snapshot, Store};

use super::identity::{OwnerId, RecordPosition, parse_name};
use super::keys::{self, KeyRange, NamespaceId, PositionBounds, RecordClass};
use super::live::{self, LiveRecords};
use super::object::{self, RecordParts};
use super::owner::Owner;
use super::scan::{ArchiveScan, OwnerCache, RangeTable, ScannedRecord, next_readable};
use super::{Ledger, archive_error};
use crate::registry::CollectionRef;
use crate::selector::Selector;
use crate::stored::StoredObject;

/// The maximum number of archived records that a batch reads. A batch may have fewer records than asked
/// for, so that a filter that selects few of many records does not occupy a thread for long.
const SCANNED_MAX: usize = 50_000;
/// Up to this number of CronJobs, their own records are merged. For more, those of their namespaces are
/// filtered.
const MERGED_OWNERS_MAX: usize = 256;
/// The end of the slots.
const SLOTS_END: i64 = 253_402_300_800;

/// What a selector requires, as far as the archive can be read by it. Objects are matched with the whole
/// selector, too.
#[derive(Clone, Debug)]
struct RecordFilter {
    namespace: Option<String>,
    cron_job: Option<String>,
    /// The only slots that a record can have, if its name is given.
    slots: Option<[i64; 2]>,
    decision: Option<SlotDecision>,
    result: Option<RunResult>,
    /// The first slot, and the slot after the last.
    first_slot: i64,
    end_slot: i64,
}

impl RecordFilter {
    /// Returns `None` if no record can be selected.
    fn new(collection: &CollectionRef, selector: &Selector) -> Option<RecordFilter> {
        let required = |field: &str| selector.required_field(field).map(str::to_owned);
        let namespace = Some(collection.namespace.clone()).filter(|name| !name.is_empty());
        let mut filter = RecordFilter {
            namespace: namespace.or_else(|| required("metadata.namespace")),
            cron_job: required("cronJob"),
            slots: None,
            decision: selector.required_field("decision").and_then(SlotDecision::parse),
            result: selector.required_field("result").and_then(RunResult::parse),
            first_slot: 0,
            end_slot: SLOTS_END,
        };
        if let Some(name) = selector.required_field("metadata.name") {
            let (cron_job, slots) = parse_name(name)?;
            filter.cron_job = Some(cron_job.to_owned());
            filter.slots = Some(slots);
        }
        for after in selector.times("slotAfter") {
            filter.first_slot = filter.first_slot.max(after.as_second().saturating_add(1));
        }
        for before in selector.times("slotBefore") {
            filter.end_slot = filter.end_slot.min(before.as_second());
        }
        Some(filter)
    }

    fn allows_class(&self, class: RecordClass) -> bool {
        class.parts().is_none_or(|(decision, result)| {
            self.decision.is_none_or(|wanted| wanted == decision)
                && self.result.is_none_or(|wanted| Some(wanted) == result)
        })
    }

    fn bounds(&self, before: Option<&RecordPosition>) -> PositionBounds {
        let before = before.cloned();
        PositionBounds { first_slot: self.first_slot, end_slot: self.end_slot.max(0), before }
    }
}

/// Which ranges of the archive a query reads.
#[derive(Clone, Debug)]
enum ScanPlan {
    Owners(BTreeSet<OwnerId>),
    Namespaces(Vec<NamespaceId>),
}

/// A list of records.
pub(crate) struct RecordQuery {
    store: Store,
    filter: Option<RecordFilter>,
    selector: Selector,
    /// The statuses, and the records in them, oldest slot first.
    snapshot: Snapshot,
    live: Vec<(RecordPosition, Arc<str>)>,
    /// All records up to this position were returned.
    before: Option<RecordPosition>,
    plan: Option<ScanPlan>,
    /// The revision of the statuses.
    pub(crate) revision: u64,
    pub(crate) is_ended: bool,
}

impl RecordQuery {
    /// Starts a list after a position, or at its beginning. Must be called on a thread that may block.
    pub(super) fn new(
        store: &Store,
        ledger: &Ledger,
        collection: &CollectionRef,
        selector: &Selector,
        before: Option<RecordPosition>,
    ) -> RecordQuery {
        let filter = RecordFilter::new(collection, selector);
        let (snapshot, live) = match &filter {
            Some(filter) => {
                ledger.live_records(store, filter.namespace.as_deref(), filter.cron_job.as_deref())
            }
            None => (store.snapshot(), Vec::new()),
        };
        RecordQuery {
            store: store.clone(),
            is_ended: filter.is_none(),
            filter,
            selector: selector.clone(),
            live,
            before,
            plan: None,
            revision: snapshot.revision(),
            snapshot,
        }
    }

    /// Returns the next records, at most `limit`. There may be fewer or none before the end, which
    /// `is_ended` tells. Must be called on a thread that may block.
    pub(crate) fn read(
        &mut self,
        limit: usize,
    ) -> Result<Vec<(RecordPosition, StoredObject)>, Status> {
        if self.is_ended {
            return Ok(Vec::new());
        }
        let Some(filter) = self.filter.clone() else { return Ok(Vec::new()) };
        let reader = self.store.archive().read().map_err(|error| archive_error(&error))?;
        let mut owners = OwnerCache::new(&reader).map_err(|error| archive_error(&error))?;
        let plan = match self.plan.take() {
            Some(plan) => plan,
            None => self.plan(&filter, &reader, &mut owners).map_err(|it| archive_error(&it))?,
        };
        let ranges = ranges(&plan, &filter, self.before.as_ref(), &reader)?;
        self.plan = Some(plan);
        let scan = ArchiveScan::new(&reader, &ranges)?;
        self.merge(&filter, scan, owners, limit)
    }

    /// The position after which the next records are.
    pub(super) fn position(&self) -> Option<&RecordPosition> {
        self.before.as_ref()
    }

    fn merge(
        &mut self,
        filter: &RecordFilter,
        mut scan: ArchiveScan<'_>,
        mut owners: OwnerCache<'_>,
        limit: usize,
    ) -> Result<Vec<(RecordPosition, StoredObject)>, Status> {
        let mut items = Vec::new();
        let mut archived = scan.next_record()?;
        let mut scanned = 0;
        while items.len() < limit && scanned < SCANNED_MAX {
            let live = self.next_live();
            let (position, object) = match (live, archived.take()) {
                (None, None) => {
                    self.is_ended = true;
                    break;
                }
                (Some(position), next)
                    if next.as_ref().is_none_or(|it| it.position <= position) =>
                {
                    let is_same = next.as_ref().is_some_and(|it| it.position == position);
                    archived = if is_same { scan.next_record()? } else { next };
                    let object = self.live_object(&position);
                    (position, object)
                }
                (_, Some(next)) => {
                    scanned += 1;
                    let position = next.position.clone();
                    let object = self.archived_object(filter, &scan, &mut owners, next)?;
                    archived = scan.next_record()?;
                    (position, object)
                }
                (Some(_), None) => break,
            };
            items.extend(object.map(|object| (position.clone(), object)));
            self.before = Some(position);
        }
        Ok(items)
    }

    /// Returns the position of the next record in a status.
    fn next_live(&self) -> Option<RecordPosition> {
        let end = match &self.before {
            Some(before) => self.live.partition_point(|(position, _)| position < before),
            None => self.live.len(),
        };
        let (position, _) = self.live.get(end.checked_sub(1)?)?;
        Some(position.clone())
    }

    fn live_object(&self, position: &RecordPosition) -> Option<StoredObject> {
        let index = self.live.binary_search_by(|(live, _)| live.cmp(position)).ok()?;
        let (_, key) = self.live.get(index)?;
        let mut records = LiveRecords::new();
        live::add_records(self.snapshot.get(key)?, &mut records);
        let live = records.get(position)?;
        self.select(RecordParts {
            owner: &live.owner,
            position,
            record: &live.record,
            revision: live.revision,
        })
    }

    fn archived_object(
        &self,
        filter: &RecordFilter,
        scan: &ArchiveScan<'_>,
        owners: &mut OwnerCache<'_>,
        scanned: ScannedRecord,
    ) -> Result<Option<StoredObject>, Status> {
        let position = scanned.position.clone();
        let owner = owners.get(position.owner()).map_err(|error| archive_error(&error))?;
        let Some(owner) = owner.filter(|owner| self.selects_owner(filter, owner)) else {
            return Ok(None);
        };
        let Some(archived) = scan.decode(scanned, &owner)? else { return Ok(None) };
        Ok(self.select(RecordParts {
            owner: &owner,
            position: &position,
            record: &archived.record,
            revision: archived.revision,
        }))
    }

    fn selects_owner(&self, filter: &RecordFilter, owner: &Owner) -> bool {
        filter.namespace.as_ref().is_none_or(|namespace| *namespace == owner.namespace)
            && filter.cron_job.as_ref().is_none_or(|name| *name == owner.name)
            && self.selector.matches_labels(&owner.labels)
    }

    fn select(&self, parts: RecordParts<'_>) -> Option<StoredObject> {
        let json = parts.to_json();
        self.selector.matches(&json).then(|| object::to_stored(&json, parts.revision))
    }

    /// Chooses the ranges to read.
    fn plan(
        &self,
        filter: &RecordFilter,
        reader: &ArchiveReader,
        owners: &mut OwnerCache<'_>,
    ) -> Result<ScanPlan, Error> {
        let namespaces = match &filter.namespace {
            Some(namespace) => vec![namespace.clone()],
            None => all_namespaces(reader)?,
        };
        let is_limited = filter.cron_job.is_some() || self.selector.has_labels();
        if is_limited {
            let selected = self.select_owners(filter, &namespaces, reader, owners)?;
            if filter.cron_job.is_some() || selected.len() <= MERGED_OWNERS_MAX {
                return Ok(ScanPlan::Owners(selected));
            }
        }
        let mut ids: Vec<_> = namespaces.iter().map(|name| NamespaceId::new(name)).collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(ScanPlan::Namespaces(ids))
    }

    /// Returns the CronJobs that the filter and the labels select. Stops when they are too many to be
    /// merged.
    fn select_owners(
        &self,
        filter: &RecordFilter,
        namespaces: &[String],
        reader: &ArchiveReader,
        owners: &mut OwnerCache<'_>,
    ) -> Result<BTreeSet<OwnerId>, Error> {
        let mut selected = BTreeSet::new();
        for namespace in namespaces {
            let names = match &filter.cron_job {
                Some(name) => keys::names_of(namespace, name),
                None => keys::names_in(namespace),
            };
            let (start, end) = names.bounds();
            let mut names = reader.range(start, end)?;
            while let Some((key, _)) = next_readable(&mut names)? {
                let Some(id) = keys::owner_of(&key) else { continue };
                if owners.get(id)?.is_some_and(|owner| self.selects_owner(filter, &owner)) {
                    selected.insert(id);
                }
                if filter.cron_job.is_none() && selected.len() > MERGED_OWNERS_MAX {
                    return Ok(selected);
                }
            }
        }
        Ok(selected)
    }
}

/// Returns the namespaces that have records. Reads one key for each.
fn all_namespaces(reader: &ArchiveReader) -> Result<Vec<String>, Error> {
    let mut namespaces: Vec<String> = Vec::new();
    loop {
        let names = keys::names_after(namespaces.last().map(String::as_str));
        let (start, end) = names.bounds();
        let next = next_readable(&mut reader.range(start, end)?)?;
        match next.as_ref().and_then(|(key, _)| keys::namespace_of(key)) {
            Some(namespace) => namespaces.push(namespace.to_owned()),
            None => return Ok(namespaces),
        }
    }
}

/// Returns the ranges of the records before a position.
fn ranges(
    plan: &ScanPlan,
    filter: &RecordFilter,
    before: Option<&RecordPosition>,
    reader: &ArchiveReader,
) -> Result<Vec<(RangeTable, KeyRange)>, Status> {
    let bounds = filter.bounds(before);
    let mut ranges = Vec::new();
    match plan {
        ScanPlan::Owners(owners) => {
            for owner in owners {
                for bounds in slot_bounds(filter, &bounds) {
                    let keys = keys::records_between(*owner, &bounds);
                    ranges.push((RangeTable::Records, keys));
                }
            }
        }
        ScanPlan::Namespaces(namespaces) => {
            for namespace in namespaces {
                let classes = classes_in(*namespace, reader).map_err(|it| archive_error(&it))?;
                for class in classes.into_iter().filter(|class| filter.allows_class(*class)) {
                    let keys = keys::class_between(*namespace, class, &bounds);
                    ranges.push((RangeTable::Classes, keys));
                }
            }
        }
    }
    Ok(ranges)
}

/// Returns the bounds, or those of each slot that a record can have.
fn slot_bounds(filter: &RecordFilter, bounds: &PositionBounds) -> Vec<PositionBounds> {
    let Some(slots) = filter.slots else { return vec![bounds.clone()] };
    let within = |slot: &i64| (bounds.first_slot..bounds.end_slot).contains(slot);
    let only = |slot: i64| PositionBounds {
        first_slot: slot,
        end_slot: slot + 1,
        before: bounds.before.clone(),
    };
    let slots: BTreeSet<i64> = slots.into_iter().collect();
    slots.into_iter().filter(within).map(only).collect()
}

/// Returns the classes of the records in a namespace. Reads one key for each.
fn classes_in(namespace: NamespaceId, reader: &ArchiveReader) -> Result<Vec<RecordClass>, Error> {
    let mut classes: Vec<RecordClass> = Vec::new();
    loop {
        let below = keys::classes_below(namespace, classes.last().copied());
        let (start, end) = below.bounds();
        let last = next_readable(&mut reader.range(start, end)?.rev())?;
        match last.as_ref().and_then(|(key, _)| keys::class_of(key)) {
            Some(class) => classes.push(class),
            None => return Ok(classes),
        }
    }
}

/// Returns the ranges of all records whose slot is before a time.
pub(super) fn class_ranges_before(
    reader: &ArchiveReader,
    end_slot: i64,
) -> Result<Vec<KeyRange>, Error> {
    let bounds = PositionBounds { first_slot: 0, end_slot: end_slot.max(0), before: None };
    let mut ranges = Vec::new();
    for namespace in all_namespaces(reader)? {
        let namespace = NamespaceId::new(&namespace);
        for class in classes_in(namespace, reader)? {
            ranges.push(keys::class_between(namespace, class, &bounds));
        }
    }
    Ok(ranges)
}
