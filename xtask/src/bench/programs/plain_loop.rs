//! The same programs, started by a loop in one thread: what fork and exec cost without a scheduler.

use std::process::{Child, Command};

use punctual_e2e::load::clock;
use rustix::process::{Pid, WaitOptions};

use super::{CHILDREN_PROCESSOR, PROCESSOR, marks::MarkFolder};
use crate::bench::{bench_server, report::Figures};

pub(super) fn measure(count: usize, marks: &MarkFolder) -> anyhow::Result<Figures> {
    let before = bench_server::own_processor_times()?;
    let slot = clock::wall_time();
    let mut children: Vec<Child> = Vec::new();
    for number in 0..count {
        children.push(Command::new("/bin/sh").args(["-c", &marks.command(number)]).spawn()?);
    }
    for child in &children {
        let _status = rustix::process::waitpid(Some(Pid::from_child(child)), WaitOptions::empty())?;
    }
    let after = bench_server::own_processor_times()?;
    let mut figures = Figures::default();
    marks.add_starts(slot, &mut figures)?;
    figures.add_time(PROCESSOR, after.own.saturating_sub(before.own));
    figures.add_time(CHILDREN_PROCESSOR, after.children.saturating_sub(before.children));
    Ok(figures)
}
