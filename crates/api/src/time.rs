//! Instants in JSON: `Time` has seconds, `MicroTime` has microseconds.
//!
//! Both are UTC. They read any RFC 3339 instant and write one canonical form, so that a round trip
//! is stable. Nothing here reads a clock.

use std::fmt;

use jiff::{Timestamp, Unit};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An instant in the format of `metav1.Time`: `2024-01-08T05:16:14Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(Timestamp);

/// An instant in the format of `metav1.MicroTime`: `2024-01-08T05:16:14.000250Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroTime(Timestamp);

impl Time {
    /// Truncates an instant to seconds.
    pub fn new(at: Timestamp) -> Self {
        Time(floor(at, Unit::Second))
    }

    /// Returns the instant.
    pub fn timestamp(self) -> Timestamp {
        self.0
    }
}

impl MicroTime {
    /// Truncates an instant to microseconds.
    pub fn new(at: Timestamp) -> Self {
        MicroTime(floor(at, Unit::Microsecond))
    }

    /// Returns the instant.
    pub fn timestamp(self) -> Timestamp {
        self.0
    }
}

/// Rounds towards the past, so that a written instant is never later than the original.
fn floor(at: Timestamp, unit: Unit) -> Timestamp {
    let round = jiff::TimestampRound::new().smallest(unit).mode(jiff::RoundMode::Floor);
    at.round(round).unwrap_or(at)
}

impl From<Timestamp> for Time {
    fn from(at: Timestamp) -> Self {
        Time::new(at)
    }
}

impl From<Timestamp> for MicroTime {
    fn from(at: Timestamp) -> Self {
        MicroTime::new(at)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0}", self.0)
    }
}

impl fmt::Display for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}

/// A text is not an RFC 3339 instant. The message is Go's, because API clients see it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parsing time {0:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {0:?} as \"2006\"")]
pub struct ParseTimeError(String);

/// Parses an RFC 3339 instant like Go's `time.Parse(time.RFC3339, …)`.
pub fn parse_rfc3339(text: &str) -> Result<Timestamp, ParseTimeError> {
    let is_strict = text.len() >= "2006-01-02T15:04:05Z".len()
        && text.as_bytes().get(10) == Some(&b'T')
        && !text.contains(['[', ' ', 'z', 't']);
    match text.parse() {
        Ok(at) if is_strict => Ok(at),
        _ => Err(ParseTimeError(text.to_owned())),
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for MicroTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_rfc3339(&text).map(Time::new).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for MicroTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_rfc3339(&text).map(MicroTime::new).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_formatted_in_canonical_form() {
        for (text, seconds, micros) in [
            ("2024-01-08T05:16:14Z", "2024-01-08T05:16:14Z", "2024-01-08T05:16:14.000000Z"),
            ("2024-01-08T06:16:14+01:00", "2024-01-08T05:16:14Z", "2024-01-08T05:16:14.000000Z"),
            ("2024-01-08T05:16:14.9999999Z", "2024-01-08T05:16:14Z", "2024-01-08T05:16:14.999999Z"),
            ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.500000Z"),
        ] {
            let at = parse_rfc3339(text).unwrap();
            assert_eq!(Time::new(at).to_string(), seconds);
            assert_eq!(MicroTime::new(at).to_string(), micros);
        }
    }

    #[test]
    fn texts_that_are_not_rfc_3339_are_rejected() {
        for text in ["", "now", "2024-01-08", "2024-01-08 05:16:14Z", "2024-01-08T05:16:14"] {
            assert!(parse_rfc3339(text).is_err(), "{text}");
        }
    }
}
