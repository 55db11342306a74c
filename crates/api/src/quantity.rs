//! Resource quantities: `500m`, `1Gi`, `2e3` (`resource.Quantity`).
//!
//! A quantity is an exact number of billionths plus the notation of its text. Formatting produces
//! Kubernetes' canonical form, which may differ from the input: `0.5` becomes `500m`, `1024Mi`
//! becomes `1Gi`. Like Kubernetes, parsing rounds values finer than a billionth away from zero and
//! caps values that exceed 63 bits.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// One in billionths.
const ONE: i128 = 1_000_000_000;
/// The maximum quantity in billionths.
const MAX: i128 = i64::MAX as i128 * ONE;
/// The maximum length of a text. Longer texts are rejected.
const TEXT_LEN_MAX: usize = 128;

/// The reason why a text is not a quantity, with Kubernetes' message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseQuantityError {
    /// The text does not look like a quantity.
    #[error(
        "quantities must match the regular expression \
         '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// The number is malformed.
    #[error("unable to parse numeric part of quantity")]
    Number,
    /// The suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// The notation of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Notation {
    /// `1k`, `500m`.
    Decimal,
    /// `1Ki`.
    Binary,
    /// `1e3`.
    Exponent,
}

/// A resource quantity.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    billionths: i128,
    notation: Notation,
}

impl Quantity {
    /// Zero.
    pub const ZERO: Quantity = Quantity { billionths: 0, notation: Notation::Decimal };

    /// Parses a quantity.
    pub fn parse(text: &str) -> Result<Quantity, ParseQuantityError> {
        if text.is_empty() || text.len() > TEXT_LEN_MAX {
            return Err(ParseQuantityError::Format);
        }
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let digits = unsigned.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let (number, suffix) = unsigned.split_at(unsigned.len() - digits.len());
        if number.is_empty() || !is_suffix_well_formed(suffix) {
            return Err(ParseQuantityError::Format);
        }
        let unit = Unit::parse(suffix).ok_or(ParseQuantityError::Suffix)?;
        let size = unit.apply(Decimal::parse(number).ok_or(ParseQuantityError::Number)?);
        let billionths = if text.starts_with('-') { -size } else { size };
        Ok(Quantity { billionths, notation: unit.notation })
    }

    /// Returns the amount in thousandths, rounded away from zero.
    pub fn milli_value(self) -> i64 {
        i64::try_from(divide_away(self.billionths, 1_000_000)).unwrap_or(i64::MAX)
    }

    /// Returns the amount as an integer, rounded away from zero.
    pub fn value(self) -> i64 {
        i64::try_from(divide_away(self.billionths, ONE)).unwrap_or(i64::MAX)
    }

    /// Returns whether the amount is negative.
    pub fn is_negative(self) -> bool {
        self.billionths < 0
    }

    /// Returns whether the amount is an integer after rounding to thousandths.
    pub fn is_integer(self) -> bool {
        self.milli_value() % 1000 == 0
    }

    /// Rounds to thousandths, away from zero, as Kubernetes does in resource lists.
    pub fn rounded_to_milli(self) -> Quantity {
        let billionths = divide_away(self.billionths, 1_000_000) * 1_000_000;
        Quantity { billionths, ..self }
    }
}

impl From<i64> for Quantity {
    fn from(value: i64) -> Quantity {
        Quantity { billionths: i128::from(value) * ONE, notation: Notation::Decimal }
    }
}

/// Divides, rounding away from zero.
fn divide_away(number: i128, by: i128) -> i128 {
    let quotient = number / by;
    if number % by == 0 { quotient } else { quotient + number.signum() }
}

/// Returns whether a suffix matches `[eEinumkKMGTP]*[-+]?[0-9]*`.
fn is_suffix_well_formed(suffix: &str) -> bool {
    let rest = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    rest.chars().all(|c| c.is_ascii_digit())
}

/// A decimal number: digits and the number of fractional digits.
struct Decimal {
    digits: i128,
    scale: i32,
    /// Whether nonzero digits were dropped for lack of space.
    is_inexact: bool,
}

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let mut decimal = Decimal { digits: 0, scale: 0, is_inexact: false };
        for (digit, is_fraction) in
            whole.bytes().map(|b| (b, false)).chain(fraction.bytes().map(|b| (b, true)))
        {
            decimal.push(digit - b'0', is_fraction);
        }
        Some(decimal)
    }

    /// Keeps up to 30 digits: more than any quantity has, and few enough to multiply.
    fn push(&mut self, digit: u8, is_fraction: bool) {
        if self.digits < 10_i128.pow(29) {
            self.digits = self.digits * 10 + i128::from(digit);
            self.scale += i32::from(is_fraction);
        } else if is_fraction {
            self.is_inexact |= digit != 0;
        } else {
            self.scale -= 1;
        }
    }
}

/// The factor of a suffix.
struct Unit {
    notation: Notation,
    power_of_10: i32,
    power_of_1024: u32,
}

impl Unit {
    fn parse(suffix: &str) -> Option<Unit> {
        let decimal =
            |power_of_10| Some(Unit { notation: Notation::Decimal, power_of_10, power_of_1024: 0 });
        let binary = |power_of_1024| {
            Some(Unit { notation: Notation::Binary, power_of_10: 0, power_of_1024 })
        };
        match suffix {
            "n" => decimal(-9),
            "u" => decimal(-6),
            "m" => decimal(-3),
            "" => decimal(0),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            "Ki" => binary(1),
            "Mi" => binary(2),
            "Gi" => binary(3),
            "Ti" => binary(4),
            "Pi" => binary(5),
            "Ei" => binary(6),
            _ => {
                let power_of_10 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
                Some(Unit { notation: Notation::Exponent, power_of_10, power_of_1024: 0 })
            }
        }
    }

    /// Returns the size in billionths, rounded up and capped at the maximum.
    fn apply(&self, number: Decimal) -> i128 {
        let power = self.power_of_10.saturating_sub(number.scale).saturating_add(9);
        let Some(digits) = number.digits.checked_mul(1024_i128.pow(self.power_of_1024)) else {
            return MAX;
        };
        let ten_to = |power: i32| u32::try_from(power).ok().and_then(|p| 10_i128.checked_pow(p));
        let size = if digits == 0 {
            Some(0)
        } else if power >= 0 {
            ten_to(power).and_then(|factor| digits.checked_mul(factor))
        } else {
            // A divisor that overflows leaves less than a billionth, which rounds up to one.
            Some(ten_to(power.saturating_neg()).map_or(1, |by| divide_away(digits, by)))
        };
        size.map_or(MAX, |size| (size + i128::from(number.is_inexact)).min(MAX))
    }
}

const DECIMAL_SUFFIXES: [(&str, i32); 10] = [
    ("E", 18),
    ("P", 15),
    ("T", 12),
    ("G", 9),
    ("M", 6),
    ("k", 3),
    ("", 0),
    ("m", -3),
    ("u", -6),
    ("n", -9),
];
const BINARY_SUFFIXES: [(&str, u32); 7] =
    [("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10), ("", 0)];

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_small = self.billionths.abs() < 1024 * ONE;
        // Kubernetes writes small and fractional amounts in decimal notation.
        if self.notation == Notation::Binary && !is_small && self.billionths % ONE == 0 {
            return self.write_binary(f);
        }
        self.write_decimal(f)
    }
}

impl Quantity {
    fn write_binary(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = self.billionths / ONE;
        let fits = |power: u32| units % (1_i128 << power) == 0;
        let (suffix, power) =
            BINARY_SUFFIXES.into_iter().find(|(_, power)| fits(*power)).unwrap_or(("", 0));
        write!(f, "{}{suffix}", units >> power)
    }

    fn write_decimal(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.billionths == 0 {
            return f.write_str("0");
        }
        let step = |power: i32| 10_i128.pow(u32::try_from(power + 9).unwrap_or(0));
        let (suffix, power) = DECIMAL_SUFFIXES
            .into_iter()
            .find(|(_, power)| self.billionths % step(*power) == 0)
            .unwrap_or(("n", -9));
        let number = self.billionths / step(power);
        match self.notation {
            Notation::Exponent if power != 0 => write!(f, "{number}e{power}"),
            _ => write!(f, "{number}{suffix}"),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.billionths == other.billionths
    }
}

impl Eq for Quantity {}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.billionths.cmp(&other.billionths)
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A quantity in JSON: a string or a number, which is parsed from its text.
#[derive(Deserialize)]
#[serde(untagged)]
enum TextOrNumber {
    Text(String),
    Number(serde_json::Number),
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parsed = match TextOrNumber::deserialize(deserializer)? {
            TextOrNumber::Text(text) => Quantity::parse(text.trim()),
            TextOrNumber::Number(number) => Quantity::parse(&number.to_string()),
        };
        parsed.map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_formatted_in_canonical_form() {
        for (text, canonical) in [
            ("0", "0"),
            ("1", "1"),
            ("+1", "1"),
            ("-1", "-1"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("5.", "5"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("1000", "1k"),
            ("1000000k", "1G"),
            ("1024", "1024"),
            ("1024Mi", "1Gi"),
            ("0.5Gi", "512Mi"),
            ("1.5Ki", "1536"),
            ("512Ki", "512Ki"),
            ("0.5Ki", "512"),
            ("1e3", "1e3"),
            ("1E3", "1e3"),
            ("12e-1", "1200e-3"),
            ("1E", "1E"),
            ("1n", "1n"),
            ("0.1n", "1n"),
            ("100000000000000000000000", "9223372036854775807"),
            ("1e999999999", "9223372036854775807"),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().to_string(), canonical, "{text}");
        }
    }

    #[test]
    fn malformed_quantities_are_rejected() {
        for (text, reason) in [
            ("", ParseQuantityError::Format),
            ("x", ParseQuantityError::Format),
            ("1 Gi", ParseQuantityError::Format),
            ("--1", ParseQuantityError::Format),
            ("1GiB", ParseQuantityError::Format),
            ("1..2", ParseQuantityError::Number),
            (".", ParseQuantityError::Number),
            ("1iK", ParseQuantityError::Suffix),
            ("1K", ParseQuantityError::Suffix),
            ("1e", ParseQuantityError::Suffix),
        ] {
            assert_eq!(Quantity::parse(text).unwrap_err(), reason, "{text}");
        }
    }

    #[test]
    fn quantities_compare_by_amount_not_by_notation() {
        let quantity = |text| Quantity::parse(text).unwrap();
        assert_eq!(quantity("1Ki"), quantity("1024"));
        assert!(quantity("999m") < quantity("1"));
        assert!(quantity("-1").is_negative());
        assert_eq!(quantity("1.0001").rounded_to_milli().to_string(), "1001m");
        assert_eq!(quantity("-1.5").value(), -2);
    }
}
