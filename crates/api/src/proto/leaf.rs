//! Messages that are a single value in JSON: instants, quantities, ports, and managed fields.

use jiff::Timestamp;
use serde_json::Value;

use super::wire::Reader;
use crate::json_tree::DEPTH_MAX;
use crate::time::{MicroTime, Time};

/// `0001-01-01T00:00:00Z`, which is no instant to Go.
const GO_ZERO_SECONDS: i64 = -62_135_596_800;
/// `9999-12-31T23:59:59Z`, the last second that RFC 3339 can write.
const SECONDS_MAX: i64 = 253_402_300_799;

/// Whole seconds. No instant at all is null.
pub(super) fn time(message: &[u8]) -> Result<Value, String> {
    let Some((seconds, _)) = timestamp(message)? else { return Ok(Value::Null) };
    instant(seconds, 0, |at| Time::new(at).to_string())
}

/// Microseconds. No instant at all is null.
pub(super) fn micro_time(message: &[u8]) -> Result<Value, String> {
    let Some((seconds, nanos)) = timestamp(message)? else { return Ok(Value::Null) };
    instant(seconds, nanos / 1000 * 1000, |at| MicroTime::new(at).to_string())
}

/// Seconds and nanoseconds, if there are bytes at all.
fn timestamp(message: &[u8]) -> Result<Option<(i64, i32)>, String> {
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = Reader::new(message);
    while let Some(tag) = reader.tag("Timestamp")? {
        match tag.number {
            1 => seconds = reader.number(tag, "Seconds")?,
            // Cut as Go cuts it.
            2 => nanos = reader.number(tag, "Nanos")? as i32,
            _ => reader.skip(tag)?,
        }
    }
    Ok((!message.is_empty()).then_some((seconds, nanos)))
}

fn instant(seconds: i64, nanos: i32, text: fn(Timestamp) -> String) -> Result<Value, String> {
    if (seconds, nanos) == (GO_ZERO_SECONDS, 0) {
        return Ok(Value::Null);
    }
    // Nanoseconds may be a second and more, or less than none, to Go.
    let exact = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    let is_writable = (GO_ZERO_SECONDS..=SECONDS_MAX).contains(&seconds);
    let at = Timestamp::from_nanosecond(exact).ok().filter(|_| is_writable);
    at.map(|at| text(at).into())
        .ok_or_else(|| "Time.MarshalJSON: year outside of range [0,9999]".to_owned())
}

/// The text of a quantity; whether it is one is for the check of the tree to say.
pub(super) fn quantity(message: &[u8]) -> Result<Value, String> {
    let mut text = "0";
    let mut reader = Reader::new(message);
    while let Some(tag) = reader.tag("Quantity")? {
        match tag.number {
            1 => text = reader.text(tag, "String")?,
            _ => reader.skip(tag)?,
        }
    }
    Ok(text.into())
}

/// A number or a name.
pub(super) fn int_or_string(message: &[u8]) -> Result<Value, String> {
    let (mut ty, mut number, mut text) = (0, 0, "");
    let mut reader = Reader::new(message);
    while let Some(tag) = reader.tag("IntOrString")? {
        match tag.number {
            1 => ty = reader.number(tag, "Type")?,
            // Cut as Go cuts it.
            2 => number = reader.number(tag, "IntVal")? as i32,
            3 => text = reader.text(tag, "StrVal")?,
            _ => reader.skip(tag)?,
        }
    }
    match ty {
        0 => Ok(number.into()),
        1 => Ok(text.into()),
        _ => Err("impossible IntOrString.Type".to_owned()),
    }
}

/// JSON in its text. None at all is null.
pub(super) fn json(message: &[u8]) -> Result<Value, String> {
    let mut raw = &[][..];
    let mut reader = Reader::new(message);
    while let Some(tag) = reader.tag("FieldsV1")? {
        match tag.number {
            1 => raw = reader.bytes(tag, "Raw")?,
            _ => reader.skip(tag)?,
        }
    }
    if raw.is_empty() {
        return Ok(Value::Null);
    }
    let value = serde_json::from_slice(raw).map_err(|why| why.to_string())?;
    // What is stored must be readable again inside an object of its own depth.
    match is_deeper(&value, DEPTH_MAX) {
        true => Err(format!("nested more than {DEPTH_MAX} levels deep")),
        false => Ok(value),
    }
}

/// Whether a tree has more levels; recursion ends there.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, below)),
        Value::Object(fields) => fields.values().any(|field| is_deeper(field, below)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A message of numbers, in fields 1, 2 and so on.
    fn numbers(values: &[i64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (tag, value) in (8_u8..).step_by(8).zip(values) {
            bytes.push(tag);
            let mut rest = value.cast_unsigned();
            while rest >= 0x80 {
                bytes.push((rest & 0x7f) as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        bytes
    }

    #[test]
    fn instants_are_cut_to_what_their_type_can_tell() {
        let bytes = numbers(&[1_704_690_974, 1_999]);
        assert_eq!(time(&bytes), Ok(json!("2024-01-08T05:16:14Z")));
        assert_eq!(micro_time(&bytes), Ok(json!("2024-01-08T05:16:14.000001Z")));
        assert_eq!(time(&numbers(&[0])), Ok(json!("1970-01-01T00:00:00Z")));
        assert_eq!(micro_time(&numbers(&[0, -1_000])), Ok(json!("1969-12-31T23:59:59.999999Z")));
    }

    #[test]
    fn the_zero_of_go_is_no_instant() {
        for read in [time, micro_time] {
            assert_eq!(read(&[]), Ok(Value::Null));
            assert_eq!(read(&numbers(&[GO_ZERO_SECONDS, 0])), Ok(Value::Null));
        }
    }

    #[test]
    fn years_that_cannot_be_written_are_refused() {
        for seconds in [GO_ZERO_SECONDS - 1, SECONDS_MAX + 1, i64::MIN, i64::MAX] {
            for nanos in [0, i64::from(i32::MAX), i64::from(i32::MIN)] {
                let bytes = numbers(&[seconds, nanos]);
                assert!(time(&bytes).is_err() && micro_time(&bytes).is_err(), "{seconds} {nanos}");
            }
        }
    }

    #[test]
    fn a_port_is_a_number_or_a_name_by_its_type() {
        assert_eq!(int_or_string(&[]), Ok(json!(0)));
        assert_eq!(int_or_string(&[8, 0, 16, 80, 26, 0]), Ok(json!(80)));
        assert_eq!(int_or_string(&[8, 1, 16, 80, 26, 1, b'a']), Ok(json!("a")));
        assert!(int_or_string(&[8, 2]).is_err());
    }

    #[test]
    fn managed_fields_are_json_of_bounded_depth() {
        let message = |text: &str| {
            let mut bytes = vec![10];
            bytes.extend(if text.len() < 128 {
                vec![text.len() as u8]
            } else {
                vec![(text.len() & 0x7f) as u8 | 0x80, (text.len() >> 7) as u8]
            });
            bytes.extend(text.as_bytes());
            bytes
        };
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(json(&message(r#"{"f:spec":{}}"#)), Ok(json!({"f:spec": {}})));
        assert_eq!(json(&[]), Ok(Value::Null));
        assert!(json(&message("{")).is_err());
        assert!(json(&message(&nested(DEPTH_MAX))).is_ok());
        assert!(json(&message(&nested(DEPTH_MAX + 1))).is_err());
        assert!(json(&message(&nested(8_000))).is_err());
    }
}
