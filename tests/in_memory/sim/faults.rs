//! Faults of a fake server and their weights.

use crate::sim::dice::Dice;

/// Outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Answered at once.
    Prompt,
    /// Answered later, from the files known at its arrival.
    Delay,
    /// Answered later, from the files known at that time.
    Late,
    /// Held until another answer was sent.
    Reorder,
    /// Answered twice.
    Duplicate,
    /// Answered twice with different results.
    Contradict,
    /// Announces a frame above the limit.
    Oversize,
    /// Crashes in the middle of the answer.
    CrashMidReply,
    /// Crashes instead of answering.
    Crash,
    /// Never answered.
    Never,
    /// Answered only after a cancellation.
    AfterCancel,
    /// Sends bytes that are no frame.
    Garbage,
    /// Sends a frame with invalid JSON, then the answer.
    BadJson,
    /// Sends an answer that violates the protocol's schema.
    WrongShape,
    /// Refused as "content modified".
    ContentModified,
    /// Refused with an internal error.
    Refused,
    /// Refused as not implemented.
    Unimplemented,
    /// Resumes indexing and gives a partial answer.
    BackToIndexing,
    /// A file changes before the answer is sent.
    EditMeanwhile,
    /// Stops reading and writing.
    Silence,
    /// Sends an answer with an unknown id and a stray error first.
    Stray,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartFault {
    Fine,
    /// Succeeds slowly.
    Slow,
    /// The program is missing.
    NotFound,
    /// The server exits before it answers `initialize`.
    DiesAtStart,
    /// The server refuses `initialize`.
    RefusesStart,
    /// The server never answers `initialize`.
    NeverStarts,
    /// The launcher panics.
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

/// Draws the outcome of a request.
pub(crate) fn draw(dice: &mut Dice, percent: u64) -> Fault {
    if dice.chance(percent) { dice.weighted(&FAULTS) } else { Fault::Prompt }
}

/// Draws the outcome of a start.
pub(crate) fn draw_start(dice: &mut Dice, percent: u64) -> StartFault {
    if dice.chance(percent) { dice.weighted(&START_FAULTS) } else { StartFault::Fine }
}
