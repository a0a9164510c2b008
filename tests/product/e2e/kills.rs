//! `kill -9` of codeyard while its language servers start and index, and of its children while it answers.
//!
//! Invariants: what a killed codeyard had started is gone within two seconds; the next one answers rightly from the same state directory, its
//! code index included; the questions about a killed child's workspace are answered again, by the same codeyard; no kill leads to a
//! quarantine; nothing is written into a root.

mod questions;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use codeyard_base::clock::Instant;
use rustix::process::{Pid, Signal, getpgid, getpgrp, kill_process_group};
use serde_json::json;

use self::questions::{Asker, Fleet, Tally};
use crate::e2e::launch_kills::Dice;
use crate::e2e::place::Place;
use crate::mcp::{pause, until};
use crate::running_server::{
    Access, Process, Yard, assert_gone, command_line, descendants, is_alive, owned_by, process, signal_to,
};

/// Within this time everything is gone that a killed codeyard has started.
const GONE_MS: u64 = 2_000;
/// Language servers that run or start at most kills of codeyard.
const MANY_SERVERS: u64 = 10;
/// Longest pause between the last awaited start of a language server and the kill of codeyard.
const MOST_PAUSE_MS: u64 = 1_500;
/// A file that is written into each root, so that no answer is a retained one; it is removed in the end.
const NOTE: &str = "kill_notes.md";
/// Clients that ask all the time while children are killed.
const CLIENTS: usize = 4;

/// Sets a flag when it is dropped, so that other threads end after a panic too.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Asks about a workspace, and has its index built again and again, until codeyard is killed.
fn ask_until_killed(access: &Access, named: &(String, Place), is_killed: &AtomicBool, tally: &Tally) {
    let asked = catch_unwind(AssertUnwindSafe(|| {
        let mut asker = Asker::new(access, named);
        while !is_killed.load(Relaxed) {
            tally.count(&named.0, asker.definition());
            if tally.count(&named.0, asker.search()) {
                asker.code_call("index_repo", &json!({"force": true}));
            }
            pause(20);
        }
    }));
    // A call that the kill cuts short panics.
    if asked.is_err() && !is_killed.load(Relaxed) {
        tally.wrong.lock().push(format!("{}: no answer", named.0));
    }
}

/// The guards among these processes.
fn guards(processes: &BTreeSet<Process>) -> Vec<Process> {
    processes.iter().copied().filter(|found| command_line(found.pid).contains(" __guard ")).collect()
}

/// Figures of the kills of codeyard.
#[derive(Default)]
struct Figures {
    /// Kills by the number of language servers that ran or started.
    servers: BTreeMap<usize, usize>,
    slowest_gone_ms: u128,
}

/// Checks three workspaces of a fresh codeyard while all are asked, and kills it at a random moment.
fn check_and_kill(yard: &Yard, fleet: &Fleet, number: usize, dice: &mut Dice, figures: &mut Figures, tally: &Tally) {
    let access = yard.access();
    let is_killed = AtomicBool::new(false);
    let own = process(yard.pid()).expect("a process");
    std::thread::scope(|scope| {
        let killed = SetOnDrop(&is_killed);
        for named in &fleet.0 {
            let access = &access;
            let is_killed = &is_killed;
            scope.spawn(move || ask_until_killed(access, named, is_killed, tally));
        }
        // One kill in four comes early and before anything is checked; the next codeyard is checked then.
        let is_early = dice.roll(4) == 0;
        if !is_early {
            let checked = (0..3).map(|offset| &fleet.0[(number * 3 + offset) % fleet.0.len()]);
            checked.for_each(|named| Asker::new(&access, named).check());
        }
        let wanted = if is_early { dice.roll(MANY_SERVERS) } else { MANY_SERVERS + dice.roll(3) };
        let reached = until(60_000, || guards(&descendants(yard.pid())).len() as u64 >= wanted);
        assert!(reached, "{wanted} language servers don't start: {:?}", tally.wrong.lock());
        pause(dice.roll(MOST_PAUSE_MS));
        let below = descendants(yard.pid());
        *figures.servers.entry(guards(&below).len()).or_default() += 1;
        drop(killed);
        yard.signal(Signal::KILL);
        let began = Instant::now();
        assert_gone(&below, GONE_MS);
        // Started after the list of descendants was read.
        assert_gone(&owned_by(own), GONE_MS);
        figures.slowest_gone_ms = figures.slowest_gone_ms.max(began.elapsed().as_millis());
    });
    fleet.assert_untouched();
    assert_eq!(*tally.wrong.lock(), [""; 0]);
}

fn kill_codeyard(kills: usize) {
    let fleet = Fleet::new(4);
    let mut dice = Dice(0x5eed);
    let mut figures = Figures::default();
    let tally = Tally::default();
    let began = Instant::now();
    let mut yard = Yard::serve(&fleet.configuration());
    for number in 0..kills {
        check_and_kill(&yard, &fleet, number, &mut dice, &mut figures, &tally);
        yard.wait();
        // The token is shown at the first start only.
        let state = yard.state.clone();
        let token = yard.token.clone();
        yard = Yard::serve_from(state, &fleet.configuration(), &[], &[]);
        yard.token = token;
    }
    let access = yard.access();
    fleet.0.iter().for_each(|named| Asker::new(&access, named).check());
    println!(
        "{kills} kills of codeyard in {} s, by language servers at the kill: {:?}; all gone after {} ms at most; {} right answers, {} to be \
         asked again, 0 wrong",
        began.elapsed().as_secs(),
        figures.servers,
        figures.slowest_gone_ms,
        tally.right.load(Relaxed),
        tally.later.load(Relaxed)
    );
    yard.stop();
    fleet.assert_untouched();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Server,
    Guard,
    Group,
    Warden,
}

impl Victim {
    const ALL: [Self; 4] = [Self::Server, Self::Guard, Self::Group, Self::Warden];

    /// Kills a random one, and waits until it is gone. `false` if there is none at the moment.
    fn kill(self, yard: &mut Yard, dice: &mut Dice) -> bool {
        let all = yard.descendants();
        let is_of = |found: &Process| {
            let line = command_line(found.pid);
            match self {
                Self::Server => !line.is_empty() && !line.contains(" __"),
                Self::Guard | Self::Group => line.contains(" __guard "),
                Self::Warden => line.contains(" __warden "),
            }
        };
        let found: Vec<Process> = all.into_iter().filter(is_of).collect();
        let Some(victim) = found.get(dice.roll(found.len().max(1) as u64) as usize).copied() else { return false };
        match (self, Pid::from_raw(i32::try_from(victim.pid).expect("a process id"))) {
            (Self::Group, Some(pid)) => {
                // The victim may have ended by itself.
                let Ok(group) = getpgid(Some(pid)) else { return false };
                assert!(group == pid && group != getpgrp(), "a guard doesn't lead its group");
                kill_process_group(group, Signal::KILL).ok();
            }
            _ => signal_to(victim.pid, Signal::KILL),
        }
        assert!(until(10_000, || !is_alive(victim)), "it survives: {}", command_line(victim.pid));
        true
    }
}

/// The checks of `/readyz` that find something.
fn readiness(address: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).expect("it accepts");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).expect("a time limit");
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer.split_once("\r\n\r\n").expect("a body").1.to_owned()
}

/// Asks about random workspaces until it is over.
fn ask_meanwhile(access: &Access, fleet: &Fleet, seed: usize, is_over: &AtomicBool, tally: &Tally) {
    let mut dice = Dice(0x9e37_79b9 + seed as u64);
    let mut askers: Vec<Asker<'_>> = fleet.0.iter().map(|named| Asker::new(access, named)).collect();
    while !is_over.load(Relaxed) {
        let number = dice.roll(fleet.0.len() as u64) as usize;
        let asker = &mut askers[number];
        let name = &fleet.0[number].0;
        let reply = if dice.roll(2) == 0 { asker.definition() } else { asker.search() };
        tally.count(name, reply);
        pause(5);
    }
}

fn kill_children(each: usize, kills: usize) {
    let fleet = Fleet::new(each);
    let mut yard = Yard::serve(&fleet.configuration());
    let access = yard.access();
    let is_over = AtomicBool::new(false);
    let tally = Tally::default();
    let began = Instant::now();
    let own = process(yard.pid()).expect("a process");
    let mut dice = Dice(0x5eed);
    let mut killed = BTreeMap::<Victim, usize>::new();
    let mut times = Vec::new();
    let mut askers: Vec<Asker<'_>> = fleet.0.iter().map(|named| Asker::new(&access, named)).collect();
    askers.iter_mut().for_each(Asker::check);
    std::thread::scope(|scope| {
        let _over = SetOnDrop(&is_over);
        for seed in 0..CLIENTS {
            let access = &access;
            let fleet = &fleet;
            let is_over = &is_over;
            let tally = &tally;
            scope.spawn(move || ask_meanwhile(access, fleet, seed, is_over, tally));
        }
        let mut number = 0;
        while number < kills {
            let victim = Victim::ALL[[0, 0, 0, 1, 1, 1, 2, 2, 2, 3][dice.roll(10) as usize]];
            if !victim.kill(&mut yard, &mut dice) {
                pause(20);
                continue;
            }
            number += 1;
            *killed.entry(victim).or_default() += 1;
            let note = format!("note number {number} of this test");
            fleet.0.iter().for_each(|(_, place)| fs::write(place.root.join(NOTE), &note).expect("a file"));
            let slowest = askers.iter_mut().map(|asker| {
                asker.until_right("search for the note", |asker| asker.search_for(&note, NOTE, 1));
                asker.until_right("definition", Asker::definition)
            });
            times.push(slowest.max().unwrap_or(0));
            assert!(is_alive(own), "codeyard has ended");
            assert!(!readiness(&yard.address).contains("quarantine"), "{victim:?}: a kill led to a quarantine");
            assert_eq!(*tally.wrong.lock(), [""; 0], "{victim:?}");
        }
    });
    fleet.0.iter().for_each(|(_, place)| fs::remove_file(place.root.join(NOTE)).expect("a file"));
    askers.iter_mut().for_each(Asker::check);
    times.sort_unstable();
    println!(
        "{kills} kills of children in {} s: {killed:?}; right again after {} ms (median), {} ms (most); meanwhile {} right answers, {} to be \
         asked again, 0 wrong",
        began.elapsed().as_secs(),
        times[times.len() / 2],
        times[times.len() - 1],
        tally.right.load(Relaxed),
        tally.later.load(Relaxed)
    );
    assert_eq!(readiness(&yard.address), "{\"ready\":true,\"failing\":[],\"degraded\":[]}");
    yard.stop();
    assert_gone(&owned_by(own), 0);
    fleet.assert_untouched();
}

#[test]
fn a_codeyard_that_is_killed_while_servers_start_leaves_nothing_and_answers_again() {
    kill_codeyard(3);
}

#[test]
#[ignore = "minutes: 100 kills of codeyard"]
fn a_hundred_kills_of_codeyard_leave_nothing() {
    kill_codeyard(100);
}

#[test]
fn killed_children_are_replaced() {
    kill_children(1, 6);
}

#[test]
#[ignore = "minutes: 100 kills of children"]
fn a_hundred_killed_children_are_replaced() {
    kill_children(4, 100);
}
