//! An independent evaluation of crontab lines: reads a field letter by letter as cron's own parser does,
//! and tests each minute.

use crate::civil_minutes::CivilMinute;

/// The fields of a line. Index n says whether the value n matches.
pub(crate) struct VixieEntry {
    minutes: Vec<bool>,
    hours: Vec<bool>,
    days: Vec<bool>,
    months: Vec<bool>,
    weekdays: Vec<bool>,
    has_day_star: bool,
    has_weekday_star: bool,
}

const MONTHS: &str = "jan feb mar apr may jun jul aug sep oct nov dec";
const WEEKDAYS: &str = "sun mon tue wed thu fri sat";

impl VixieEntry {
    /// Parses the five fields. None if cron rejects them.
    pub(crate) fn parse(text: &str) -> Option<VixieEntry> {
        let fields: Vec<&str> = text.split(' ').collect();
        let mut weekdays = read_list(fields[4], 0, 7, WEEKDAYS)?;
        let is_sunday = weekdays[0] || weekdays[7];
        weekdays[0] = is_sunday;
        weekdays[7] = is_sunday;
        Some(VixieEntry {
            minutes: read_list(fields[0], 0, 59, "")?,
            hours: read_list(fields[1], 0, 23, "")?,
            days: read_list(fields[2], 1, 31, "")?,
            months: read_list(fields[3], 1, 12, MONTHS)?,
            weekdays,
            has_day_star: fields[2].starts_with('*'),
            has_weekday_star: fields[4].starts_with('*'),
        })
    }

    pub(crate) fn matches(&self, at: CivilMinute) -> bool {
        let day = self.days[usize::from(at.day)];
        let weekday = self.weekdays[usize::from(at.weekday)];
        let is_day = if self.has_day_star || self.has_weekday_star {
            day && weekday
        } else {
            day || weekday
        };
        self.minutes[usize::from(at.minute)]
            && self.hours[usize::from(at.hour)]
            && self.months[usize::from(at.month)]
            && is_day
    }
}

fn read_list(text: &str, low: usize, high: usize, names: &str) -> Option<Vec<bool>> {
    let mut set = vec![false; high + 1];
    let mut letters = text.chars().peekable();
    loop {
        let mut range = (low, high);
        let mut may_have_step = true;
        if letters.peek() == Some(&'*') {
            letters.next();
        } else {
            range.0 = read_number(&mut letters, low, names)?;
            range.1 = range.0;
            may_have_step = letters.peek() == Some(&'-');
            if may_have_step {
                letters.next();
                range.1 = read_number(&mut letters, low, names)?;
            }
        }
        let mut step = 1;
        if may_have_step && letters.peek() == Some(&'/') {
            letters.next();
            step = read_number(&mut letters, 0, "")?;
        }
        if step == 0 || range.0 > range.1 {
            return None;
        }
        let mut value = range.0;
        while value <= range.1 {
            if value < low || value > high {
                return None;
            }
            set[value] = true;
            value += step;
        }
        match letters.next() {
            None => return Some(set),
            Some(',') => {}
            Some(_) => return None,
        }
    }
}

fn read_number(
    letters: &mut std::iter::Peekable<std::str::Chars<'_>>,
    low: usize,
    names: &str,
) -> Option<usize> {
    let mut word = String::new();
    while let Some(letter) = letters.peek().filter(|letter| letter.is_ascii_alphanumeric()) {
        word.push(letter.to_ascii_lowercase());
        letters.next();
    }
    let named = names.split(' ').position(|name| !name.is_empty() && name == word);
    named.map(|index| index + low).or_else(|| word.parse().ok())
}
