//! Go's `strconv.Atoi` and `time.ParseDuration`, with their error messages.
//!
//! robfig/cron passes numbers and intervals to these functions and returns their messages to its
//! users. This module reproduces both exactly, including overflow.

use std::fmt::{self, Write};

/// The error of [`atoi`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtoiError {
    Syntax,
    Range,
}

impl AtoiError {
    /// Returns the message of Go's `*strconv.NumError` for the given text.
    pub(crate) fn message(self, text: &str) -> String {
        let reason = match self {
            AtoiError::Syntax => "invalid syntax",
            AtoiError::Range => "value out of range",
        };
        format!("strconv.Atoi: parsing {}: {reason}", quote(text))
    }
}

/// Parses a decimal integer with an optional sign. Like Go, it reports an overflow at the digit that
/// causes it, before it checks the remaining characters.
pub(crate) fn atoi(text: &str) -> Result<i64, AtoiError> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() {
        return Err(AtoiError::Syntax);
    }
    let mut magnitude = 0_u64;
    for byte in digits.bytes() {
        if !byte.is_ascii_digit() {
            return Err(AtoiError::Syntax);
        }
        let digit = u64::from(byte - b'0');
        let grown = magnitude.checked_mul(10).and_then(|tens| tens.checked_add(digit));
        magnitude = grown.ok_or(AtoiError::Range)?;
    }
    let value = i128::from(magnitude) * if is_negative { -1 } else { 1 };
    i64::try_from(value).map_err(|_| AtoiError::Range)
}

/// Quotes a text like Go's `strconv.Quote`.
fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            _ if is_print(char) => quoted.push(char),
            _ => push_escape(&mut quoted, u32::from(char)),
        }
    }
    quoted.push('"');
    quoted
}

fn push_escape(quoted: &mut String, code: u32) {
    // Writing to a String cannot fail.
    let _ = match code {
        0..0x20 | 0x7f => write!(quoted, "\\x{code:02x}"),
        0x20..0x1_0000 => write!(quoted, "\\u{code:04x}"),
        _ => write!(quoted, "\\U{code:08x}"),
    };
}

/// Reports whether Go's `strconv.IsPrint` accepts the character.
fn is_print(char: char) -> bool {
    // Rust's `escape_debug` uses the same table, but escapes a combining mark at the start of a
    // text, so a letter precedes the character here.
    let after_letter: String = ['a', char].into_iter().collect();
    !char.is_control() && !after_letter.escape_debug().to_string().contains("\\u{")
}

/// The error of [`parse_duration`]. Its message is that of Go's `time.ParseDuration`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DurationError {
    Invalid { text: String },
    MissingUnit { text: String },
    UnknownUnit { unit: String, text: String },
}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DurationError::Invalid { text } => {
                write!(f, "time: invalid duration {}", quote_bytes(text))
            }
            DurationError::MissingUnit { text } => {
                write!(f, "time: missing unit in duration {}", quote_bytes(text))
            }
            DurationError::UnknownUnit { unit, text } => {
                let unit = quote_bytes(unit);
                write!(f, "time: unknown unit {unit} in duration {}", quote_bytes(text))
            }
        }
    }
}

/// Parses a duration and returns nanoseconds.
pub(crate) fn parse_duration(text: &str) -> Result<i64, DurationError> {
    let invalid = || DurationError::Invalid { text: text.into() };
    let (is_negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or_default()),
        Some(b'+') => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        let (term, remaining) = parse_term(rest, text)?;
        rest = remaining;
        // Go adds before it checks for overflow, so two terms of 2^63 are zero.
        total = total.wrapping_add(term);
        if total > 1 << 63 {
            return Err(invalid());
        }
    }
    match (is_negative, i64::try_from(total)) {
        (false, Ok(nanos)) => Ok(nanos),
        (false, Err(_)) => Err(invalid()),
        (true, Ok(nanos)) => Ok(-nanos),
        (true, Err(_)) => Ok(i64::MIN),
    }
}

/// Parses one term such as `1.5h` and returns its nanoseconds and the text after it.
fn parse_term<'a>(rest: &'a str, whole: &str) -> Result<(u64, &'a str), DurationError> {
    let invalid = || DurationError::Invalid { text: whole.into() };
    let (integer, rest) = split_digits(rest);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    if integer.is_empty() && fraction.is_empty() {
        return Err(invalid());
    }
    let integer = leading_integer(integer).ok_or_else(invalid)?;
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    if unit.is_empty() {
        return Err(DurationError::MissingUnit { text: whole.into() });
    }
    let Some(nanos) = unit_nanos(unit) else {
        return Err(DurationError::UnknownUnit { unit: unit.into(), text: whole.into() });
    };
    if integer > (1 << 63) / nanos {
        return Err(invalid());
    }
    let term = integer * nanos + fraction_nanos(fraction, nanos);
    if term > 1 << 63 {
        return Err(invalid());
    }
    Ok((term, rest))
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn unit_nanos(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        // Go accepts both micro signs, U+00B5 and U+03BC.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Parses digits up to 2^63. Returns None on overflow.
fn leading_integer(digits: &str) -> Option<u64> {
    digits.bytes().try_fold(0_u64, |value, byte| {
        let grown = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
        (grown <= 1 << 63).then_some(grown)
    })
}

/// Returns the nanoseconds of a fraction of a unit. Uses the same floating-point operations as Go and
/// ignores digits beyond their precision.
fn fraction_nanos(digits: &str, unit_nanos: u64) -> u64 {
    let mut value = 0_u64;
    let mut scale = 1_f64;
    for byte in digits.bytes() {
        let grown = value.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(byte - b'0')));
        match grown {
            Some(grown) if value <= (i64::MAX as u64) / 10 && grown <= 1 << 63 => {
                value = grown;
                scale *= 10.0;
            }
            _ => break,
        }
    }
    (value as f64 * (unit_nanos as f64 / scale)) as u64
}

/// Quotes a text like Go's package `time`: bytes outside printable ASCII become hexadecimal.
fn quote_bytes(text: &str) -> String {
    let mut quoted = String::from('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            0x20..0x80 => quoted.push(char::from(byte)),
            _ => {
                let _ = write!(quoted, "\\x{byte:02x}");
            }
        }
    }
    quoted.push('"');
    quoted
}
