//! Pages of records, and the continue tokens that lead to the next ones.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use punctual_api::Status;
use serde::{Deserialize, Serialize};

use super::identity::RecordPosition;
use super::query::RecordQuery;
use super::run_blocking;
use crate::registry::{CollectionRef, ListMetadata, Registry};
use crate::request::{ListOptions, VersionMatch};
use crate::stored::StoredObject;

/// The maximum number of records of a page, whatever limit the client asks for.
const PAGE_MAX: usize = 1_000;
/// How many batches a page reads at most. If a filter selects few records, a page may have fewer than its
/// limit although more follow.
const BATCHES_MAX: usize = 4;
/// Longer than any position in hexadecimal digits.
const POSITION_DIGITS_MAX: usize = 64;
const TOKEN_VERSION: &str = "punctual.dev/v1";

/// The content of a continue token: the version of the list, and the last position of the page.
#[derive(Debug, Serialize, Deserialize)]
struct RecordToken {
    v: String,
    rv: u64,
    at: String,
}

/// One page of records.
pub(crate) struct SlotRecordPage {
    pub(crate) items: Vec<StoredObject>,
    pub(crate) metadata: ListMetadata,
}

impl Registry {
    /// Starts a list of records, at its beginning or where its continue token says. Returns the version of
    /// the list with it.
    pub(crate) async fn query_records(
        &self,
        collection: &CollectionRef,
        options: &ListOptions,
    ) -> Result<(RecordQuery, u64), Status> {
        let token = match options.continue_token.as_str() {
            "" => None,
            token => Some(decode_token(token)?),
        };
        self.check_list_version(options)?;
        let store = self.store.clone();
        let ledger = self.ledger.clone();
        let collection = collection.clone();
        let selector = options.selector.clone();
        let before = token.as_ref().map(|(_, position)| position.clone());
        let query = run_blocking(self.store.archive(), move || {
            Ok(RecordQuery::new(&store, &ledger, &collection, &selector, before))
        });
        let query = query.await?;
        let revision = token.map_or(query.revision, |(revision, _)| revision);
        Ok((query, revision))
    }

    /// Lists one page of records.
    pub(crate) async fn list_record_page(
        &self,
        collection: &CollectionRef,
        options: &ListOptions,
    ) -> Result<SlotRecordPage, Status> {
        let (query, revision) = self.query_records(collection, options).await?;
        let limit = options.limit.min(PAGE_MAX);
        run_blocking(self.store.archive(), move || read_page(query, limit, revision)).await
    }

    /// Returns one record.
    pub(crate) async fn get_record(
        &self,
        collection: &CollectionRef,
        options: &ListOptions,
    ) -> Result<Option<StoredObject>, Status> {
        let page = ListOptions { limit: 1, ..options.clone() };
        Ok(self.list_record_page(collection, &page).await?.items.pop())
    }

    /// The ledger is listed at its current version only, because archived records have no history.
    fn check_list_version(&self, options: &ListOptions) -> Result<(), Status> {
        let current = self.store.revision();
        match options.version {
            Some(wanted) if wanted > current => Err(crate::registry::too_large(wanted, current)),
            Some(wanted)
                if options.version_match == Some(VersionMatch::Exact) && wanted != current =>
            {
                let why = "The resourceVersion for the provided list is too old.";
                Err(Status::expired(why))
            }
            _ => Ok(()),
        }
    }
}

fn read_page(
    mut query: RecordQuery,
    limit: usize,
    revision: u64,
) -> Result<SlotRecordPage, Status> {
    let mut items: Vec<(RecordPosition, StoredObject)> = Vec::new();
    // One more than the page has, to see whether another page follows.
    for _ in 0..BATCHES_MAX {
        items.extend(query.read(limit + 1 - items.len())?);
        if items.len() > limit || query.is_ended {
            break;
        }
    }
    let has_more = items.len() > limit;
    items.truncate(limit);
    let last = if has_more { items.last().map(|(position, _)| position) } else { query.position() };
    let continue_token = match last {
        Some(last) if has_more || !query.is_ended => encode_token(revision, last),
        _ => String::new(),
    };
    let metadata = ListMetadata { revision, continue_token, remaining: None };
    Ok(SlotRecordPage { items: items.into_iter().map(|(_, item)| item).collect(), metadata })
}

fn encode_token(revision: u64, position: &RecordPosition) -> String {
    let at = position.encode().iter().map(|byte| format!("{byte:02x}")).collect();
    let token = RecordToken { v: TOKEN_VERSION.to_owned(), rv: revision, at };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

fn decode_token(text: &str) -> Result<(u64, RecordPosition), Status> {
    let token = URL_SAFE_NO_PAD.decode(text).ok();
    let token = token.and_then(|bytes| serde_json::from_slice::<RecordToken>(&bytes).ok());
    let token = token.filter(|token| token.v == TOKEN_VERSION);
    let position = token.as_ref().and_then(|token| parse_position(&token.at));
    let revision = token.map(|token| token.rv);
    revision.zip(position).ok_or_else(|| {
        Status::bad_request("invalid continue token: continue key is not valid".to_owned())
    })
}

fn parse_position(digits: &str) -> Option<RecordPosition> {
    if digits.len() > POSITION_DIGITS_MAX || !digits.len().is_multiple_of(2) {
        return None;
    }
    let byte = |start: usize| u8::from_str_radix(digits.get(start..start + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    RecordPosition::decode(&bytes?)
}
