//! Tests of the live view in a terminal.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::{TestHome, examples};

/// Opens a pseudo-terminal: the test's end and the program's end.
fn terminal(rows: u16, columns: u16) -> (File, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&theirs, size).unwrap();
    (ours.into(), theirs)
}

/// Reads until the screen shows `wanted`, or until the terminal is closed.
fn read_until(screen: &mut File, seen: &mut String, wanted: Option<&str>) {
    let mut bytes = [0; 4096];
    while !wanted.is_some_and(|wanted| seen.contains(wanted)) {
        match screen.read(&mut bytes) {
            Ok(0) | Err(_) if wanted.is_none() => return,
            Ok(count) if count > 0 => seen.push_str(&String::from_utf8_lossy(&bytes[..count])),
            end => panic!("{end:?} before {wanted:?}: {seen}"),
        }
    }
}

fn interrupt(child: &Child) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
}

#[test]
fn the_view_shows_cron_jobs_and_leaves_the_terminal_clean() {
    let home = TestHome::new();
    let (mut screen, theirs) = terminal(12, 60);
    let mut command = home.command(&[&examples()]);
    command.env("NO_COLOR", "1").stdout(Stdio::from(theirs)).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // Closes the test's copy of the program's end.
    drop(command);
    let mut seen = String::new();
    // The erase sequence shows that a second frame was drawn.
    read_until(&mut screen, &mut seen, Some("\x1b[J"));
    interrupt(&child);
    read_until(&mut screen, &mut seen, None);
    assert!(child.wait().unwrap().success());
    assert!(seen.contains("CRONJOB") && seen.contains("default/hello"), "{seen}");
    assert!(seen.contains("more\r\n"), "twelve rows cannot show everything: {seen}");
    let last = seen.lines().last().unwrap();
    assert!(last.trim_start_matches(['\r']).trim_start_matches("\x1b[K").starts_with("stopped"));
    let frame = seen.rsplit("\x1b[J").next().unwrap();
    let is_wide = |line: &str| line.trim_end().chars().count() > 60;
    assert!(frame.lines().count() <= 13 && !frame.lines().any(is_wide), "{frame}");
    assert!(!seen.contains("\x1b[1m"), "colors are disabled");
}
