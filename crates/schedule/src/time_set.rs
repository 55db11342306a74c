//! The times of day of a schedule: the minute and hour fields.

/// The number of minutes in a day.
pub(crate) const DAY_MINUTES: u32 = 1440;

/// A set of times of day: every selected minute of every selected hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TimeSet {
    /// Bit n is hour n.
    pub(crate) hours: u32,
    /// Bit n is minute n.
    pub(crate) minutes: u64,
}

impl TimeSet {
    pub(crate) fn is_empty(self) -> bool {
        self.hours == 0 || self.minutes == 0
    }

    pub(crate) fn is_full(self) -> bool {
        self.per_day() == u64::from(DAY_MINUTES)
    }

    /// Counts the times of one day.
    #[inline]
    pub(crate) fn per_day(self) -> u64 {
        u64::from(self.hours.count_ones() * self.minutes.count_ones())
    }

    /// Returns the first time at or after minute `time` of the day.
    #[inline]
    pub(crate) fn at_or_after(self, time: u32) -> Option<u32> {
        let hour = time / 60;
        let minutes = self.minutes & (u64::MAX << (time % 60));
        if self.hours >> hour & 1 == 1 && minutes != 0 {
            return Some(hour * 60 + minutes.trailing_zeros());
        }
        let hours = self.hours & (!1 << hour);
        (hours != 0).then(|| hours.trailing_zeros() * 60 + self.minutes.trailing_zeros())
    }

    /// Returns the last time at or before minute `time` of the day.
    #[inline]
    pub(crate) fn at_or_before(self, time: u32) -> Option<u32> {
        let hour = time / 60;
        let minutes = self.minutes & (u64::MAX >> (63 - time % 60));
        if self.hours >> hour & 1 == 1 && minutes != 0 {
            return Some(hour * 60 + minutes.ilog2());
        }
        let hours = self.hours & !(u32::MAX << hour);
        (hours != 0).then(|| hours.ilog2() * 60 + self.minutes.ilog2())
    }

    /// Returns the first time of the day. The set must not be empty.
    #[inline]
    pub(crate) fn first(self) -> u32 {
        self.hours.trailing_zeros() * 60 + self.minutes.trailing_zeros()
    }

    /// Returns the last time of the day. The set must not be empty.
    #[inline]
    pub(crate) fn last(self) -> u32 {
        self.hours.ilog2() * 60 + self.minutes.ilog2()
    }

    /// Counts the times before minute `time` of the day; `time` is at most 1440.
    #[inline]
    pub(crate) fn count_before(self, time: u32) -> u64 {
        let hour = time / 60;
        let minute = time % 60;
        let in_earlier_hours =
            (self.hours & !(u32::MAX << hour)).count_ones() * self.minutes.count_ones();
        let in_this_hour =
            (self.minutes & !(u64::MAX << minute)).count_ones() * (self.hours >> hour & 1);
        u64::from(in_earlier_hours + in_this_hour)
    }
}
