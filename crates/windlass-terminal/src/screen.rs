//! The thread of a view: it draws, hears keys and signals, and gives the terminal back.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::keys::Keys;
use crate::scene::{Answer, Key, Scene};
use crate::signals::{self, SignalEffect, Signals, Waker};
use crate::terminal;

/// Time between two looks at the contents.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A view on the terminal. Dropping it gives the terminal back, unless that is done already.
pub struct Screen {
    is_over: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Takes the terminal of standard output, and shows `scene` on it.
    ///
    /// The program itself handles SIGINT, SIGTERM and SIGHUP. Each of them gives the terminal back,
    /// and so does [`Answer::End`], which sends a SIGINT. `is_left` is set once the terminal is
    /// restored for good: until then the program must not end at once.
    ///
    /// # Errors
    /// Standard output is no terminal, the terminal is taken already, or the system refuses.
    pub fn open(scene: impl Scene, is_left: Arc<AtomicBool>) -> io::Result<Self> {
        let (signals, waker) = Signals::listen(&is_left)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let keyboard = terminal::take();
        let keyboard = keyboard.inspect_err(|_| is_left.store(true, Ordering::Relaxed))?;
        let view = View {
            scene,
            keyboard,
            keys: Keys::default(),
            signals,
            shown: Vec::new(),
            is_over: Arc::clone(&is_over),
            is_left,
        };
        let thread = thread::Builder::new().name("view".to_owned()).spawn(move || view.run());
        let thread = thread.inspect_err(|_| terminal::give_back())?;
        Ok(Self { is_over, waker, thread: Some(thread) })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.waker.wake();
        // A thread that panicked has told so, and gave the terminal back.
        let _ = self.thread.take().map(JoinHandle::join);
        terminal::give_back();
    }
}

struct View<S> {
    scene: S,
    keyboard: Option<OwnedFd>,
    keys: Keys,
    signals: Signals,
    /// The lines that stand on the screen; none if the whole screen is to be drawn.
    shown: Vec<String>,
    is_over: Arc<AtomicBool>,
    is_left: Arc<AtomicBool>,
}

impl<S: Scene> View<S> {
    fn run(mut self) {
        let mut ends_program = false;
        self.draw();
        // A thread that panics gives the terminal back.
        while !self.is_over.load(Ordering::Relaxed) && terminal::is_taken() {
            let keys = self.wait();
            let mut is_due = false;
            for came in self.signals.came() {
                match came {
                    SignalEffect::End => self.is_over.store(true, Ordering::Relaxed),
                    SignalEffect::Kill(signal) => {
                        terminal::give_back();
                        signals::as_by_default(signal);
                    }
                    SignalEffect::Stop => {
                        terminal::give_back();
                        signals::stop();
                        self.keyboard = terminal::take().unwrap_or_default();
                        is_due = true;
                    }
                    SignalEffect::Continue => terminal::take_again(),
                    SignalEffect::Resize => {}
                }
                if matches!(
                    came,
                    SignalEffect::Stop | SignalEffect::Continue | SignalEffect::Resize
                ) {
                    self.shown.clear();
                    is_due = true;
                }
            }
            for key in keys {
                if key == Key::Redraw {
                    self.shown.clear();
                    is_due = true;
                    continue;
                }
                match self.scene.key(key) {
                    Answer::Nothing => {}
                    Answer::Draw => is_due = true,
                    Answer::End => {
                        ends_program = true;
                        self.is_over.store(true, Ordering::Relaxed);
                    }
                }
            }
            if is_due || self.scene.has_changed() {
                self.draw();
            }
        }
        terminal::give_back();
        if ends_program {
            signals::interrupt();
        }
        // A program that ends at once from here on leaves the terminal clean.
        self.is_left.store(true, Ordering::Relaxed);
    }

    /// Waits for a key, a signal, the owner, or the next look. Returns the keys.
    fn wait(&mut self) -> Vec<Key> {
        let mut files = vec![PollFd::new(&self.signals.woken, PollFlags::IN)];
        files.extend(self.keyboard.as_ref().map(|keys| PollFd::new(keys, PollFlags::IN)));
        let ready = poll(&mut files, Some(&TICK)).unwrap_or(0);
        let has_keys = files.get(1).is_some_and(|file| !file.revents().is_empty());
        if ready == 0 {
            self.keys.pause();
        }
        let Some(keyboard) = self.keyboard.as_ref().filter(|_| has_keys) else {
            return Vec::new();
        };
        let mut bytes = [0; 256];
        match rustix::io::read(keyboard, &mut bytes) {
            Ok(read) if read > 0 => self.keys.take(&bytes[..read]),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Vec::new(),
            // The terminal is gone: signals end the view.
            _ => {
                self.keyboard = None;
                Vec::new()
            }
        }
    }

    /// Draws the lines that differ from those on the screen.
    fn draw(&mut self) {
        let size = terminal::size();
        let mut lines = self.scene.draw(size);
        lines.truncate(size.rows);
        let mut bytes = String::new();
        if self.shown.is_empty() {
            bytes.push_str("\x1b[2J");
        }
        let rows = lines.len().max(self.shown.len()).min(size.rows);
        for row in 0..rows {
            let line = lines.get(row).map_or("", String::as_str);
            if self.shown.get(row).is_none_or(|shown| shown != line) {
                bytes.push_str(&format!("\x1b[{};1H\x1b[2K{line}", row + 1));
            }
        }
        self.shown = lines;
        // Nobody looks if the terminal is gone.
        let _ = terminal::write(bytes.as_bytes());
    }
}
