//! Instants on the wire: `Time` has whole seconds, `MicroTime` has microseconds.
//!
//! Both are UTC. They read any RFC 3339 instant and always write one form, so that an instant that
//! was read and written twice is the same text. Arithmetic is jiff's; nothing here reads a clock.

use std::fmt;

use jiff::{Timestamp, Unit};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An instant as `metav1.Time` writes it: `2024-01-08T05:16:14Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(Timestamp);

/// An instant as `metav1.MicroTime` writes it: `2024-01-08T05:16:14.000250Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroTime(Timestamp);

impl Time {
    /// The instant, cut to whole seconds as writing would cut it.
    pub fn new(at: Timestamp) -> Self {
        Time(floor(at, Unit::Second))
    }

    /// The instant itself.
    pub fn timestamp(self) -> Timestamp {
        self.0
    }
}

impl MicroTime {
    /// The instant, cut to microseconds as writing would cut it.
    pub fn new(at: Timestamp) -> Self {
        MicroTime(floor(at, Unit::Microsecond))
    }

    /// The instant itself.
    pub fn timestamp(self) -> Timestamp {
        self.0
    }
}

/// Cuts towards the past, so that a written instant is never later than the one it stands for.
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

/// Reads an RFC 3339 instant, as Go's `time.Parse(time.RFC3339, …)` does.
///
/// The reason for a refusal is in Go's words, because that is what API clients are shown.
pub fn parse_rfc3339(text: &str) -> Result<Timestamp, String> {
    let strict = text.len() >= "2006-01-02T15:04:05Z".len()
        && text.as_bytes().get(10) == Some(&b'T')
        && !text.contains(['[', ' ', 'z', 't']);
    match text.parse() {
        Ok(at) if strict => Ok(at),
        _ => Err(format!(
            "parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": \
             cannot parse {text:?} as \"2006\""
        )),
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
    fn an_instant_is_written_in_one_form_whatever_it_was_read_as() {
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
    fn what_is_not_rfc_3339_is_refused() {
        for text in ["", "now", "2024-01-08", "2024-01-08 05:16:14Z", "2024-01-08T05:16:14"] {
            assert!(parse_rfc3339(text).is_err(), "{text}");
        }
    }
}
