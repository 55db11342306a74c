//! Which minutes of a day a schedule runs at: the minute and hour fields.

/// Minutes of a day.
pub(crate) const DAY_MINUTES: u32 = 1440;

/// The times of day of a schedule: every chosen minute of every chosen hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeSet {
    /// Bit n is hour n.
    pub(crate) hours: u32,
    /// Bit n is minute n.
    pub(crate) minutes: u64,
}

impl TimeSet {
    pub(crate) fn is_never(self) -> bool {
        self.hours == 0 || self.minutes == 0
    }

    pub(crate) fn is_always(self) -> bool {
        self.per_day() == u64::from(DAY_MINUTES)
    }

    /// How many times a day has.
    #[inline]
    pub(crate) fn per_day(self) -> u64 {
        u64::from(self.hours.count_ones() * self.minutes.count_ones())
    }

    /// The first time of the day at or after minute `time`.
    #[inline]
    pub(crate) fn at_or_after(self, time: u32) -> Option<u32> {
        let (hour, minute) = (time / 60, time % 60);
        let minutes = self.minutes & (u64::MAX << minute);
        if self.hours >> hour & 1 == 1 && minutes != 0 {
            return Some(hour * 60 + minutes.trailing_zeros());
        }
        let hours = self.hours & (!1 << hour);
        (hours != 0).then(|| hours.trailing_zeros() * 60 + self.minutes.trailing_zeros())
    }

    /// The last time of the day at or before minute `time`.
    #[inline]
    pub(crate) fn at_or_before(self, time: u32) -> Option<u32> {
        let (hour, minute) = (time / 60, time % 60);
        let minutes = self.minutes & (u64::MAX >> (63 - minute));
        if self.hours >> hour & 1 == 1 && minutes != 0 {
            return Some(hour * 60 + minutes.ilog2());
        }
        let hours = self.hours & !(u32::MAX << hour);
        (hours != 0).then(|| hours.ilog2() * 60 + self.minutes.ilog2())
    }

    /// The first time of the day. The schedule must have one.
    #[inline]
    pub(crate) fn first(self) -> u32 {
        self.hours.trailing_zeros() * 60 + self.minutes.trailing_zeros()
    }

    /// The last time of the day. The schedule must have one.
    #[inline]
    pub(crate) fn last(self) -> u32 {
        self.hours.ilog2() * 60 + self.minutes.ilog2()
    }

    /// How many times of the day are before minute `time`, at most 1440.
    #[inline]
    pub(crate) fn before(self, time: u32) -> u64 {
        let (hour, minute) = (time / 60, time % 60);
        let whole_hours =
            (self.hours & !(u32::MAX << hour)).count_ones() * self.minutes.count_ones();
        let of_hour =
            (self.minutes & !(u64::MAX << minute)).count_ones() * (self.hours >> hour & 1);
        u64::from(whole_hours + of_hour)
    }
}
