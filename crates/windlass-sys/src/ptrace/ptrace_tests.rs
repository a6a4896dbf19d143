//! Traced programs, none of them a child of this process: their parents wait for their ends.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::*;

/// A program that a shell started, and its number.
struct Tracee {
    shell: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    process: u32,
}

impl Tracee {
    /// Starts a shell within a shell, which runs these words after it is sent a line of input.
    fn of(words: &str) -> Self {
        // The inner shell reads the outer one's input, as programs in the background have none of their own.
        let line = format!("sh -c 'read line; {words}' <&3 & echo $!; wait $!; echo $?");
        let mut shell = Command::new("sh")
            .args(["-c", &format!("exec 3<&0; {line}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut number = String::new();
        let mut output = BufReader::new(shell.stdout.take().unwrap());
        output.read_line(&mut number).unwrap();
        let input = shell.stdin.take();
        Self { shell, input, output, process: number.trim().parse().unwrap() }
    }

    fn go(&mut self) {
        self.input.as_ref().unwrap().write_all(b"go\n").unwrap();
    }

    /// Returns its exit status, as the shell that started it prints it.
    fn status(&mut self) -> String {
        let mut status = String::new();
        self.output.read_line(&mut status).unwrap();
        status.trim().to_owned()
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        // A program that still waits for its line gets the end of its input.
        self.input = None;
        let _ = self.shell.wait();
    }
}

/// Returns everything that a tracer reports until no thread is traced.
fn all(tracer: &mut Tracer) -> Vec<ThreadEvent> {
    let mut all = Vec::new();
    loop {
        match tracer.next().unwrap() {
            TracerEvent::Told(told) => all.push(told),
            TracerEvent::Rung => {}
            TracerEvent::Nobody => return all,
        }
    }
}

/// Traces in a thread of its own, as the thread of a test has children.
fn trace<T: Send>(work: impl FnOnce(&mut Tracer) -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(|| work(&mut Tracer::new().unwrap())).join().unwrap())
}

#[test]
fn forks_and_programs_are_followed_to_their_ends() {
    let mut tracee = Tracee::of("/bin/true; /bin/true; exec /bin/true");
    let all = trace(|tracer| {
        tracer.attach(tracee.process).unwrap();
        tracee.go();
        all(tracer)
    });
    let count =
        |did: &dyn Fn(ThreadAction) -> bool| all.iter().filter(|told| did(told.did)).count();
    assert_eq!(count(&|did| did == ThreadAction::Begin { is_process: true }), 3, "{all:?}");
    assert_eq!(count(&|did| did == ThreadAction::End), 3, "{all:?}");
    // Each thread ends in a call that never returns: exit_group. The first may have been within one
    // when it was seized.
    let calls: Vec<_> = all
        .iter()
        .filter(|told| matches!(told.did, ThreadAction::Enter(_) | ThreadAction::Leave(_)))
        .collect();
    let was_within = usize::from(matches!(calls[0].did, ThreadAction::Leave(_)));
    let entered = count(&|did| matches!(did, ThreadAction::Enter(_)));
    let left = count(&|did| matches!(did, ThreadAction::Leave(_)));
    assert_eq!(entered + was_within, left + 3, "{all:?}");
    // No thread becomes another program under a new number.
    assert_eq!(count(&|did| matches!(did, ThreadAction::Rename { .. })), 0);
    // A call lies between its entry and its exit.
    assert!(all.is_sorted_by_key(|told| told.at), "{all:?}");
    assert_eq!(tracee.status(), "0");
}

#[test]
fn it_costs_something() {
    let (cost, stops) = trace(|tracer| {
        let cost = tracer.cost().unwrap();
        assert!(matches!(tracer.next(), Ok(TracerEvent::Nobody)));
        (cost, tracer.stops())
    });
    assert!(cost.call > Duration::ZERO, "{cost:?}");
    // Two stops for each of its calls.
    assert!(stops >= 2 * u64::from(cost::CALLS) * cost::BATCHES as u64, "{stops}");
}

#[test]
fn who_rings_ends_the_wait_and_who_is_let_go_runs_on() {
    let mut tracee = Tracee::of("exit 3");
    trace(|tracer| {
        tracer.attach(tracee.process).unwrap();
        let bell = tracer.bell();
        let (heard, hears) = std::sync::mpsc::channel();
        let ringer = std::thread::spawn(move || {
            while hears.recv_timeout(Duration::from_millis(1)).is_err() {
                bell.ring();
            }
        });
        while !matches!(tracer.next().unwrap(), TracerEvent::Rung) {}
        heard.send(()).unwrap();
        ringer.join().unwrap();
        assert_eq!(tracer_of(tracee.process), Some(own_number()));
        tracer.release();
        assert_eq!(tracer_of(tracee.process), Some(0));
    });
    tracee.go();
    assert_eq!(tracee.status(), "3");
}

#[test]
fn signals_arrive_as_they_were_sent() {
    let mut tracee = Tracee::of("trap \"exit 7\" USR1; kill -USR1 $$; exit 1");
    let all = trace(|tracer| {
        tracer.attach(tracee.process).unwrap();
        tracee.go();
        all(tracer)
    });
    assert!(matches!(all.last().map(|told| told.did), Some(ThreadAction::End)));
    assert_eq!(tracee.status(), "7");
}

#[test]
fn what_is_not_there_is_not_traced() {
    trace(|tracer| {
        let error = tracer.attach(4_000_000_000).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(matches!(tracer.next(), Ok(TracerEvent::Nobody)));
    });
}

#[test]
fn who_is_attached_is_known_before_it_stops() {
    let mut tracee = Tracee::of("exit 4");
    trace(|tracer| {
        tracer.attach(tracee.process).unwrap();
        let known = tracer.known().unwrap();
        assert_eq!(
            (known.thread, known.did),
            (tracee.process, ThreadAction::Begin { is_process: true })
        );
        assert!(tracer.known().is_none());
        // The begin is reported once.
        tracee.go();
        let all = all(tracer);
        let begins = all.iter().filter(|told| matches!(told.did, ThreadAction::Begin { .. }));
        assert_eq!(begins.count(), 0, "{all:?}");
    });
    assert_eq!(tracee.status(), "4");
}
