//! A printer that takes all and keeps nothing.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use anyhow::Result;

/// A printer that takes all and keeps nothing.
pub(super) struct Sink {
    pub(super) port: u16,
    jobs: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Sink {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let (jobs, stop) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let listener = Arc::new(listener);
        for _ in 0..16 {
            let (listener, jobs) = (Arc::clone(&listener), Arc::clone(&jobs));
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                let mut buffer = vec![0; 64 << 10];
                while let Ok((mut stream, _)) = listener.accept() {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let mut bytes = 0;
                    while let Ok(got @ 1..) = stream.read(&mut buffer) {
                        bytes += got;
                    }
                    if bytes > 0 {
                        jobs.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        Ok(Self { port, jobs, stop })
    }

    /// Jobs that came.
    pub(super) fn jobs(&self) -> u64 {
        self.jobs.load(Ordering::Relaxed)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for _ in 0..16 {
            let _ = TcpStream::connect(("127.0.0.1", self.port));
        }
    }
}
