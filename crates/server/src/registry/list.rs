//! Lists collections in pages that all show the same version of the store, with continue tokens.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{GeneralPurpose, general_purpose};
use punctual_api::Status;
use punctual_api::status::{StatusCause, StatusDetails, StatusReason};
use punctual_store::{Error, Snapshot, StoreEntry};
use serde::{Deserialize, Serialize};

use super::{CollectionRef, Registry, store_error};
use crate::request::{ListOptions, VersionMatch};
use crate::selector::Selector;
use crate::stored::StoredObject;

/// Accepts the same encodings as Go's decoder, which ignores trailing bits.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&URL_SAFE, general_purpose::NO_PAD.with_decode_allow_trailing_bits(true));

/// The content of a continue token: the last key of the page and the version of the list.
#[derive(Debug, Serialize, Deserialize)]
struct ContinueToken {
    v: String,
    /// The version to continue in; the latest version if not positive.
    rv: i64,
    start: String,
}

/// One page of a list. Items are read from the snapshot when they are needed.
#[derive(Clone)]
pub(crate) struct ListPage {
    collection: CollectionRef,
    selector: Selector,
    snapshot: Snapshot,
    /// The key that precedes the first key of the page.
    after: String,
    /// The key that follows the last key of the page, if this is not the last page.
    until: Option<String>,
    /// The token for the next page; empty on the last page.
    continue_token: String,
    /// The number of objects after the page, if known.
    remaining: Option<usize>,
    pub(crate) revision: u64,
}

impl Registry {
    /// Lists one page of a collection.
    pub(crate) fn list(
        &self,
        collection: &CollectionRef,
        options: &ListOptions,
    ) -> Result<ListPage, Status> {
        let prefix = collection.prefix();
        let (snapshot, after) = match options.continue_token.as_str() {
            "" => (self.snapshot(options)?, String::new()),
            token => self.resume(token, &prefix)?,
        };
        let revision = snapshot.revision();
        let mut page = ListPage {
            collection: collection.clone(),
            selector: options.selector.clone(),
            snapshot,
            after,
            until: None,
            continue_token: String::new(),
            remaining: None,
            revision,
        };
        if options.limit > 0 {
            page.limit_to(options.limit)?;
        }
        Ok(page)
    }

    fn snapshot(&self, options: &ListOptions) -> Result<Snapshot, Status> {
        let now = self.store.snapshot();
        match (options.version, options.version_match) {
            (None | Some(0), _) => Ok(now),
            (Some(wanted), _) if wanted > now.revision() => Err(too_large(wanted, now.revision())),
            (Some(wanted), Some(VersionMatch::Exact)) => self.snapshot_at(wanted, None),
            // A limited list with a version but no match rule returns exactly this version.
            (Some(wanted), None) if options.limit > 0 => self.snapshot_at(wanted, None),
            _ => Ok(now),
        }
    }

    /// Decodes a continue token. Returns the snapshot to read and the key to start after.
    fn resume(&self, token: &str, prefix: &str) -> Result<(Snapshot, String), Status> {
        let invalid = |why: &str| Status::bad_request(format!("invalid continue token: {why}"));
        let bytes = BASE64
            .decode(token)
            .map_err(|_| invalid("continue key is not valid: illegal base64 data"))?;
        let token: ContinueToken = serde_json::from_slice(&bytes).map_err(|_| {
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
            Ok(revision) => self.snapshot_at(revision, Some(&token.start))?,
        };
        Ok((snapshot, after))
    }

    /// Returns a snapshot of an earlier revision. If it is no longer in the history, the error
    /// contains a token that continues in the latest version.
    fn snapshot_at(&self, revision: u64, start: Option<&str>) -> Result<Snapshot, Status> {
        self.store.snapshot_at(revision).map_err(|error| match error {
            Error::FutureRevision { requested, revision } => too_large(requested, revision),
            Error::Compacted { .. } => expired(start),
            other => store_error(&other),
        })
    }
}

pub(crate) fn too_large(wanted: u64, current: u64) -> Status {
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
    let token = ContinueToken { v: "meta.k8s.io/v1".to_owned(), rv, start: start.to_owned() };
    BASE64.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// What the metadata of a list contains.
#[derive(Clone, Debug)]
pub(crate) struct ListMetadata {
    pub(crate) revision: u64,
    /// The token for the next page; empty on the last page.
    pub(crate) continue_token: String,
    /// The number of objects after the page, if known.
    pub(crate) remaining: Option<usize>,
}

impl ListPage {
    pub(crate) fn metadata(&self) -> ListMetadata {
        ListMetadata {
            revision: self.revision,
            continue_token: self.continue_token.clone(),
            remaining: self.remaining,
        }
    }

    /// Returns at most `limit` items after a key, with their keys. Objects are decoded only if the
    /// selector needs it.
    pub(crate) fn items(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, StoredObject)>, Status> {
        let prefix = self.collection.prefix();
        let mut items = Vec::new();
        for (key, entry) in self.snapshot.prefix_after(&prefix, after.unwrap_or(&self.after)) {
            if items.len() == limit || self.until.as_deref().is_some_and(|until| **key >= *until) {
                break;
            }
            if !self.selector.may_match(key) {
                continue;
            }
            if let Some(stored) = self.select(entry)? {
                items.push((key.to_string(), stored));
            }
        }
        Ok(items)
    }

    fn select(&self, entry: &StoreEntry) -> Result<Option<StoredObject>, Status> {
        let stored = StoredObject::from_entry(self.collection.served, entry);
        if self.selector.is_everything() {
            return Ok(Some(stored));
        }
        let is_selected = self.selector.matches(&stored.to_json()?);
        Ok(is_selected.then_some(stored))
    }

    /// Ends the page after `limit` items and sets its continue token, if more items follow.
    fn limit_to(&mut self, limit: usize) -> Result<(), Status> {
        let prefix = self.collection.prefix();
        let items = self.items(None, limit.saturating_add(1))?;
        let last = limit.checked_sub(1).and_then(|index| items.get(index));
        let (Some((last, _)), Some((next, _))) = (last, items.get(limit)) else {
            return Ok(());
        };
        let start = format!("{}\0", last.strip_prefix(&prefix).unwrap_or(last));
        let revision = i64::try_from(self.revision).unwrap_or(i64::MAX);
        self.continue_token = encode_token(revision, &start);
        self.until = Some(next.clone());
        if self.selector.is_everything() {
            self.remaining = Some(self.snapshot.prefix_after(&prefix, last).count());
        }
        Ok(())
    }
}
