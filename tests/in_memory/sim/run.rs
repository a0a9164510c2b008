//! Runs seeds one after the other on this thread and reports failures.

use std::collections::BTreeMap;
use std::time::Duration;

use codeyard_base::blocking;

use crate::sim::dice::Dice;
use crate::sim::profile::Profile;
use crate::sim::stage::Sabotage;
use crate::sim::watchdog;
use crate::sim::world::World;

/// Number of transcript lines that a failing seed prints.
const TAIL: usize = 80;

/// Result of a seed.
pub(crate) struct Ran {
    pub seed: u64,
    pub transcript: Vec<String>,
    pub seen: BTreeMap<String, u64>,
    pub wrong: Vec<String>,
}

impl Ran {
    /// Report of a failed seed.
    pub(crate) fn report(&self) -> String {
        let from = self.transcript.len().saturating_sub(TAIL);
        format!(
            "seed {} failed:\n  {}\n\nthe end of its transcript:\n{}\n\nreplay it:\n  CODEYARD_SIM_SEED={} cargo test --test in_memory one_seed -- --nocapture\n",
            self.seed,
            self.wrong.join("\n  "),
            self.transcript[from..].join("\n"),
            self.seed
        )
    }
}

pub(crate) fn run(seed: u64) -> Ran {
    run_with(seed, Sabotage::Nothing)
}

/// Runs one seed in a world with an intentional defect.
pub(crate) fn run_with(seed: u64, sabotage: Sabotage) -> Ran {
    // The folder's name has the same length on every machine because answers contain sizes.
    let folder = tempfile::Builder::new().prefix("sim-").rand_bytes(8).tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let padding = 60_usize.saturating_sub(path.as_os_str().len());
    let path = path.join("p".repeat(padding.max(1)));
    watchdog::listen();
    let longest = Profile::of(seed).slow_disk_ms;
    let chance = std::cell::RefCell::new(Dice::new(seed, 4));
    let guard = blocking::on_this_thread(move || {
        let mut dice = chance.borrow_mut();
        let slow = longest > 0 && dice.chance(50);
        Duration::from_millis(if slow { dice.range(0, longest) } else { 0 })
    });
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let stage = actix_rt::System::with_tokio_rt(runtime).block_on(async move {
        let mut world = World::open(seed, path).await;
        world.stage.lock().sabotage = sabotage;
        let steps = world.stage.lock().profile.steps;
        for step in 0..steps {
            world.note(format!("step {step}"));
            world.happen().await;
            world.pass().await;
            world.check();
            if !world.stage.lock().wrong.is_empty() {
                break;
            }
        }
        if world.stage.lock().wrong.is_empty() {
            world.heal().await;
        }
        world.close().await
    });
    drop(guard);
    let mut stage = stage.lock();
    for panic in watchdog::deaf() {
        stage.wrong(format!("panicked at the end: {panic}"));
    }
    Ran {
        seed,
        transcript: stage.transcript().to_vec(),
        seen: std::mem::take(&mut stage.seen),
        wrong: std::mem::take(&mut stage.wrong),
    }
}
