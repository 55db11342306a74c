//! Notes that wait to be written. There is room for so many; then the oldest that matter least go.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use punctual_api::meta::ObjectReference;
use punctual_engine::{Note, NoteKind};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How many notes wait in one inbox: a few megabytes in all of them.
pub(super) const WAITING_MAX: usize = 4_096;

/// How often we say that notes were dropped, at most.
const TELL_EVERY: SignedDuration = SignedDuration::from_secs(60);

/// The longest message that the API takes.
pub(super) const MESSAGE_BYTES_MAX: usize = 1_024;

/// A note about an object, taken at a time.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) about: ObjectReference,
    pub(super) kind: NoteKind,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) at: Timestamp,
}

impl Draft {
    pub(super) fn new(about: &ObjectReference, note: &Note, at: Timestamp) -> Draft {
        let message = cut(&note.message, MESSAGE_BYTES_MAX).to_owned();
        Draft { about: about.clone(), kind: note.kind, reason: note.reason, message, at }
    }
}

/// The beginning of a text, in whole characters.
pub(super) fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Notes that wait, and whoever waits for them.
#[derive(Default)]
pub(super) struct Inbox {
    waiting: Mutex<Waiting>,
    news: Notify,
}

/// Warnings outlive news, so they stand apart; a number says who came first.
#[derive(Default)]
struct Waiting {
    news: VecDeque<(u64, Draft)>,
    warnings: VecDeque<(u64, Draft)>,
    count: u64,
    /// How many were dropped that nobody was told of.
    dropped: u64,
    told_at: Option<Timestamp>,
}

impl Inbox {
    /// Puts a note in; the number of others that had to go for it.
    pub(super) fn put(&self, draft: Draft) -> u64 {
        let dropped = self.waiting().put(draft);
        self.news.notify_one();
        dropped
    }

    /// The next note; none once we are to stop and there is no more.
    pub(super) async fn next(&self, stop: &CancellationToken) -> Option<Draft> {
        loop {
            if let Some(draft) = self.waiting().take() {
                return Some(draft);
            }
            tokio::select! {
                biased;
                () = self.news.notified() => {}
                () = stop.cancelled() => return self.waiting().take(),
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn put(&mut self, draft: Draft) -> u64 {
        let is_full = self.news.len() + self.warnings.len() >= WAITING_MAX;
        if is_full {
            let _ = self.news.pop_front().or_else(|| self.warnings.pop_front());
            self.dropped += 1;
            self.tell(draft.at);
        }
        self.count += 1;
        match draft.kind {
            NoteKind::Normal => self.news.push_back((self.count, draft)),
            NoteKind::Warning => self.warnings.push_back((self.count, draft)),
        }
        is_full.into()
    }

    fn tell(&mut self, now: Timestamp) {
        let is_known = self.told_at.is_some_and(|told| {
            let since = now.duration_since(told);
            !since.is_negative() && since < TELL_EVERY
        });
        if !is_known {
            tracing::warn!(count = self.dropped, "events are dropped: too many wait to be written");
            self.told_at = Some(now);
            self.dropped = 0;
        }
    }

    fn take(&mut self) -> Option<Draft> {
        let number = |lane: &VecDeque<(u64, Draft)>| lane.front().map(|(number, _)| *number);
        let lane = match (number(&self.news), number(&self.warnings)) {
            (Some(news), Some(warning)) if warning < news => &mut self.warnings,
            (Some(_), _) => &mut self.news,
            (None, _) => &mut self.warnings,
        };
        let draft = lane.pop_front().map(|(_, draft)| draft);
        if lane.is_empty() {
            // A burst is over; so is its room.
            lane.shrink_to(WAITING_MAX / 64);
        }
        draft
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(note: &Note) -> Draft {
        Draft::new(&ObjectReference::default(), note, Timestamp::UNIX_EPOCH)
    }

    fn rest(inbox: &Inbox) -> Vec<String> {
        std::iter::from_fn(|| inbox.waiting().take()).map(|draft| draft.message).collect()
    }

    #[test]
    fn notes_come_out_in_the_order_they_came_in() {
        let inbox = Inbox::default();
        inbox.put(draft(&Note::normal("R", "a")));
        inbox.put(draft(&Note::warning("R", "b")));
        inbox.put(draft(&Note::normal("R", "c")));
        assert_eq!(rest(&inbox), ["a", "b", "c"]);
    }

    #[test]
    fn news_make_room_before_warnings_and_the_old_before_the_new() {
        let inbox = Inbox::default();
        inbox.put(draft(&Note::warning("R", "trouble")));
        for number in 0..WAITING_MAX + 9 {
            inbox.put(draft(&Note::normal("R", number.to_string())));
        }
        let left = rest(&inbox);
        assert_eq!(left.len(), WAITING_MAX);
        assert_eq!(left[..2], ["trouble", "10"]);
        for number in 0..WAITING_MAX + 1 {
            inbox.put(draft(&Note::warning("R", number.to_string())));
        }
        assert_eq!(rest(&inbox)[0], "1");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let message = format!("x{}", "é".repeat(MESSAGE_BYTES_MAX));
        let cut = draft(&Note::normal("R", &*message)).message;
        assert_eq!(cut.len(), MESSAGE_BYTES_MAX - 1);
        assert!(message.starts_with(&cut));
    }
}
