//! Searches and counts the slots of a calendar rule in a zone.
//!
//! The slots are all whole UTC minutes whose civil time matches the rule. Within a segment the search
//! is civil arithmetic; between segments it steps along the offset table. All three operations take
//! a bounded number of steps, whatever distance they cover.

use crate::{
    calendar_rule::CalendarRule,
    offset_table::{CYCLE_MINUTES, OffsetTable, TransitionClass},
};

/// Returns the first slot at or after a UTC minute.
pub(crate) fn at_or_after(rule: &CalendarRule, zone: &OffsetTable, minute: u64) -> Option<u64> {
    if rule.is_never {
        return None;
    }
    let (minute, back) = zone.fold_minute(minute);
    match at_or_after_in_table(rule, zone, minute) {
        Some(found) => Some(found + back),
        // The table of a zone without a rule covers all time.
        None if zone.end == u64::MAX => None,
        // The minutes after the table repeat its last cycle.
        None => Some(at_or_after_in_table(rule, zone, zone.cycle_start)? + back + CYCLE_MINUTES),
    }
}

#[inline]
fn at_or_after_in_table(rule: &CalendarRule, zone: &OffsetTable, minute: u64) -> Option<u64> {
    let mut at = zone.find_segment(minute);
    let mut civil = minute.wrapping_add_signed(zone.segment(at).offset);
    loop {
        let found = rule.at_or_after(civil)?;
        if found < zone.civil_end(at) {
            return Some(found.wrapping_add_signed(-zone.segment(at).offset));
        }
        if at + 1 == zone.len() {
            return None;
        }
        if zone.segment(at + 1).civil_min < civil {
            // A later segment repeats civil minutes before `civil`, so search each segment.
            at += 1;
        } else {
            // Nothing matches before `found`, so skip the segments that end before it.
            at = zone.first_ending_after(at, found)?;
            if zone.civil_start(at) <= found {
                return Some(found.wrapping_add_signed(-zone.segment(at).offset));
            }
        }
        civil = zone.civil_start(at);
    }
}

/// Returns the last slot at or before a UTC minute.
pub(crate) fn at_or_before(rule: &CalendarRule, zone: &OffsetTable, minute: u64) -> Option<u64> {
    if rule.is_never {
        return None;
    }
    let (minute, back) = zone.fold_minute(minute);
    let found = at_or_before_in_table(rule, zone, minute)?;
    if back == 0 || found >= zone.cycle_start {
        return Some(found + back);
    }
    // Only the last cycle of the table repeats, so the slot lies at the end of the cycle before.
    let found = at_or_before_in_table(rule, zone, zone.end - 1)?;
    Some(found + back - CYCLE_MINUTES)
}

#[inline]
fn at_or_before_in_table(rule: &CalendarRule, zone: &OffsetTable, minute: u64) -> Option<u64> {
    let mut at = zone.find_segment(minute);
    let mut civil = minute.wrapping_add_signed(zone.segment(at).offset);
    loop {
        let found = rule.at_or_before(civil)?;
        if found >= zone.civil_start(at) {
            return Some(found.wrapping_add_signed(-zone.segment(at).offset));
        }
        if at == 0 {
            return None;
        }
        if zone.segment(at - 1).civil_end_max > civil + 1 {
            // An earlier segment has civil minutes after `civil`, so search each segment.
            at -= 1;
        } else {
            at = zone.last_starting_by(at, found)?;
            if found < zone.civil_end(at) {
                return Some(found.wrapping_add_signed(-zone.segment(at).offset));
            }
        }
        civil = zone.civil_end(at) - 1;
    }
}

/// Counts the slots in the UTC minutes `(after, until]`.
pub(crate) fn count(rule: &CalendarRule, zone: &OffsetTable, after: u64, until: u64) -> u64 {
    if rule.is_never || until <= after {
        return 0;
    }
    if rule.is_every_minute {
        return until - after;
    }
    let (first, back_first) = zone.fold_minute(after);
    let (last, back_last) = zone.fold_minute(until);
    let cycles = (back_last - back_first) / CYCLE_MINUTES;
    let in_table = count_in_table(rule, zone, first, last);
    if cycles == 0 {
        return in_table as u64;
    }
    let per_cycle = count_in_table(rule, zone, zone.cycle_start - 1, zone.end - 1);
    (in_table + cycles as i64 * per_cycle) as u64
}

/// Counts the slots in `(from, to]` within the table. The result is negative if `to` precedes
/// `from`.
fn count_in_table(rule: &CalendarRule, zone: &OffsetTable, from: u64, to: u64) -> i64 {
    if to < from {
        return -count_in_table(rule, zone, to, from);
    }
    let first = zone.find_segment(from);
    let last = zone.find_segment(to);
    let civil_after =
        |minute: u64, at: usize| (minute + 1).wrapping_add_signed(zone.segment(at).offset);
    let corrections: i64 =
        zone.classes.iter().map(|class| count_correction(rule, zone, class, first..last)).sum();
    rule.count_between(civil_after(from, first), civil_after(to, last)) + corrections
}

/// Returns the number of slots that the transitions of one class between two segments add to the
/// count of civil minutes (repeated minutes) or remove from it (skipped minutes).
fn count_correction(
    rule: &CalendarRule,
    zone: &OffsetTable,
    class: &TransitionClass,
    segments: std::ops::Range<usize>,
) -> i64 {
    if !class.is_within_day() {
        return class
            .between(segments.start, segments.end)
            .iter()
            .map(|member| zone.transition_into(member.segment as usize))
            .map(|transition| rule.count_between(transition.civil_after, transition.civil_before))
            .sum();
    }
    let times = rule.times;
    let per_transition =
        (times.count_before(class.time + class.minutes) - times.count_before(class.time)) as i64;
    if per_transition == 0 {
        return 0;
    }
    let transitions = class.between(segments.start, segments.end);
    let matching = if rule.is_daily {
        transitions.len()
    } else {
        transitions.iter().filter(|member| rule.days.contains(member.day)).count()
    };
    let sign = if class.is_forward { -1 } else { 1 };
    sign * per_transition * matching as i64
}
