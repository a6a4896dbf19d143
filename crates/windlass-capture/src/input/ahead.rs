//! Reads ahead: a second thread fills the next block while this one is used.
//!
//! Measured on two cores with cached files and an analyser that takes 150 ns
//! per packet: 0.31 s against 0.41 s on one thread for 1.6 GB of full frames,
//! 0.70 s against 0.88 s for 5 million packets of 96 bytes. Packed files gain
//! more, and a quiet pipe cannot keep the analyser from hearing the stop.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::source::{Broken, Source};

/// Fresh bytes in a block: small enough that two blocks stay in the caches.
const BLOCK: usize = 1 << 20;

/// Room before the fresh bytes for what was left of the block before: a little
/// more than the largest packet.
pub(super) const HEADROOM: usize = 320 << 10;

/// Blocks on their way at once: one filled, one used.
const BLOCKS: usize = 2;

/// Some bytes, with room before them.
pub(super) struct Block {
    bytes: Box<[u8]>,
    /// Fresh bytes behind the headroom.
    fresh: usize,
}

impl Block {
    fn new() -> Self {
        Self { bytes: vec![0; HEADROOM + BLOCK].into(), fresh: 0 }
    }

    /// The fresh bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[HEADROOM..HEADROOM + self.fresh]
    }

    /// The fresh bytes behind `front`, which is no longer than the headroom.
    pub(super) fn with_front(&mut self, front: &[u8]) -> &[u8] {
        let start = HEADROOM - front.len();
        self.bytes[start..HEADROOM].copy_from_slice(front);
        &self.bytes[start..HEADROOM + self.fresh]
    }
}

/// What the reading thread has to say.
pub(super) enum Event {
    /// Some bytes.
    Block(Block),
    /// No more bytes.
    End,
    /// The rest cannot be had.
    Broken(Broken),
}

/// The reading thread, seen from the other end of its channels.
pub(super) struct Ahead {
    events: Receiver<Event>,
    empty: SyncSender<Block>,
}

impl Ahead {
    /// Starts to read what `open` gives. The thread ends by itself when this is
    /// dropped, unless a pipe keeps it waiting: then it ends with the program,
    /// which is why nobody waits for it.
    pub(super) fn start(open: impl FnOnce() -> Result<Source, Broken> + Send + 'static) -> Self {
        let (event_sender, events) = sync_channel(BLOCKS);
        let (empty, empty_blocks) = sync_channel(BLOCKS);
        for _ in 0..BLOCKS {
            // There is room for all of them.
            let _ = empty.send(Block::new());
        }
        thread::spawn(move || {
            let last = match open() {
                Ok(source) => read_all(source, &event_sender, &empty_blocks),
                Err(broken) => Event::Broken(broken),
            };
            // Nobody may be listening any more.
            let _ = event_sender.send(last);
        });
        Self { events, empty }
    }

    /// Waits for what comes next, at most so long.
    pub(super) fn next(&mut self, at_most: Duration) -> Option<Event> {
        match self.events.recv_timeout(at_most) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let what = "the unpacking failed and cannot go on".to_owned();
                Some(Event::Broken(Broken::Packing(what)))
            }
        }
    }

    /// Gives a block back to be filled again.
    pub(super) fn give_back(&mut self, block: Block) {
        // The thread may have ended.
        let _ = self.empty.send(block);
    }
}

/// Sends block after block; gives what is to be said last.
fn read_all(mut source: Source, events: &SyncSender<Event>, empty: &Receiver<Block>) -> Event {
    while let Ok(mut block) = empty.recv() {
        match source.read(&mut block.bytes[HEADROOM..]) {
            Ok(0) => return Event::End,
            Ok(count) => block.fresh = count,
            Err(broken) => return Event::Broken(broken),
        }
        if events.send(Event::Block(block)).is_err() {
            break;
        }
    }
    Event::End
}
