//! Everything that ever became of the Jobs and of the Lease, as the server told it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_api::Time;
use serde::Deserialize;

const SLOT: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// A Job, from its creation to its end.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) name: String,
    pub(super) uid: String,
    /// Whose run it is.
    pub(super) owner: String,
    pub(super) slot: Timestamp,
    /// When the server says that it was created, in whole seconds.
    pub(super) created: Timestamp,
    /// When it was first seen.
    pub(super) begun: Moment,
    pub(super) end: Option<(Moment, End)>,
    is_gone: bool,
}

/// A place in the server's order of changes, and when it was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) version: u64,
    pub(super) at: Timestamp,
}

/// How a Job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Complete,
    Failed,
    /// It was deleted before it had finished.
    Deleted,
}

/// All Jobs that there ever were.
#[derive(Debug, Default)]
pub(super) struct Runs {
    by_uid: BTreeMap<String, Run>,
    /// Jobs that are nobody's run.
    pub(super) strangers: Vec<String>,
}

/// Who held the Lease, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms(pub(super) Vec<Term>);

/// A holder and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) holder: String,
    pub(super) from: Timestamp,
}

/// What a record can follow.
pub(super) trait Follows {
    type Object: for<'de> Deserialize<'de>;

    /// An object is there, as it is now.
    fn see(&mut self, object: &Self::Object, at: Timestamp);

    /// An object is gone.
    fn lose(&mut self, object: &Self::Object, at: Timestamp);

    /// These are all that are left after something may not have been heard.
    fn resume(&mut self, objects: &[Self::Object], now: Moment);
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Job {
    metadata: Meta,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: String,
    uid: String,
    resource_version: String,
    creation_timestamp: Time,
    #[serde(default)]
    owner_references: Vec<Owner>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Owner {
    uid: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Lease {
    spec: LeaseSpec,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeaseSpec {
    #[serde(default)]
    holder_identity: String,
}

impl Job {
    fn version(&self) -> u64 {
        self.metadata.resource_version.parse().unwrap_or_default()
    }

    fn end(&self) -> Option<End> {
        let is = |kind: &str| {
            let mut conditions = self.status.conditions.iter();
            conditions.any(|found| found.kind == kind && found.status == "True")
        };
        match (is("Complete"), is("Failed")) {
            (true, _) => Some(End::Complete),
            (_, true) => Some(End::Failed),
            _ => None,
        }
    }

    fn run(&self, at: Timestamp) -> Option<Run> {
        let Meta { name, uid, creation_timestamp, owner_references, annotations, .. } =
            &self.metadata;
        Some(Run {
            name: name.clone(),
            uid: uid.clone(),
            owner: owner_references.first()?.uid.clone(),
            slot: annotations.get(SLOT)?.parse().ok()?,
            created: creation_timestamp.timestamp(),
            begun: Moment { version: self.version(), at },
            end: None,
            is_gone: false,
        })
    }
}

impl Runs {
    pub(super) fn count(&self) -> usize {
        self.by_uid.len()
    }

    /// The runs of everybody, by owner and in the order in which they were created.
    pub(super) fn by_owner(&self) -> BTreeMap<&str, Vec<&Run>> {
        let mut owners: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
        for run in self.by_uid.values() {
            owners.entry(&run.owner).or_default().push(run);
        }
        owners.values_mut().for_each(|runs| runs.sort_by_key(|run| run.begun.version));
        owners
    }
}

impl Follows for Runs {
    type Object = Job;

    fn see(&mut self, job: &Job, at: Timestamp) {
        let uid = &job.metadata.uid;
        if !self.by_uid.contains_key(uid) {
            match job.run(at) {
                Some(run) => drop(self.by_uid.insert(uid.clone(), run)),
                None => self.strangers.push(job.metadata.name.clone()),
            }
        }
        let Some(run) = self.by_uid.get_mut(uid) else { return };
        if let (None, Some(end)) = (run.end, job.end()) {
            run.end = Some((Moment { version: job.version(), at }, end));
        }
    }

    fn lose(&mut self, job: &Job, at: Timestamp) {
        // The last that is told of it may be news, too.
        self.see(job, at);
        if let Some(run) = self.by_uid.get_mut(&job.metadata.uid) {
            run.lose(Moment { version: job.version(), at });
        }
    }

    fn resume(&mut self, jobs: &[Job], now: Moment) {
        jobs.iter().for_each(|job| self.see(job, now.at));
        let there = |uid: &str| jobs.iter().any(|job| job.metadata.uid == uid);
        for run in self.by_uid.values_mut().filter(|run| !run.is_gone && !there(&run.uid)) {
            run.lose(now);
        }
    }
}

impl Run {
    fn lose(&mut self, now: Moment) {
        self.end = self.end.or(Some((now, End::Deleted)));
        self.is_gone = true;
    }

    #[cfg(test)]
    pub(super) fn for_test(uid: &str, slot: Timestamp, begun: Moment) -> Run {
        let name = format!("a-{}", slot.as_second());
        let (uid, owner) = (uid.to_owned(), "u".to_owned());
        Run { name, uid, owner, slot, created: begun.at, begun, end: None, is_gone: false }
    }
}

impl Terms {
    /// How often somebody else led than before.
    pub(super) fn changes(&self) -> usize {
        self.0.len().saturating_sub(1)
    }
}

impl Follows for Terms {
    type Object = Lease;

    fn see(&mut self, lease: &Lease, at: Timestamp) {
        let holder = &lease.spec.holder_identity;
        if self.0.last().is_none_or(|last| last.holder != *holder) {
            self.0.push(Term { holder: holder.clone(), from: at });
        }
    }

    fn lose(&mut self, _lease: &Lease, at: Timestamp) {
        self.0.push(Term { holder: String::new(), from: at });
    }

    fn resume(&mut self, leases: &[Lease], now: Moment) {
        leases.iter().for_each(|lease| self.see(lease, now.at));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn job(uid: &str, version: u64, conditions: Value) -> Job {
        let metadata = json!({"name": "a-1", "uid": uid, "resourceVersion": version.to_string(),
            "creationTimestamp": at(5).to_string(), "ownerReferences": [{"uid": "u"}],
            "annotations": {SLOT: at(4).to_string()}});
        serde_json::from_value(json!({"metadata": metadata, "status": {"conditions": conditions}}))
            .unwrap()
    }

    fn complete() -> Value {
        json!([{"type": "Complete", "status": "True"}])
    }

    #[test]
    fn a_run_goes_from_its_first_event_to_its_end() {
        let mut runs = Runs::default();
        runs.see(&job("1", 7, json!([])), at(5));
        runs.see(&job("1", 8, complete()), at(6));
        runs.lose(&job("1", 9, complete()), at(7));
        let run = runs.by_owner()["u"][0];
        let (end, how) = run.end.unwrap();
        assert_eq!((run.begun.version, run.slot), (7, at(4)));
        assert_eq!((end.version, end.at, how), (8, at(6), End::Complete));
    }

    #[test]
    fn what_is_deleted_without_an_end_was_cut_short() {
        let mut runs = Runs::default();
        runs.see(&job("1", 7, json!([])), at(5));
        runs.lose(&job("1", 9, json!([])), at(7));
        assert_eq!(runs.by_owner()["u"][0].end.unwrap().1, End::Deleted);
    }

    #[test]
    fn a_list_tells_what_was_not_heard() {
        let mut runs = Runs::default();
        runs.see(&job("1", 7, json!([])), at(5));
        runs.resume(&[job("2", 9, complete())], Moment { version: 10, at: at(8) });
        let ends: Vec<_> = runs.by_owner()["u"].iter().map(|run| run.end.unwrap().1).collect();
        assert_eq!(ends, [End::Deleted, End::Complete]);
    }

    #[test]
    fn a_term_lasts_until_another_holds_the_lease() {
        let mut terms = Terms::default();
        for (second, holder) in [(1, "a"), (2, "a"), (3, "b"), (4, "a")] {
            let lease = json!({"spec": {"holderIdentity": holder}});
            terms.see(&serde_json::from_value(lease).unwrap(), at(second));
        }
        assert_eq!(terms.0.iter().map(|term| term.from).collect::<Vec<_>>(), [1, 3, 4].map(at));
        assert_eq!(terms.changes(), 2);
    }
}
