//! Lists: consistent views of many objects, in pages.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{GeneralPurpose, general_purpose};
use punctual_api::Status;
use punctual_api::status::{StatusCause, StatusDetails, StatusReason};
use punctual_store::{Entry, Error, Snapshot};
use serde::{Deserialize, Serialize};

use super::{Place, Registry, store_failed};
use crate::request::{ListOptions, VersionMatch};
use crate::selector::Selector;
use crate::stored::Stored;

/// As lenient as Go's decoder about bits that do not matter.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&URL_SAFE, general_purpose::NO_PAD.with_decode_allow_trailing_bits(true));

/// What is behind a continue token: where a list left off, and in which version.
#[derive(Debug, Serialize, Deserialize)]
struct Token {
    v: String,
    /// 0 or less: whatever version there is.
    rv: i64,
    start: String,
}

/// One page of a list. Its items are read from the snapshot as they are needed.
#[derive(Clone)]
pub(crate) struct Page {
    place: Place,
    selector: Selector,
    snapshot: Snapshot,
    /// The last key before the page.
    after: String,
    /// The first key behind the page, if it ends before the list does.
    until: Option<String>,
    /// Says how to get the next page; empty on the last one.
    pub(crate) continue_token: String,
    /// How many objects come after the page, where that is known.
    pub(crate) remaining: Option<usize>,
    pub(crate) revision: u64,
}

impl Registry {
    /// A page of the objects of a place.
    pub(crate) fn list(&self, place: &Place, options: &ListOptions) -> Result<Page, Status> {
        let prefix = place.prefix();
        let (snapshot, after) = match options.continue_token.as_str() {
            "" => (self.snapshot(options)?, String::new()),
            token => self.resume(token, &prefix)?,
        };
        let revision = snapshot.revision();
        let mut page = Page {
            place: place.clone(),
            selector: options.selector.clone(),
            snapshot,
            after,
            until: None,
            continue_token: String::new(),
            remaining: None,
            revision,
        };
        if options.limit > 0 {
            page.end_after(options.limit)?;
        }
        Ok(page)
    }

    fn snapshot(&self, options: &ListOptions) -> Result<Snapshot, Status> {
        let now = self.store.snapshot();
        match (options.version, options.version_match) {
            (None | Some(0), _) => Ok(now),
            (Some(wanted), _) if wanted > now.revision() => Err(too_large(wanted, now.revision())),
            (Some(wanted), Some(VersionMatch::Exact)) => self.at(wanted, None),
            // The first of several pages without another word means this very version.
            (Some(wanted), None) if options.limit > 0 => self.at(wanted, None),
            _ => Ok(now),
        }
    }

    fn resume(&self, token: &str, prefix: &str) -> Result<(Snapshot, String), Status> {
        let invalid = |why: &str| Status::bad_request(format!("invalid continue token: {why}"));
        let bytes = BASE64
            .decode(token)
            .map_err(|_| invalid("continue key is not valid: illegal base64 data"))?;
        let token: Token = serde_json::from_slice(&bytes).map_err(|_| {
            let first = bytes.first().map_or(' ', |byte| char::from(*byte));
            let why = format!("invalid character '{first}' looking for beginning of value");
            invalid(&format!("continue key is not valid: {why}"))
        })?;
        if token.v != "meta.k8s.io/v1" {
            return Err(invalid("continue key is not valid: unrecognized encoded version"));
        }
        if token.start.is_empty() || token.start.contains("..") {
            return Err(invalid("continue key is not valid: encoded start key empty or invalid"));
        }
        let after = format!("{prefix}{}", token.start.trim_end_matches('\0'));
        let snapshot = match u64::try_from(token.rv) {
            Ok(0) | Err(_) => self.store.snapshot(),
            Ok(revision) => self.at(revision, Some(&token.start))?,
        };
        Ok((snapshot, after))
    }

    /// The past, as long as it is remembered. Who asks for more is told how to go on without.
    fn at(&self, revision: u64, start: Option<&str>) -> Result<Snapshot, Status> {
        self.store.snapshot_at(revision).map_err(|error| match error {
            Error::Future { requested, revision } => too_large(requested, revision),
            Error::Compacted { .. } => expired(start),
            other => store_failed(&other),
        })
    }
}

fn too_large(wanted: u64, current: u64) -> Status {
    let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
    let cause = StatusCause {
        reason: "ResourceVersionTooLarge".to_owned(),
        message: "Too large resource version".to_owned(),
        ..StatusCause::default()
    };
    let details =
        StatusDetails { causes: vec![cause], retry_after_seconds: 1, ..StatusDetails::default() };
    Status::failure(StatusReason::Timeout, message).with_details(details)
}

fn expired(start: Option<&str>) -> Status {
    let mut status = match start {
        None => return Status::expired("The resourceVersion for the provided list is too old."),
        Some(_) => Status::expired(
            "The provided continue parameter is too old to display a consistent list result. You \
             can start a new list without the continue parameter, or use the continue token in \
             this response to retrieve the remainder of the results. Continuing with the provided \
             token results in an inconsistent list - objects that were created, modified, or \
             deleted between the time the first chunk was returned and now may show up in the \
             list.",
        ),
    };
    let token = encode_token(-1, start.unwrap_or_default());
    status.metadata.insert("continue".to_owned(), token.into());
    status
}

fn encode_token(rv: i64, start: &str) -> String {
    let token = Token { v: "meta.k8s.io/v1".to_owned(), rv, start: start.to_owned() };
    BASE64.encode(serde_json::to_vec(&token).unwrap_or_default())
}

impl Page {
    /// Some items after a key, with the key of the last; empty when there are no more. The objects
    /// are read only if a selector asks about them.
    pub(crate) fn items(
        &self,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<(String, Stored)>, Status> {
        let prefix = self.place.prefix();
        let mut items = Vec::new();
        for (key, entry) in self.snapshot.prefix_after(&prefix, after.unwrap_or(&self.after)) {
            if items.len() == most || self.until.as_deref().is_some_and(|until| **key >= *until) {
                break;
            }
            if !self.selector.may_match(key) {
                continue;
            }
            if let Some(stored) = self.selected(entry)? {
                items.push((key.to_string(), stored));
            }
        }
        Ok(items)
    }

    /// All items.
    pub(crate) fn all(&self) -> Result<Vec<Stored>, Status> {
        Ok(self.items(None, usize::MAX)?.into_iter().map(|(_, stored)| stored).collect())
    }

    fn selected(&self, entry: &Entry) -> Result<Option<Stored>, Status> {
        let stored = Stored::of(self.place.view, entry);
        if self.selector.is_everything() {
            return Ok(Some(stored));
        }
        let is_selected = self.selector.matches(&stored.tree()?);
        Ok(is_selected.then_some(stored))
    }

    fn end_after(&mut self, limit: usize) -> Result<(), Status> {
        let prefix = self.place.prefix();
        let ahead = self.items(None, limit.saturating_add(1))?;
        let (Some((last, _)), Some((next, _))) =
            (limit.checked_sub(1).and_then(|at| ahead.get(at)), ahead.get(limit))
        else {
            return Ok(());
        };
        let start = format!("{}\0", last.strip_prefix(&prefix).unwrap_or(last));
        let revision = i64::try_from(self.revision).unwrap_or(i64::MAX);
        self.continue_token = encode_token(revision, &start);
        self.until = Some(next.clone());
        if self.selector.is_everything() {
            let rest = self.snapshot.prefix_after(&prefix, last).count();
            self.remaining = Some(rest);
        }
        Ok(())
    }
}
