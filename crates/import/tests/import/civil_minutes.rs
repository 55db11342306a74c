//! Every minute of ten years with its civil time in a zone.

use jiff::{Timestamp, tz::TimeZone};
use punctual_import::ConvertedSchedule;
use punctual_schedule::{Schedule, Zones};

/// The first minute, in seconds since 1970: 2026-01-01.
const FIRST: i64 = 1_767_225_600;
/// The end of the ten years: 2036-01-01.
const END: i64 = 2_082_758_400;

/// The civil time of a minute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CivilMinute {
    pub(crate) minute: u8,
    pub(crate) hour: u8,
    pub(crate) day: u8,
    pub(crate) month: u8,
    /// Sunday is 0.
    pub(crate) weekday: u8,
    pub(crate) month_length: u8,
    /// Whether the same civil time occurred before, because the clocks were set back.
    pub(crate) is_repeated: bool,
}

/// The minutes of ten years.
pub(crate) struct CivilMinutes {
    pub(crate) zone: &'static str,
    minutes: Vec<CivilMinute>,
}

impl CivilMinutes {
    pub(crate) fn new(zone: &'static str) -> CivilMinutes {
        let time_zone = TimeZone::get(zone).unwrap();
        let mut latest = None;
        let mut minutes = Vec::new();
        for second in (FIRST..END).step_by(60) {
            let zoned = Timestamp::from_second(second).unwrap().to_zoned(time_zone.clone());
            let civil = zoned.datetime();
            let is_repeated = latest.is_some_and(|latest| civil <= latest);
            if !is_repeated {
                latest = Some(civil);
            }
            minutes.push(CivilMinute {
                minute: civil.minute() as u8,
                hour: civil.hour() as u8,
                day: civil.day() as u8,
                month: civil.month() as u8,
                weekday: civil.weekday().to_sunday_zero_offset() as u8,
                month_length: civil.days_in_month() as u8,
                is_repeated,
            });
        }
        CivilMinutes { zone, minutes }
    }

    pub(crate) fn at(&self, index: u32) -> CivilMinute {
        self.minutes[index as usize]
    }

    /// Returns the minutes that match.
    pub(crate) fn matching(&self, matches: impl Fn(CivilMinute) -> bool) -> Vec<u32> {
        let all = self.minutes.iter().enumerate();
        all.filter(|(_, minute)| matches(**minute)).map(|(index, _)| index as u32).collect()
    }

    /// Returns the minutes at which an imported schedule runs its command.
    pub(crate) fn slots(&self, converted: &ConvertedSchedule) -> Vec<u32> {
        let zone = Zones::bundled().get(self.zone).unwrap();
        let schedule = Schedule::parse(&converted.text, &zone).unwrap();
        let before = Timestamp::from_second(FIRST - 1).unwrap();
        let slots = schedule.between(before, Timestamp::from_second(END - 1).unwrap());
        let slots = slots.map(|slot| ((slot.as_second() - FIRST) / 60) as u32);
        match converted.only_weekdays {
            Some(set) => slots.filter(|slot| set >> self.at(*slot).weekday & 1 == 1).collect(),
            None => slots.collect(),
        }
    }
}
