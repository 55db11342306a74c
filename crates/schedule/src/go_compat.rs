//! How Go reads integers and durations, and how it quotes what it could not read.
//!
//! robfig/cron hands its numbers to `strconv.Atoi` and its intervals to `time.ParseDuration`, and
//! their error texts reach the users of Kubernetes. So both are followed here to the letter,
//! overflow and all. Nothing here knows of cron.

use std::fmt::Write;

/// Why `strconv.Atoi` refuses a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtoiError {
    Syntax,
    Range,
}

impl AtoiError {
    /// The whole text of Go's `*strconv.NumError`.
    pub(crate) fn explain(self, text: &str) -> String {
        let reason = match self {
            AtoiError::Syntax => "invalid syntax",
            AtoiError::Range => "value out of range",
        };
        format!("strconv.Atoi: parsing {}: {reason}", quote(text))
    }
}

/// Reads a decimal integer as Go does: one sign may lead, overflow is reported at the digit that
/// causes it (so garbage behind it goes unseen), and nothing else is allowed.
pub(crate) fn atoi(text: &str) -> Result<i64, AtoiError> {
    let (negative, digits) = match text.strip_prefix('-') {
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
    let value = i128::from(magnitude) * if negative { -1 } else { 1 };
    i64::try_from(value).map_err(|_| AtoiError::Range)
}

/// `strconv.Quote`: Go's own escapes, printable text as it is.
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

/// Whether Go calls the character printable. Rust keeps the same table behind `escape_debug`, but
/// escapes a combining mark where it comes first; hence the letter before it.
fn is_print(char: char) -> bool {
    let behind_a_letter: String = ['a', char].into_iter().collect();
    !char.is_control() && !behind_a_letter.escape_debug().to_string().contains("\\u{")
}

/// Reads a duration as `time.ParseDuration` does and gives nanoseconds, or Go's error text.
pub(crate) fn parse_duration(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quote_bytes(text));
    let (negative, mut rest) = match text.as_bytes().first() {
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
        let (term, behind) = parse_term(rest, text)?;
        rest = behind;
        // Go adds first and looks for the overflow afterwards, so two terms of 2^63 make nothing.
        total = total.wrapping_add(term);
        if total > 1 << 63 {
            return Err(invalid());
        }
    }
    match (negative, i64::try_from(total)) {
        (false, Ok(nanos)) => Ok(nanos),
        (false, Err(_)) => Err(invalid()),
        (true, Ok(nanos)) => Ok(-nanos),
        (true, Err(_)) => Ok(i64::MIN),
    }
}

/// One `1.5h` off the front of `rest`: its nanoseconds and what is behind it.
fn parse_term<'a>(rest: &'a str, whole: &str) -> Result<(u64, &'a str), String> {
    let invalid = || format!("time: invalid duration {}", quote_bytes(whole));
    let (integer, behind) = split_digits(rest);
    let (fraction, behind) = match behind.strip_prefix('.') {
        Some(behind) => split_digits(behind),
        None => ("", behind),
    };
    if integer.is_empty() && fraction.is_empty() {
        return Err(invalid());
    }
    let integer = leading_integer(integer).ok_or_else(invalid)?;
    let end = behind.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(behind.len());
    let (unit, behind) = behind.split_at(end);
    if unit.is_empty() {
        return Err(format!("time: missing unit in duration {}", quote_bytes(whole)));
    }
    let Some(nanos) = unit_nanos(unit) else {
        let (unit, whole) = (quote_bytes(unit), quote_bytes(whole));
        return Err(format!("time: unknown unit {unit} in duration {whole}"));
    };
    if integer > (1 << 63) / nanos {
        return Err(invalid());
    }
    let term = integer * nanos + fraction_nanos(fraction, nanos);
    if term > 1 << 63 {
        return Err(invalid());
    }
    Ok((term, behind))
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn unit_nanos(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        // Both spellings of the micro sign, U+00B5 and U+03BC.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Up to 2^63; more is an overflow.
fn leading_integer(digits: &str) -> Option<u64> {
    digits.bytes().try_fold(0_u64, |value, byte| {
        let grown = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
        (grown <= 1 << 63).then_some(grown)
    })
}

/// The nanoseconds of `.digits` of a unit, in the same floating point as Go; digits beyond its
/// precision are dropped.
fn fraction_nanos(digits: &str, unit_nanos: u64) -> u64 {
    let (mut value, mut scale) = (0_u64, 1_f64);
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

/// The quoting of package `time`: every byte outside printable ASCII in hexadecimal.
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
