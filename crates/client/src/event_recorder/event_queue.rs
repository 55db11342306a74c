//! A bounded queue of events. When it is full it drops the oldest normal event, or the oldest warning if
//! there is no normal one.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use punctual_api::event::{EventType, PendingEvent};
use punctual_api::meta::ObjectReference;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The capacity of one queue. All queues together hold a few megabytes.
pub(super) const CAPACITY: usize = 4_096;

/// The shortest time between two log messages about dropped events.
const LOG_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// The longest message that the API accepts.
pub(super) const MESSAGE_BYTES_MAX: usize = 1_024;

/// An event about an object, with the time at which it was recorded.
#[derive(Clone, Debug)]
pub(super) struct QueuedEvent {
    pub(super) object: ObjectReference,
    pub(super) event_type: EventType,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) at: Timestamp,
}

impl QueuedEvent {
    pub(super) fn new(
        object: &ObjectReference,
        event: &PendingEvent,
        at: Timestamp,
    ) -> QueuedEvent {
        QueuedEvent {
            object: object.clone(),
            event_type: event.event_type,
            reason: event.reason,
            message: truncate(&event.message, MESSAGE_BYTES_MAX).to_owned(),
            at,
        }
    }
}

/// The longest prefix of at most this many bytes that ends between two characters.
pub(super) fn truncate(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// A bounded queue with one reader.
#[derive(Default)]
pub(super) struct EventQueue {
    lanes: Mutex<PriorityLanes>,
    pushed: Notify,
}

/// Normal events and warnings, each with a sequence number: they are read in one order and dropped in
/// another.
#[derive(Default)]
struct PriorityLanes {
    normal: VecDeque<(u64, QueuedEvent)>,
    warnings: VecDeque<(u64, QueuedEvent)>,
    last_number: u64,
    /// The number of events that were dropped since the last log message.
    dropped: u64,
    logged_at: Option<Timestamp>,
}

impl EventQueue {
    /// Adds an event. Returns the number of events that were dropped to make room.
    pub(super) fn push(&self, event: QueuedEvent) -> u64 {
        let dropped = self.lanes().push(event);
        self.pushed.notify_one();
        dropped
    }

    /// Waits for the next event; `None` if the queue is empty and `stop` is cancelled.
    pub(super) async fn next(&self, stop: &CancellationToken) -> Option<QueuedEvent> {
        loop {
            if let Some(event) = self.lanes().pop() {
                return Some(event);
            }
            tokio::select! {
                biased;
                () = self.pushed.notified() => {}
                () = stop.cancelled() => return self.lanes().pop(),
            }
        }
    }

    fn lanes(&self) -> MutexGuard<'_, PriorityLanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PriorityLanes {
    fn push(&mut self, event: QueuedEvent) -> u64 {
        let is_full = self.normal.len() + self.warnings.len() >= CAPACITY;
        if is_full {
            let _ = self.normal.pop_front().or_else(|| self.warnings.pop_front());
            self.dropped += 1;
            self.log_dropped(event.at);
        }
        self.last_number += 1;
        match event.event_type {
            EventType::Normal => self.normal.push_back((self.last_number, event)),
            EventType::Warning => self.warnings.push_back((self.last_number, event)),
        }
        is_full.into()
    }

    /// Logs the number of dropped events, unless that was logged a short time ago.
    fn log_dropped(&mut self, now: Timestamp) {
        let is_recent = self.logged_at.is_some_and(|logged_at| {
            let since = now.duration_since(logged_at);
            !since.is_negative() && since < LOG_INTERVAL
        });
        if !is_recent {
            tracing::warn!(count = self.dropped, "event queue is full; dropped the oldest events");
            self.logged_at = Some(now);
            self.dropped = 0;
        }
    }

    fn pop(&mut self) -> Option<QueuedEvent> {
        let number = |lane: &VecDeque<(u64, QueuedEvent)>| lane.front().map(|(number, _)| *number);
        let lane = match (number(&self.normal), number(&self.warnings)) {
            (Some(normal), Some(warning)) if warning < normal => &mut self.warnings,
            (Some(_), _) => &mut self.normal,
            (None, _) => &mut self.warnings,
        };
        let event = lane.pop_front().map(|(_, event)| event);
        if lane.is_empty() {
            // Frees the memory of a burst.
            lane.shrink_to(CAPACITY / 64);
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(event: &PendingEvent) -> QueuedEvent {
        QueuedEvent::new(&ObjectReference::default(), event, Timestamp::UNIX_EPOCH)
    }

    fn drain(queue: &EventQueue) -> Vec<String> {
        std::iter::from_fn(|| queue.lanes().pop()).map(|event| event.message).collect()
    }

    #[test]
    fn events_are_read_in_the_order_in_which_they_were_pushed() {
        let queue = EventQueue::default();
        queue.push(queued(&PendingEvent::normal("R", "a")));
        queue.push(queued(&PendingEvent::warning("R", "b")));
        queue.push(queued(&PendingEvent::normal("R", "c")));
        assert_eq!(drain(&queue), ["a", "b", "c"]);
    }

    #[test]
    fn a_full_queue_drops_the_oldest_normal_event_before_any_warning() {
        let queue = EventQueue::default();
        queue.push(queued(&PendingEvent::warning("R", "warning")));
        for number in 0..CAPACITY + 9 {
            queue.push(queued(&PendingEvent::normal("R", number.to_string())));
        }
        let left = drain(&queue);
        assert_eq!(left.len(), CAPACITY);
        assert_eq!(left[..2], ["warning", "10"]);
        for number in 0..CAPACITY + 1 {
            queue.push(queued(&PendingEvent::warning("R", number.to_string())));
        }
        assert_eq!(drain(&queue)[0], "1");
    }

    #[test]
    fn a_long_message_is_truncated_between_two_characters() {
        let message = format!("x{}", "é".repeat(MESSAGE_BYTES_MAX));
        let truncated = queued(&PendingEvent::normal("R", &*message)).message;
        assert_eq!(truncated.len(), MESSAGE_BYTES_MAX - 1);
        assert!(message.starts_with(&truncated));
    }
}
