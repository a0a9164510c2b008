//! What can go wrong with a fake server, and how often.

use crate::dice::Dice;

/// How a request fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Answered at once.
    Prompt,
    /// Answered later, from what was known when it came.
    Delay,
    /// Answered later, from what is known then.
    Late,
    /// Held until another answer goes out, which then goes first.
    Reorder,
    /// Answered twice.
    Duplicate,
    /// Answered twice, the second time otherwise.
    Contradict,
    /// A frame larger than allowed is announced.
    Oversize,
    /// Ends in the middle of the answer.
    CrashMidReply,
    /// Ends instead of answering.
    Crash,
    /// Never answered.
    Never,
    /// Answered once it was cancelled, if it ever is.
    AfterCancel,
    /// Bytes that are no frame.
    Garbage,
    /// A frame that is no JSON, then the answer.
    BadJson,
    /// An answer of another shape than the protocol's.
    WrongShape,
    /// Refused as outdated.
    ContentModified,
    /// Refused otherwise.
    Refused,
    /// Not implemented after all.
    Unimplemented,
    /// Goes back to indexing and answers in part.
    BackToIndexing,
    /// A file changes before the answer goes out.
    EditMeanwhile,
    /// Neither reads nor writes from now on.
    Silence,
    /// An answer with unknown ids and a stray error go out first.
    Stray,
}

/// How a start fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartFault {
    /// As it should.
    Fine,
    /// It takes its time.
    Slow,
    /// The program isn't there after all.
    NotFound,
    /// It ends before it answers `initialize`.
    DiesAtStart,
    /// It refuses `initialize`.
    RefusesStart,
    /// It never answers `initialize`.
    NeverStarts,
    /// Starting it panics in our own code.
    Panics,
}

/// All faults of requests, with their weights.
pub(crate) const FAULTS: [(u64, Fault); 20] = [
    (14, Fault::Delay),
    (14, Fault::Late),
    (8, Fault::Reorder),
    (6, Fault::Duplicate),
    (5, Fault::Contradict),
    (2, Fault::Oversize),
    (3, Fault::CrashMidReply),
    (3, Fault::Crash),
    (6, Fault::Never),
    (6, Fault::AfterCancel),
    (2, Fault::Garbage),
    (4, Fault::BadJson),
    (3, Fault::WrongShape),
    (6, Fault::ContentModified),
    (4, Fault::Refused),
    (1, Fault::Unimplemented),
    (6, Fault::BackToIndexing),
    (10, Fault::EditMeanwhile),
    (2, Fault::Silence),
    (4, Fault::Stray),
];

/// All faults of starts, with their weights.
pub(crate) const START_FAULTS: [(u64, StartFault); 6] = [
    (6, StartFault::Slow),
    (2, StartFault::NotFound),
    (4, StartFault::DiesAtStart),
    (2, StartFault::RefusesStart),
    (1, StartFault::NeverStarts),
    (2, StartFault::Panics),
];

/// Draws how a request fares.
pub(crate) fn draw(dice: &mut Dice, percent: u64) -> Fault {
    if dice.chance(percent) { dice.weighted(&FAULTS) } else { Fault::Prompt }
}

/// Draws how a start fares.
pub(crate) fn draw_start(dice: &mut Dice, percent: u64) -> StartFault {
    if dice.chance(percent) { dice.weighted(&START_FAULTS) } else { StartFault::Fine }
}
