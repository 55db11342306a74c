//! An Event that is to be recorded: its type, reason and message. The recorder adds the object, the
//! times and the count.

use std::fmt;

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// Information.
    Normal,
    /// A problem that a user may have to solve.
    Warning,
}

impl EventType {
    /// The value of the API field `type`.
    pub fn as_str(self) -> &'static str {
        match self {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        }
    }
}

/// An event to record about an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PendingEvent {
    /// The type.
    pub event_type: EventType,
    /// The reason: one word in camel case.
    pub reason: &'static str,
    /// The message for users.
    pub message: String,
}

impl PendingEvent {
    /// An event of type `Normal`.
    pub fn normal(reason: &'static str, message: impl Into<String>) -> PendingEvent {
        PendingEvent { event_type: EventType::Normal, reason, message: message.into() }
    }

    /// An event of type `Warning`.
    pub fn warning(reason: &'static str, message: impl Into<String>) -> PendingEvent {
        PendingEvent { event_type: EventType::Warning, reason, message: message.into() }
    }
}

impl fmt::Display for PendingEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.event_type.as_str(), self.reason, self.message)
    }
}
