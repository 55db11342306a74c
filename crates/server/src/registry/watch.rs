//! Watches: what is there, and then every change, to those who selected it.

use punctual_api::Status;
use punctual_store::{Change, Entry, Error, Watch};

use super::{Place, Registry, store_failed};
use crate::request::ListOptions;
use crate::selector::Selector;
use crate::stored::Stored;

/// What a watcher sees.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Added(Stored),
    Modified(Stored),
    Deleted(Stored),
}

/// A watch of a place. Owns no queue: it reads the store's ring as fast as its reader reads it.
pub(crate) struct Feed {
    place: Place,
    selector: Selector,
    /// Objects that were there at the start, the last first.
    initial: Vec<Stored>,
    /// The revision of those objects, as long as it was not said.
    initial_revision: Option<u64>,
    watch: Watch,
}

impl Registry {
    /// Begins to watch a place.
    pub(crate) fn watch(&self, place: &Place, options: &ListOptions) -> Result<Feed, Status> {
        // No version, or any, means: what is there first.
        let wants_initial =
            options.sends_initial_events.unwrap_or(matches!(options.version, None | Some(0)));
        let (initial, from) = match (wants_initial, options.version) {
            (true, _) => {
                let plain =
                    ListOptions { limit: 0, continue_token: String::new(), ..options.clone() };
                let page = self.list(place, &plain)?;
                let mut objects = page.all()?;
                objects.reverse();
                (objects, page.revision)
            }
            (false, Some(version)) if version > 0 => (Vec::new(), version),
            (false, _) => (Vec::new(), self.store.revision()),
        };
        let watch =
            self.store.watch(&place.prefix(), from).map_err(|error| watch_failed(&error))?;
        Ok(Feed {
            place: place.clone(),
            selector: options.selector.clone(),
            initial,
            initial_revision: options.sends_initial_events.filter(|sends| *sends).map(|_| from),
            watch,
        })
    }
}

/// Why a watch cannot go on. A client then lists again.
fn watch_failed(error: &Error) -> Status {
    match error {
        Error::Compacted { requested, compacted } => {
            Status::expired(format!("too old resource version: {requested} ({compacted})"))
        }
        // A version of another store, or of before a restore: nothing can follow it.
        Error::Future { requested, revision } => {
            Status::expired(format!("unknown resource version: {requested} (current: {revision})"))
        }
        other => store_failed(other),
    }
}

impl Feed {
    /// What is there already, one object at a time.
    pub(crate) fn next_initial(&mut self) -> Option<Stored> {
        self.initial.pop()
    }

    /// The revision of what was there, once, if the client asked where it ends.
    pub(crate) fn end_of_initial(&mut self) -> Option<u64> {
        self.initial_revision.take()
    }

    /// The next change of what is selected; none when the store closes.
    pub(crate) async fn next(&mut self) -> Result<Option<Seen>, Status> {
        loop {
            let change = self.watch.next().await.map_err(|error| watch_failed(&error))?;
            let Some(change) = change else {
                return Ok(None);
            };
            if let Some(seen) = self.seen(&change)? {
                return Ok(Some(seen));
            }
        }
    }

    /// Up to where everything was said.
    pub(crate) fn progress(&mut self) -> Result<u64, Status> {
        self.watch.progress().map_err(|error| watch_failed(&error))
    }

    /// What a change is to someone who sees only what is selected.
    fn seen(&self, change: &Change) -> Result<Option<Seen>, Status> {
        if !self.selector.may_match(&change.key) {
            return Ok(None);
        }
        let (before, now) = (self.selected(&change.previous)?, self.selected(&change.current)?);
        let at = |stored: Stored| Stored { revision: change.revision, ..stored };
        Ok(match (before, now) {
            (None, None) => None,
            (None, Some(new)) => Some(Seen::Added(at(new))),
            (Some(_), Some(new)) => Some(Seen::Modified(at(new))),
            (Some(old), None) => Some(Seen::Deleted(at(old))),
        })
    }

    fn selected(&self, entry: &Option<Entry>) -> Result<Option<Stored>, Status> {
        let Some(entry) = entry else {
            return Ok(None);
        };
        let stored = Stored::of(self.place.view, entry);
        let is_selected = self.selector.is_everything() || self.selector.matches(&stored.tree()?);
        Ok(is_selected.then_some(stored))
    }
}
