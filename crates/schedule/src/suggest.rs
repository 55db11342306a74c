//! Explains why a string is not a valid schedule, and suggests a correction. Also suggests names of time
//! zones.
//!
//! The error messages are those of robfig/cron, because programs compare them. The explanations here are
//! for people.

use crate::{
    error::CronField,
    parse::{self, MONTHS, WEEKDAYS},
    schedule::Schedule,
    zone::{Zone, Zones},
};

const DESCRIPTORS: [&str; 7] =
    ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// How many letters a suggestion may differ in.
const DISTANCE_MAX: usize = 2;
/// Longer names are not compared, because the comparison takes quadratic time.
const COMPARED_LENGTH_MAX: usize = 64;

impl Schedule {
    /// Explains why [`parse`](Self::parse) rejects a string, and suggests a correction. Returns None
    /// if the string is a schedule, or if there is nothing to add to the error.
    ///
    /// ```
    /// # use punctual_schedule::{Schedule, Zones};
    /// let utc = Zones::bundled().utc();
    /// let suggest = |text: &str| Schedule::suggest(text, &utc).unwrap();
    /// assert_eq!(suggest("0 0 * * 7"), "Sunday is 0, not 7; write \"0 0 * * 0\"");
    /// assert_eq!(suggest("@dialy"), "did you mean @daily?");
    /// assert_eq!(suggest("@every 1d"), "an interval has no days or weeks; write \"@every 24h\"");
    /// assert_eq!(Schedule::suggest("0 0 * * *", &utc), None);
    /// ```
    pub fn suggest(text: &str, zone: &Zone) -> Option<String> {
        if Schedule::parse(text, zone).is_ok() {
            return None;
        }
        let body = parse::strip_zone_prefix(text).trim();
        if body.starts_with('@') {
            return suggest_descriptor(body, zone);
        }
        let fields: Vec<&str> = body.split_whitespace().collect();
        match fields.as_slice() {
            [] => Some(FIVE_FIELDS.into()),
            [minute, hour, day, month, weekday] => {
                suggest_fields([minute, hour, day, month, weekday], zone)
            }
            [_, rest @ ..] if rest.len() == 5 => {
                let rest = rest.join(" ");
                let is_schedule = Schedule::parse(&rest, zone).is_ok();
                let words = "a schedule has five fields, without seconds or a year";
                Some(if is_schedule { format!("{words}; write {rest:?}") } else { words.into() })
            }
            _ => Some(FIVE_FIELDS.into()),
        }
    }
}

const FIVE_FIELDS: &str =
    "a schedule has five fields: minute, hour, day of month, month, day of week";

fn suggest_descriptor(text: &str, zone: &Zone) -> Option<String> {
    let name = text.split_whitespace().next().unwrap_or_default();
    if name == "@reboot" {
        return Some(
            "a schedule cannot run at the start of the machine; start the command with its service \
             manager"
                .into(),
        );
    }
    if let Some(interval) = text.strip_prefix("@every ") {
        return Some(suggest_interval(interval.trim(), zone));
    }
    let lower = text.to_lowercase();
    let similar = DESCRIPTORS
        .into_iter()
        .map(|known| (distance(known, &lower), known))
        .min()
        .filter(|(distance, _)| *distance <= DISTANCE_MAX);
    Some(match similar {
        Some((_, known)) => format!("did you mean {known}?"),
        None => format!("the names are {}, @every and @at", DESCRIPTORS.join(", ")),
    })
}

fn suggest_interval(interval: &str, zone: &Zone) -> String {
    match hours_of(interval).map(|hours| format!("@every {hours}h")) {
        Some(suggested) if Schedule::parse(&suggested, zone).is_ok() => {
            format!("an interval has no days or weeks; write {suggested:?}")
        }
        _ => "write an interval such as 90s, 5m or 1h30m".into(),
    }
}

/// Converts days or weeks into hours.
fn hours_of(interval: &str) -> Option<u64> {
    let (number, unit) = interval.split_at(interval.find(|c: char| !c.is_ascii_digit())?);
    let number: u64 = number.parse().ok()?;
    match unit.trim() {
        "d" | "day" | "days" => number.checked_mul(24),
        "w" | "week" | "weeks" => number.checked_mul(168),
        _ => None,
    }
}

/// What is wrong with an item of a field, and the item that was probably meant.
struct ItemCorrection {
    words: &'static str,
    /// None if there is no such item.
    item: Option<String>,
}

fn suggest_fields(fields: [&str; 5], zone: &Zone) -> Option<String> {
    let mut words = None;
    let mut corrected = Vec::new();
    let mut is_complete = true;
    for (field, text) in CronField::ALL.into_iter().zip(fields) {
        let mut items = Vec::new();
        for item in text.split(',') {
            let correction = correct_item(item, field);
            if let Some(correction) = &correction {
                words = words.or(Some(correction.words));
                is_complete &= correction.item.is_some();
            }
            items.push(correction.and_then(|found| found.item).unwrap_or_else(|| item.into()));
        }
        corrected.push(items.join(","));
    }
    let words = words?;
    let corrected = corrected.join(" ");
    let is_schedule = is_complete && Schedule::parse(&corrected, zone).is_ok();
    Some(if is_schedule { format!("{words}; write {corrected:?}") } else { words.into() })
}

fn correct_item(item: &str, field: CronField) -> Option<ItemCorrection> {
    let lower = item.to_lowercase();
    let is_day = matches!(field, CronField::DayOfMonth | CronField::DayOfWeek);
    if is_day && (lower.contains('#') || lower.ends_with('l') && !lower.ends_with("jul")) {
        let words = "L and # are not supported; to run on the last days of a month, write their \
                     numbers, such as 28-31, and let the command check the date";
        return Some(ItemCorrection { words, item: None });
    }
    if field == CronField::DayOfMonth && lower.ends_with('w') {
        let words = "W for the nearest workday is not supported";
        return Some(ItemCorrection { words, item: None });
    }
    let (range, step) = match lower.split_once('/') {
        Some((range, step)) => (range, format!("/{step}")),
        None => (lower.as_str(), String::new()),
    };
    let ends: Vec<&str> = range.split('-').collect();
    let short: Vec<String> = ends.iter().map(|end| short_name(end, field)).collect();
    if short.iter().zip(&ends).any(|(short, end)| short != end) {
        let words = "names of months and weekdays have three letters";
        return Some(ItemCorrection { words, item: Some(short.join("-") + &step) });
    }
    let values: Vec<u64> = ends.iter().filter_map(|end| value_of(end, field)).collect();
    correct_range(&values, &step, field)
}

/// Corrects 7 for Sunday, and ranges that end before they begin.
fn correct_range(values: &[u64], step: &str, field: CronField) -> Option<ItemCorrection> {
    let (min, max) = parse::bounds(field);
    let is_weekday = field == CronField::DayOfWeek;
    let sunday = "Sunday is 0, not 7";
    match values {
        [7] if is_weekday => Some(ItemCorrection { words: sunday, item: Some("0".into()) }),
        [first, 7] if is_weekday && *first <= max => {
            let item = step.is_empty().then(|| format!("0,{first}-{max}"));
            Some(ItemCorrection { words: sunday, item })
        }
        [first, last] if last < first && *first <= max && *last >= min => {
            let words = "a range does not wrap around its end";
            let item = step.is_empty().then(|| format!("{first}-{max},{min}-{last}"));
            Some(ItemCorrection { words, item })
        }
        _ => None,
    }
}

/// Shortens the full name of a month or weekday.
fn short_name(text: &str, field: CronField) -> String {
    const MONTH_NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    const WEEKDAY_NAMES: [&str; 7] =
        ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    let names: &[&str] = match field {
        CronField::Month => &MONTH_NAMES,
        CronField::DayOfWeek => &WEEKDAY_NAMES,
        _ => &[],
    };
    let is_abbreviated = |name: &&&str| text.len() > 3 && name.starts_with(text);
    let found = names.iter().find(is_abbreviated).and_then(|name| name.get(..3));
    found.unwrap_or(text).into()
}

fn value_of(text: &str, field: CronField) -> Option<u64> {
    let position = |names: &[&str]| names.iter().position(|name| *name == text);
    let named = match field {
        CronField::Month => position(&MONTHS).map(|index| index + 1),
        CronField::DayOfWeek => position(&WEEKDAYS),
        _ => None,
    };
    named.map(|index| index as u64).or_else(|| text.parse().ok())
}

impl Zones {
    /// Returns the name of the database that is most similar to an unknown one.
    ///
    /// ```
    /// # use punctual_schedule::Zones;
    /// assert_eq!(Zones::bundled().similar_name("Europe/Berln").as_deref(), Some("Europe/Berlin"));
    /// assert_eq!(Zones::bundled().similar_name("Mars/Olympus"), None);
    /// ```
    pub fn similar_name(&self, name: &str) -> Option<String> {
        let lower = name.to_lowercase();
        let names = self.names().into_iter();
        let similar = names.map(|known| (distance(&known.to_lowercase(), &lower), known)).min();
        similar.filter(|(distance, _)| *distance <= DISTANCE_MAX).map(|(_, known)| known)
    }
}

/// Returns the number of letters to insert, remove, replace or swap. Long texts count as different.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    if left.len().max(right.len()) > COMPARED_LENGTH_MAX {
        return usize::MAX;
    }
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, letter) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in right.iter().enumerate() {
            let at =
                |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&last, column) + usize::from(letter != other);
            let mut best = replaced.min(at(&last, column + 1) + 1).min(at(&current, column) + 1);
            let is_swapped = row > 0
                && column > 0
                && left.get(row - 1) == Some(other)
                && right.get(column - 1) == Some(letter);
            if is_swapped {
                best = best.min(at(&before_last, column - 1) + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commonest_mistakes_have_a_suggestion() {
        let utc = Zones::bundled().utc();
        for (text, wanted) in [
            (
                "0 0 * * Monday",
                "names of months and weekdays have three letters; write \"0 0 * * mon\"",
            ),
            (
                "0 0 1 January-March Mon,Wednesday",
                "names of months and weekdays have three letters; write \"0 0 1 jan-mar Mon,wed\"",
            ),
            ("0 0 * * 5-7", "Sunday is 0, not 7; write \"0 0 * * 0,5-6\""),
            ("0 0 * * fri-mon", "a range does not wrap around its end; write \"0 0 * * 5-6,0-1\""),
            ("0 22-2 * * *", "a range does not wrap around its end; write \"0 22-23,0-2 * * *\""),
            ("@Daily", "did you mean @daily?"),
            ("@every 2w", "an interval has no days or weeks; write \"@every 336h\""),
            ("@every tuesday", "write an interval such as 90s, 5m or 1h30m"),
            (
                "0 */5 * * * *",
                "a schedule has five fields, without seconds or a year; write \"*/5 * * * *\"",
            ),
            ("* * *", FIVE_FIELDS),
            ("", FIVE_FIELDS),
        ] {
            assert_eq!(Schedule::suggest(text, &utc).as_deref(), Some(wanted), "{text}");
        }
        for (text, wanted) in [
            ("0 0 L * *", "L and # are not supported"),
            ("0 0 * * 5L", "L and # are not supported"),
            ("0 0 * * 1#2", "L and # are not supported"),
            ("0 0 15W * *", "W for the nearest workday"),
            ("@reboot", "a schedule cannot run at the start of the machine"),
            ("@never", "the names are @yearly"),
        ] {
            let found = Schedule::suggest(text, &utc).unwrap();
            assert!(found.starts_with(wanted), "{text}: {found}");
        }
        for text in ["61 * * * *", "x * * * *", "0 0 * * *", "*/0 * * * *"] {
            assert_eq!(Schedule::suggest(text, &utc), None, "{text}");
        }
    }

    #[test]
    fn distances_count_swapped_letters_once() {
        assert_eq!(distance("daily", "dialy"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance(&"x".repeat(65), "x"), usize::MAX);
    }
}
