//! A program in a pseudo-terminal, and what its screen shows.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::program::TestHome;

/// Longer than any step takes, even on a busy machine.
const WAIT_TIMEOUT: Duration = Duration::from_secs(90);

/// The size of the terminal's window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowSize {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
}

/// What the program has written: the screen and, for tests of the end, the raw bytes.
struct Shown {
    parser: vt100::Parser,
    raw: Vec<u8>,
}

/// What is shown, and the notification of changes.
type SharedShown = (Mutex<Shown>, Condvar);

/// A program in a pseudo-terminal that is its controlling terminal.
pub(crate) struct ScreenTest {
    keyboard: File,
    /// The program's end, which keeps the terminal open after the program has ended.
    terminal: OwnedFd,
    shown: Arc<SharedShown>,
    /// While this is locked, the terminal accepts no output once its buffer is full.
    pub(crate) stalled: Arc<tokio::sync::Mutex<()>>,
    pub(crate) child: Child,
}

impl ScreenTest {
    /// Starts a shell command in which `$0` is the program.
    pub(crate) fn start(home: &TestHome, script: &str, size: WindowSize) -> ScreenTest {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let terminal = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        set_size(&terminal, size);
        let stdio = || Stdio::from(terminal.as_fd().try_clone_to_owned().unwrap());
        // A session of its own, whose controlling terminal is standard input.
        let child = Command::new("setsid")
            .args(["--ctty", "sh", "-c", script, env!("CARGO_BIN_EXE_punctual")])
            .env("PUNCTUAL_DATA_DIR", home.path().join("data"))
            .env("PUNCTUAL_DASHBOARD", "off")
            .env("PUNCTUAL_LISTEN", "127.0.0.1:0")
            .stdin(stdio())
            .stdout(stdio())
            .stderr(stdio())
            .spawn()
            .unwrap();
        let parser = vt100::Parser::new(non_zero(size.rows), non_zero(size.columns), 0);
        let shown = Arc::new((Mutex::new(Shown { parser, raw: Vec::new() }), Condvar::new()));
        let stalled = Arc::new(tokio::sync::Mutex::new(()));
        let keyboard = File::from(ours);
        let reader = keyboard.try_clone().unwrap();
        let reader_shown = shown.clone();
        let reader_stalled = stalled.clone();
        std::thread::spawn(move || read_screen(reader, &reader_shown, &reader_stalled));
        ScreenTest { keyboard, terminal, shown, stalled, child }
    }

    /// Starts `punctual up` with these arguments.
    pub(crate) fn start_up(home: &TestHome, args: &str, size: WindowSize) -> ScreenTest {
        ScreenTest::start(home, &format!("exec \"$0\" up {args}"), size)
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Changes the size of the window, as columns and rows.
    pub(crate) fn resize(&self, size: WindowSize) {
        self.shown
            .0
            .lock()
            .unwrap()
            .parser
            .screen_mut()
            .set_size(non_zero(size.rows), non_zero(size.columns));
        set_size(&self.terminal, size);
    }

    /// Waits until the text of the screen is as wanted, and returns it.
    pub(crate) fn wait_until(&self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        self.wait_until_screen(what, |screen| is_wanted(&screen.contents()))
    }

    /// Waits until the program has given the full screen back.
    pub(crate) fn wait_for_shell_screen(&self) {
        self.wait_until_screen("the shell's screen", |screen| !screen.alternate_screen());
    }

    fn wait_until_screen(&self, what: &str, is_wanted: impl Fn(&vt100::Screen) -> bool) -> String {
        let shown = self.shown.0.lock().unwrap();
        let is_other = |shown: &mut Shown| !is_wanted(shown.parser.screen());
        let (shown, waited) =
            self.shown.1.wait_timeout_while(shown, WAIT_TIMEOUT, is_other).unwrap();
        let text = shown.parser.screen().contents();
        assert!(!waited.timed_out(), "{what} was not shown:\n{text}");
        text
    }

    pub(crate) fn wait_for(&self, wanted: &str) -> String {
        self.wait_until(wanted, |text| text.contains(wanted))
    }

    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.shown.0.lock().unwrap().raw).into_owned()
    }

    /// Asserts that the terminal is as a shell needs it.
    pub(crate) fn assert_restored(&self) {
        let shown = self.shown.0.lock().unwrap();
        let screen = shown.parser.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{}", screen.contents());
        let modes = tcgetattr(&self.terminal).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON), "{modes:?}");
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().unwrap()).unwrap()
    }

    /// Waits until the program is stopped by a signal.
    pub(crate) fn wait_until_stopped(&self) {
        let pid = self.pid();
        let (sender, stopped) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let status = waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED).unwrap();
            sender.send(status.is_some()).unwrap();
        });
        stopped.recv_timeout(WAIT_TIMEOUT).expect("the program is stopped by the signal");
    }

    /// Waits until the program has ended successfully.
    pub(crate) fn wait_for_end(&mut self) {
        self.wait_for("stopped");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for ScreenTest {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_screen(mut screen: File, shown: &SharedShown, stalled: &tokio::sync::Mutex<()>) {
    let mut bytes = [0; 4096];
    while let Ok(count) = screen.read(&mut bytes) {
        let mut state = shown.0.lock().unwrap();
        state.parser.process(&bytes[..count]);
        state.raw.extend_from_slice(&bytes[..count]);
        drop(state);
        shown.1.notify_all();
        drop(stalled.blocking_lock());
    }
}

fn non_zero(size: u16) -> std::num::NonZero<u16> {
    std::num::NonZero::new(size).unwrap()
}

fn set_size(terminal: &OwnedFd, size: WindowSize) {
    let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}
