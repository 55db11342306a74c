//! What can be wrong.

/// Defines the bugs, each by its name and a sentence that is its documentation and what people are
/// told.
macro_rules! bugs {
    ($($bug:ident: $sentence:literal,)+) => {
        /// A mistake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug {
            $(#[doc = $sentence] $bug,)+
        }

        impl Bug {
            /// Every bug there is.
            pub const ALL: &[Bug] = &[$(Bug::$bug,)+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Bug::$bug => stringify!($bug),)+
                }
            }

            /// What is wrong, in a sentence.
            pub const fn sentence(self) -> &'static str {
                match self {
                    $(Bug::$bug => $sentence,)+
                }
            }
        }
    };
}

bugs! {
    // The engine, about CronJobs.
    SuspendIgnored: "A suspended CronJob goes on starting Jobs.",
    MissingBelieved:
        "A Job on the list that the cache does not have is taken for gone without reading it.",
    ForbidTrustsStatus:
        "Forbid and CatchUp look only at the list in the status, not at runs that are missing from it.",
    CatchUpNewestFirst: "CatchUp starts the newest slot that waits, and so never the others.",
    CatchUpOverlaps: "CatchUp does not wait for the run that goes on.",
    ReplaceUnrecorded: "Replace deletes a run whose slot is not in the status yet.",
    ReplaceDeletesBlindly:
        "Replace deletes a run whatever has become of it, also one that has just ended and is not counted.",
    DeadlineIgnored: "The starting deadline is not looked at.",
    DeadlineTooLong: "The starting deadline is a minute longer than asked for.",
    EditActsBack: "A new schedule also has the slots of the time before the edit.",
    MissesCountAsOne: "Slots that are missed together are counted as one.",
    SlotSkipped: "The controller sleeps past the next slot to the one after it.",
    ZoneIgnored: "The time zone of a CronJob is not looked at.",
    JitterEarly: "Jitter moves a slot to before its time.",
    JitterLeftOut: "Jitter moves no slot.",
    NotHeld: "Jobs with a time to live are not held until they are counted.",
    ReleasedUncounted:
        "Jobs are let go when their slot is recorded, though their end is not counted.",
    RecordGoesBack: "The last slot that was started is whichever was seen last.",
    CountedInEveryView: "A run that the cache shows and a read has found is counted twice.",
    NewestRemoved: "The history limits remove the newest Jobs and keep the oldest.",
    NameTakenAdopted:
        "A Job of somebody else that has the name of a slot is taken for the run of the slot.",
    // The engine, about Jobs.
    OneMoreTry: "A Job may fail once more than its backoff limit says.",
    PodNamedByChance:
        "Pods are named by chance, so that a create whose answer was lost makes another.",
    PodsCountedTwice: "A Pod is counted when its end is seen, and again when it is let go.",
    TimeToLiveForgotten: "Jobs that have ended are kept beyond their time to live.",
    // The controller of CronJobs.
    HistoryBeforeStatus: "Finished Jobs are removed before the status that counts them is written.",
    RoomNotMade: "Replace starts the new run though the old one could not be deleted.",
    DoubtForgotten: "A create whose answer was lost is taken for one that was refused.",
    EndForgotten: "That a Job was seen to have ended is forgotten while the watch is behind.",
    StatusUnversioned: "The status is written over whatever version of the CronJob is there.",
    HalfWorld: "Work begins when all kinds but one are listed.",
    // What controllers share: calls, watches, leadership; and the collector.
    ConflictBelieved: "A conflict on a delete is taken to mean that the object is gone.",
    OldNewsBelieved: "A watch that is behind overwrites what is newer in the cache.",
    ListForgetsNothing: "What went while a watch was cut stays in the cache for ever.",
    WatchNotResumed: "A watch that was cut stays cut.",
    FenceStaysOpen: "Whoever has led goes on until told that another leads.",
    TermNeverEnds: "The work of a term that is lost is not ended, so none begins in the next.",
    LeaseUnversioned: "The Lease is written over whatever version is there.",
    OrphansStay: "What has lost its owner is not removed.",
    UnseenOwnerIsGone:
        "An owner that is not seen yet is taken for gone, and what it owns is removed.",
    // The controller of Jobs.
    PodsLetGoUncounted: "Pods lose their finalizer before the status that counts them is written.",
    // The queue, and what drives it.
    NeverRests: "Who has nothing to do looks every millisecond whether there is something.",
    ChangeLost: "What changes about a key while it is worked on is not looked at.",
    RetryDropped: "What has failed is not tried again.",
    BackoffUnbounded:
        "After an outage a key waits as long as it has failed, past the next slot too.",
    // The lease.
    LeaseExpiresEarly: "A candidate takes the Lease after a fifth of the time that its holder has.",
    // The server.
    VersionUnchecked: "The server writes over any version of an object.",
    FinalizersIgnored: "The server removes objects that are still held.",
    DeletesUntold: "Watches are not told that an object is gone.",
    // The store.
    AnsweredTooSoon: "The store says that something is written before it is on the disk.",
    WatchSkipsOne: "A watch that is resumed leaves out one change.",
    GapUntold: "A watch that is too far behind goes on without what was forgotten.",
}
