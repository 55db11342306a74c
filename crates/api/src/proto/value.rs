//! Decodes messages that are a single value in JSON: instants, quantities, ports, managed fields.

use jiff::Timestamp;
use serde_json::Value;

use super::error::ProtoError;
use super::wire::Reader;
use crate::json_tree::DEPTH_MAX;
use crate::time::{MicroTime, Time};

/// `0001-01-01T00:00:00Z`, the zero instant of Go, which means absent.
const GO_ZERO_SECONDS: i64 = -62_135_596_800;
/// `9999-12-31T23:59:59Z`, the last second that RFC 3339 can express.
const SECONDS_MAX: i64 = 253_402_300_799;

/// Decodes an instant in seconds. An absent instant becomes null.
pub(super) fn decode_time(message: &[u8]) -> Result<Value, ProtoError> {
    let Some((seconds, _)) = read_timestamp(message)? else { return Ok(Value::Null) };
    format_instant(seconds, 0, |at| Time::new(at).to_string())
}

/// Decodes an instant in microseconds. An absent instant becomes null.
pub(super) fn decode_micro_time(message: &[u8]) -> Result<Value, ProtoError> {
    let Some((seconds, nanos)) = read_timestamp(message)? else { return Ok(Value::Null) };
    format_instant(seconds, nanos / 1000 * 1000, |at| MicroTime::new(at).to_string())
}

/// Reads seconds and nanoseconds. Returns `None` for an empty message.
fn read_timestamp(message: &[u8]) -> Result<Option<(i64, i32)>, ProtoError> {
    let mut seconds = 0;
    let mut nanos = 0;
    let mut reader = Reader::new(message);
    while let Some(tag) = reader.tag("Timestamp")? {
        match tag.number {
            1 => seconds = reader.number(tag, "Seconds")?,
            // Truncates like Go.
            2 => nanos = reader.number(tag, "Nanos")? as i32,
            _ => reader.skip(tag)?,
        }
    }
    Ok((!message.is_empty()).then_some((seconds, nanos)))
}

fn format_instant(
    seconds: i64,
    nanos: i32,
    text: fn(Timestamp) -> String,
) -> Result<Value, ProtoError> {
    if (seconds, nanos) == (GO_ZERO_SECONDS, 0) {
        return Ok(Value::Null);
    }
    // In Go the nanoseconds may be negative or exceed a second.
    let exact = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    if !(GO_ZERO_SECONDS..=SECONDS_MAX).contains(&seconds) {
        return Err(ProtoError::YearOutOfRange);
    }
    let at = Timestamp::from_nanosecond(exact).map_err(|_| ProtoError::YearOutOfRange)?;
    Ok(text(at).into())
}

/// Decodes the text of a quantity. The check of the tree validates it.
pub(super) fn decode_quantity(message: &[u8]) -> Result<Value, ProtoError> {
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

/// Decodes an integer or a string.
pub(super) fn decode_int_or_string(message: &[u8]) -> Result<Value, ProtoError> {
    let mut ty = 0;
    let mut number = 0;
    let mut text = "";
    let mut reader = Reader::new(message);
    while let Some(tag) = reader.tag("IntOrString")? {
        match tag.number {
            1 => ty = reader.number(tag, "Type")?,
            // Truncates like Go.
            2 => number = reader.number(tag, "IntVal")? as i32,
            3 => text = reader.text(tag, "StrVal")?,
            _ => reader.skip(tag)?,
        }
    }
    match ty {
        0 => Ok(number.into()),
        1 => Ok(text.into()),
        _ => Err(ProtoError::IntOrStringType),
    }
}

/// Decodes JSON text. An empty text becomes null.
pub(super) fn decode_json(message: &[u8]) -> Result<Value, ProtoError> {
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
    let value = serde_json::from_slice(raw).map_err(|error| ProtoError::Json(error.to_string()))?;
    // The stored object contains this value and must stay within the depth that can be read.
    if is_deeper(&value, DEPTH_MAX) {
        return Err(ProtoError::TooDeep);
    }
    Ok(value)
}

/// Returns whether a tree has more levels. Recurses at most that deep.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(levels_left) = levels.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, levels_left)),
        Value::Object(fields) => fields.values().any(|field| is_deeper(field, levels_left)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Encodes numbers as the fields 1, 2 and so on.
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
    fn instants_are_truncated_to_the_precision_of_their_type() {
        let bytes = numbers(&[1_704_690_974, 1_999]);
        assert_eq!(decode_time(&bytes), Ok(json!("2024-01-08T05:16:14Z")));
        assert_eq!(decode_micro_time(&bytes), Ok(json!("2024-01-08T05:16:14.000001Z")));
        assert_eq!(decode_time(&numbers(&[0])), Ok(json!("1970-01-01T00:00:00Z")));
        assert_eq!(
            decode_micro_time(&numbers(&[0, -1_000])),
            Ok(json!("1969-12-31T23:59:59.999999Z"))
        );
    }

    #[test]
    fn the_zero_instant_of_go_is_absent() {
        for read in [decode_time, decode_micro_time] {
            assert_eq!(read(&[]), Ok(Value::Null));
            assert_eq!(read(&numbers(&[GO_ZERO_SECONDS, 0])), Ok(Value::Null));
        }
    }

    #[test]
    fn years_out_of_range_are_rejected() {
        for seconds in [GO_ZERO_SECONDS - 1, SECONDS_MAX + 1, i64::MIN, i64::MAX] {
            for nanos in [0, i64::from(i32::MAX), i64::from(i32::MIN)] {
                let bytes = numbers(&[seconds, nanos]);
                assert!(
                    decode_time(&bytes).is_err() && decode_micro_time(&bytes).is_err(),
                    "{seconds} {nanos}"
                );
            }
        }
    }

    #[test]
    fn the_type_decides_whether_a_port_is_a_number_or_a_name() {
        assert_eq!(decode_int_or_string(&[]), Ok(json!(0)));
        assert_eq!(decode_int_or_string(&[8, 0, 16, 80, 26, 0]), Ok(json!(80)));
        assert_eq!(decode_int_or_string(&[8, 1, 16, 80, 26, 1, b'a']), Ok(json!("a")));
        assert!(decode_int_or_string(&[8, 2]).is_err());
    }

    #[test]
    fn managed_fields_are_json_of_limited_depth() {
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
        assert_eq!(decode_json(&message(r#"{"f:spec":{}}"#)), Ok(json!({"f:spec": {}})));
        assert_eq!(decode_json(&[]), Ok(Value::Null));
        assert!(decode_json(&message("{")).is_err());
        assert!(decode_json(&message(&nested(DEPTH_MAX))).is_ok());
        assert!(decode_json(&message(&nested(DEPTH_MAX + 1))).is_err());
        assert!(decode_json(&message(&nested(8_000))).is_err());
    }
}
