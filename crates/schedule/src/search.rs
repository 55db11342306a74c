//! A calendar schedule in a zone: civil arithmetic within segments, and the steps between them.
//!
//! The rule: a slot is every whole UTC minute whose civil time matches. All three questions take a
//! bounded number of steps whatever distance they cover.

use crate::{
    calendar_rule::CalendarRule,
    offset_table::{CYCLE, OffsetTable, TransitionClass},
};

/// The first slot at or after a UTC minute.
pub(crate) fn at_or_after(calendar: &CalendarRule, zone: &OffsetTable, minute: u64) -> Option<u64> {
    if calendar.is_never {
        return None;
    }
    let (minute, back) = zone.fold(minute);
    match at_or_after_in_table(calendar, zone, minute) {
        Some(found) => Some(found + back),
        // What is beyond the table looks like its last cycle. What is not there is nowhere.
        None if zone.end == u64::MAX => None,
        None => Some(at_or_after_in_table(calendar, zone, zone.cycle_start)? + back + CYCLE),
    }
}

#[inline]
fn at_or_after_in_table(calendar: &CalendarRule, zone: &OffsetTable, minute: u64) -> Option<u64> {
    let mut at = zone.find(minute);
    let mut civil = minute.wrapping_add_signed(zone.get(at).offset);
    loop {
        let found = calendar.at_or_after(civil)?;
        if found < zone.civil_end(at) {
            return Some(found.wrapping_add_signed(-zone.get(at).offset));
        }
        if at + 1 == zone.len() {
            return None;
        }
        if zone.get(at + 1).civil_min < civil {
            // The clocks go back behind where we looked from: look there again.
            at += 1;
        } else {
            // Nothing matches before `found`, so every segment that ends before it is passed over.
            at = zone.first_beyond(at, found)?;
            if zone.civil_start(at) <= found {
                return Some(found.wrapping_add_signed(-zone.get(at).offset));
            }
        }
        civil = zone.civil_start(at);
    }
}

/// The last slot at or before a UTC minute.
pub(crate) fn at_or_before(
    calendar: &CalendarRule,
    zone: &OffsetTable,
    minute: u64,
) -> Option<u64> {
    if calendar.is_never {
        return None;
    }
    let (minute, back) = zone.fold(minute);
    if back == 0 {
        return at_or_before_in_table(calendar, zone, minute);
    }
    // The cycle repeats, but what the table has before it does not.
    let found = at_or_before_in_table(calendar, zone, minute)?;
    if found >= zone.cycle_start {
        return Some(found + back);
    }
    let found = at_or_before_in_table(calendar, zone, zone.end - 1)?;
    Some(found + back - CYCLE)
}

#[inline]
fn at_or_before_in_table(calendar: &CalendarRule, zone: &OffsetTable, minute: u64) -> Option<u64> {
    let mut at = zone.find(minute);
    let mut civil = minute.wrapping_add_signed(zone.get(at).offset);
    loop {
        let found = calendar.at_or_before(civil)?;
        if found >= zone.civil_start(at) {
            return Some(found.wrapping_add_signed(-zone.get(at).offset));
        }
        if at == 0 {
            return None;
        }
        if zone.get(at - 1).civil_end_max > civil + 1 {
            // The clocks had gone back: times later than where we looked from came before.
            at -= 1;
        } else {
            at = zone.last_reaching(at, found)?;
            if found < zone.civil_end(at) {
                return Some(found.wrapping_add_signed(-zone.get(at).offset));
            }
        }
        civil = zone.civil_end(at) - 1;
    }
}

/// How many slots lie in the UTC minutes `(after, until]`.
pub(crate) fn count(calendar: &CalendarRule, zone: &OffsetTable, after: u64, until: u64) -> u64 {
    if calendar.is_never || until <= after {
        return 0;
    }
    if calendar.is_always {
        return until - after;
    }
    let ((first, back_first), (last, back_last)) = (zone.fold(after), zone.fold(until));
    let cycles = (back_last - back_first) / CYCLE;
    let within = rank(calendar, zone, first, last);
    if cycles == 0 {
        return within as u64;
    }
    let per_cycle = rank(calendar, zone, zone.cycle_start - 1, zone.end - 1);
    (within + cycles as i64 * per_cycle) as u64
}

/// The slots in `(from, to]` within the table, counted negatively if `to` comes first.
fn rank(calendar: &CalendarRule, zone: &OffsetTable, from: u64, to: u64) -> i64 {
    if to < from {
        return -rank(calendar, zone, to, from);
    }
    let (first, last) = (zone.find(from), zone.find(to));
    let civil_after =
        |minute: u64, at: usize| (minute + 1).wrapping_add_signed(zone.get(at).offset);
    let shifts: i64 =
        zone.classes.iter().map(|class| shifted(calendar, zone, class, first, last)).sum();
    calendar.between(civil_after(from, first), civil_after(to, last)) + shifts
}

/// What the changes of one class between two segments add to (or take from) the civil count.
fn shifted(
    calendar: &CalendarRule,
    zone: &OffsetTable,
    class: &TransitionClass,
    first: usize,
    last: usize,
) -> i64 {
    if !class.is_within_day() {
        return class
            .between(first, last)
            .iter()
            .map(|&(segment, _)| zone.shift_into(segment as usize))
            .map(|shift| calendar.between(shift.to, shift.from))
            .sum();
    }
    let times = calendar.times;
    let per_change = (times.before(class.time + class.minutes) - times.before(class.time)) as i64;
    if per_change == 0 {
        return 0;
    }
    let changes = class.between(first, last);
    let on_days = if calendar.is_daily {
        changes.len()
    } else {
        changes.iter().filter(|(_, day)| calendar.days.contains(*day)).count()
    };
    per_change * on_days as i64 * if class.forward { -1 } else { 1 }
}
