//! Landlock rules: files, TCP ports, signals and abstract sockets.
//!
//! Invariant: with [`apply_or_fail`] every access that this version of the rules knows is handled, or nothing is started.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::policy::ConfinedPolicy;

/// The version of the rules: the first one that stops signals to processes outside (Linux 6.12).
const VERSION: ABI = ABI::V6;

/// Devices that anyone may write to.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full"];

/// Applies the rules.
///
/// # Errors
/// If the kernel doesn't have all of them.
pub(super) fn apply_or_fail(policy: &ConfinedPolicy) -> Result<(), String> {
    match apply(policy, CompatLevel::HardRequirement) {
        Ok(RulesetStatus::FullyEnforced) => Ok(()),
        Ok(_) => Err("the kernel enforces only a part of the Landlock rules".into()),
        Err(error) => Err(format!("Landlock rules can't be applied: {error}")),
    }
}

pub(super) fn apply_where_possible(policy: &ConfinedPolicy) {
    // Bubblewrap confines the process already.
    drop(apply(policy, CompatLevel::BestEffort));
}

/// Rules that allow nothing yet.
pub(crate) fn closed_ruleset(level: CompatLevel) -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(VERSION))?
        .handle_access(AccessNet::from_all(VERSION))?
        .scope(Scope::from_all(VERSION))?
        .create()
}

fn apply(policy: &ConfinedPolicy, level: CompatLevel) -> Result<RulesetStatus, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let unwanted =
        AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock | AccessFs::IoctlDev;
    let write = AccessFs::from_all(VERSION) & !unwanted;
    let mut rules = closed_ruleset(level)?;
    for path in &policy.read {
        rules = add(rules, path, read)?;
    }
    for path in &policy.execute {
        rules = add(rules, path, read | AccessFs::Execute)?;
    }
    for path in &policy.write {
        rules = add(rules, path, write)?;
    }
    for path in DEVICES {
        rules = add(rules, Path::new(path), AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    if !policy.has_own_proc {
        // The folder of this process, which becomes the server's.
        rules = add(rules, Path::new("/proc/self"), read)?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// Adds a rule for a path. One that can't be opened has no rule, so it stays closed.
fn add(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    let Ok(opened) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(VERSION) };
    rules.add_rule(PathBeneath::new(opened, access))
}
