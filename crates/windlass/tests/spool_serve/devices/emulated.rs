//! Devices of raw data, LPR and IPP that stall, answer late, break off and go away. They count what
//! comes to them.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use socket2::{Domain, SockRef, Socket, Type};
use windlass_wire::http::{Body, Headers, Request, Response};
use windlass_wire::ipp::{
    Attribute, Decoder, Group, GroupTag, Limits, Message, Operation, Status, Value, Version,
};

use super::super::server::PATIENCE;

/// A device takes so many bytes of a document before it does something else.
pub(super) const SOME: usize = 200_000;

/// The receive buffer of a device: what it does not read fills it soon.
const BUFFER: usize = 32 << 10;

/// The time after which Linux has acknowledged all that came (`TCP_DELACK_MAX`, 200 ms).
const LAST_ACK: std::time::Duration = std::time::Duration::from_millis(250);

/// The behaviour of a device at a connection that brings a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// The device accepts all data, and answers.
    Takes,
    /// The device accepts some data, waits for the gate, and accepts the rest.
    Stalls,
    /// The device accepts all data, waits for the gate, and answers.
    AnswersLate,
    /// The device accepts some data, and no more while the connection lasts.
    HangsWithin,
    /// The device accepts some data, and resets the connection.
    ResetsWithin,
    /// The device accepts all data, and resets the connection instead of an answer.
    ResetsBehind,
    /// A printer of IPP takes all, and aborts the job.
    Aborts,
    /// The device accepts the document, and a user cancels the job at its panel.
    Cancels,
    /// The device accepts the document, and prints until the gate opens.
    Prints,
}

/// The way to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Raw,
    Lpd,
    /// A printer that has Print-Job alone.
    Ipp,
    /// One with Create-Job, which tells how its jobs are.
    IppJobs,
}

/// Something that is closed at first.
#[derive(Clone, Default)]
pub(super) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(super) fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub(super) fn pass(&self) {
        let is_closed = |is_open: &mut bool| !*is_open;
        let waited = self.0.1.wait_timeout_while(self.0.0.lock().unwrap(), PATIENCE, is_closed);
        assert!(*waited.unwrap().0, "the gate does not open");
    }
}

/// The documents that came to a device.
#[derive(Clone, Debug, Default)]
struct Count {
    whole: usize,
    parts: usize,
}

/// A device that runs.
#[derive(Clone)]
pub(super) struct Device {
    pub(super) kind: Kind,
    pub(super) port: u16,
    pub(super) gate: Gate,
    /// Its behaviour at the connections that bring documents, in their order; at all others it
    /// takes what they bring.
    deeds: Arc<Mutex<VecDeque<Deed>>>,
    size: usize,
    count: Arc<Mutex<Count>>,
    /// The states of its jobs of IPP.
    jobs: Arc<Mutex<Vec<JobState>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobState {
    Held = 4,
    Processing = 5,
    Canceled = 7,
    Aborted = 8,
    Completed = 9,
}

impl Device {
    /// One that expects documents of a size. Without a port it is not there yet.
    pub(super) fn new(kind: Kind, deeds: &[Deed], size: usize, port: Option<u16>) -> Self {
        let mut device = Self {
            kind,
            port: 0,
            gate: Gate::default(),
            deeds: Arc::new(Mutex::new(deeds.iter().copied().collect())),
            size,
            count: Arc::default(),
            jobs: Arc::default(),
        };
        match port {
            Some(port) => device.port = port,
            None => device.listen(),
        }
        device
    }

    /// Is there from now on.
    pub(super) fn listen(&mut self) {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.set_recv_buffer_size(BUFFER).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], self.port)).into()).unwrap();
        socket.listen(128).unwrap();
        let listener = TcpListener::from(socket);
        self.port = listener.local_addr().unwrap().port();
        let device = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let device = device.clone();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                thread::spawn(move || device.serve(stream));
            }
        });
    }

    pub(super) fn uri(&self) -> String {
        let port = self.port;
        match self.kind {
            Kind::Raw => format!("socket://127.0.0.1:{port}"),
            Kind::Lpd => format!("lpd://127.0.0.1:{port}/q"),
            Kind::Ipp | Kind::IppJobs => format!("ipp://127.0.0.1:{port}/ipp/print"),
        }
    }

    /// Returns the number of whole documents that came, and of those that broke off.
    pub(super) fn came(&self) -> (usize, usize) {
        let count = self.count.lock().unwrap();
        (count.whole, count.parts)
    }

    fn serve(&self, mut stream: TcpStream) {
        // A connection that ends early is one that the server made and did not need.
        let _ = match self.kind {
            Kind::Raw => self.raw(&mut stream),
            Kind::Lpd => self.lpd(&mut stream),
            Kind::Ipp | Kind::IppJobs => self.ipp(&mut stream),
        };
    }

    fn next(&self) -> Deed {
        self.deeds.lock().unwrap().pop_front().unwrap_or(Deed::Takes)
    }

    /// Takes a document, whose end the device knows by its size or by that of the connection. Whether
    /// the connection goes on.
    fn take(&self, stream: &mut TcpStream, deed: Deed, already: usize) -> io::Result<bool> {
        let mut got = already;
        let took = self.take_some(stream, deed, &mut got);
        let mut count = self.count.lock().unwrap();
        if got == self.size {
            count.whole += 1;
        } else {
            count.parts += 1;
        }
        drop(count);
        let goes_on = took?;
        if deed == Deed::ResetsBehind {
            // A reset before the last ACK leaves open whether all came.
            thread::sleep(LAST_ACK);
        }
        if !goes_on || deed == Deed::ResetsBehind {
            SockRef::from(&*stream).set_linger(Some(std::time::Duration::ZERO))?;
            return Ok(false);
        }
        if deed == Deed::AnswersLate {
            self.gate.pass();
        }
        Ok(true)
    }

    fn take_some(&self, stream: &mut TcpStream, deed: Deed, got: &mut usize) -> io::Result<bool> {
        let mut piece = [0; 8 << 10];
        while *got < self.size {
            if *got >= SOME {
                match deed {
                    Deed::Stalls => self.gate.pass(),
                    Deed::ResetsWithin => return Ok(false),
                    Deed::HangsWithin => {
                        // A closed window stays closed: only the end of the connection is seen.
                        while stream.take_error()?.is_none() {
                            thread::sleep(std::time::Duration::from_millis(10));
                        }
                        return Ok(false);
                    }
                    _ => {}
                }
            }
            let most = piece.len().min(self.size - *got);
            match stream.read(&mut piece[..most])? {
                0 => return Ok(false),
                came => *got += came,
            }
        }
        Ok(true)
    }

    fn raw(&self, stream: &mut TcpStream) -> io::Result<()> {
        let deed = self.next();
        if self.take(stream, deed, 0)? {
            // All that comes behind it is its end.
            assert_eq!(stream.read(&mut [0])?, 0, "more than the document");
        }
        Ok(())
    }

    fn lpd(&self, stream: &mut TcpStream) -> io::Result<()> {
        let line = |stream: &mut TcpStream| -> io::Result<String> {
            let (mut line, mut byte) = (String::new(), [0]);
            loop {
                stream.read_exact(&mut byte)?;
                match byte {
                    [b'\n'] => return Ok(line),
                    [other] => line.push(char::from(other)),
                }
            }
        };
        line(stream)?;
        stream.write_all(&[0])?;
        let control = line(stream)?;
        let size: usize = control[1..].split(' ').next().unwrap().parse().unwrap();
        stream.write_all(&[0])?;
        stream.read_exact(&mut vec![0; size + 1])?;
        stream.write_all(&[0])?;
        line(stream)?;
        stream.write_all(&[0])?;
        let deed = self.next();
        if self.take(stream, deed, 0)? {
            stream.read_exact(&mut [0])?;
            stream.write_all(&[0])?;
            let _ = stream.read(&mut [0])?;
        }
        Ok(())
    }

    fn ipp(&self, stream: &mut TcpStream) -> io::Result<()> {
        let mut held = Vec::new();
        let mut piece = [0; 4_096];
        loop {
            let (request, used) = loop {
                match Request::decode(&held).unwrap() {
                    Some(found) => break found,
                    None => match stream.read(&mut piece)? {
                        0 => return Ok(()),
                        got => held.extend_from_slice(&piece[..got]),
                    },
                }
            };
            held.drain(..used);
            if request.waits() {
                stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
            let mut body = Body::new(request.body().unwrap());
            let mut decoder = Decoder::new(Limits::default());
            let mut data = 0;
            while decoder.needs() > 0 {
                if held.is_empty() {
                    match stream.read(&mut piece)? {
                        0 => return Ok(()),
                        got => held.extend_from_slice(&piece[..got]),
                    }
                }
                let taken = body.take(&held).unwrap();
                let used = decoder.take(taken.data).unwrap();
                data += taken.data.len() - used;
                let used = taken.used;
                held.drain(..used);
            }
            let message = decoder.message().unwrap();
            let operation = Operation(message.code);
            let brings = [Operation::PRINT_JOB, Operation::SEND_DOCUMENT].contains(&operation);
            let job = message.number(GroupTag::OPERATION, "job-id");
            if brings {
                let id = job.unwrap_or_else(|| self.create());
                let deed = self.next();
                data += held.len();
                held.clear();
                let whole = self.take(stream, deed, data);
                self.end(id, self.state_after(&whole, deed));
                if deed == Deed::Prints {
                    let device = self.clone();
                    thread::spawn(move || {
                        device.gate.pass();
                        device.finish(id);
                    });
                }
                if !whole? {
                    return Ok(());
                }
                self.answer(stream, &message, Some(id))?;
                continue;
            }
            let id = match operation {
                Operation::CREATE_JOB => Some(self.create()),
                _ => job,
            };
            if operation == Operation::CANCEL_JOB {
                let mut jobs = self.jobs.lock().unwrap();
                let state = &mut jobs[usize::try_from(id.unwrap()).unwrap() - 1];
                if [JobState::Held, JobState::Processing].contains(state) {
                    *state = JobState::Canceled;
                }
            }
            self.answer(stream, &message, id)?;
        }
    }

    /// The state of a job when its document has come, or does not come any more.
    fn state_after(&self, took: &io::Result<bool>, deed: Deed) -> JobState {
        match deed {
            Deed::ResetsBehind => JobState::Completed,
            _ if !matches!(took, Ok(true)) => JobState::Aborted,
            Deed::Aborts => JobState::Aborted,
            Deed::Cancels => JobState::Canceled,
            Deed::Prints => JobState::Processing,
            _ => JobState::Completed,
        }
    }

    /// Prints the rest of a job that nobody has canceled.
    fn finish(&self, id: i32) {
        let mut jobs = self.jobs.lock().unwrap();
        let state = &mut jobs[usize::try_from(id).unwrap() - 1];
        if *state == JobState::Processing {
            *state = JobState::Completed;
        }
    }

    /// Returns whether the last job is canceled.
    pub(super) fn is_canceled(&self) -> bool {
        self.jobs.lock().unwrap().last() == Some(&JobState::Canceled)
    }

    fn create(&self) -> i32 {
        let mut jobs = self.jobs.lock().unwrap();
        jobs.push(JobState::Held);
        i32::try_from(jobs.len()).unwrap()
    }

    fn end(&self, id: i32, state: JobState) {
        self.jobs.lock().unwrap()[usize::try_from(id).unwrap() - 1] = state;
    }

    fn answer(&self, stream: &mut TcpStream, to: &Message, job: Option<i32>) -> io::Result<()> {
        let mut answer = Message::request(Version(2, 0), Operation(Status::OK.0), to.request_id);
        if let Some(id) = job {
            let jobs = self.jobs.lock().unwrap();
            let state = jobs[usize::try_from(id).unwrap() - 1];
            let group = Group::new(GroupTag::JOB)
                .with("job-id", Value::Integer(id))
                .with("job-state", Value::Enum(state as i32))
                .with("job-state-reasons", Value::keyword("none"))
                .with("job-impressions-completed", Value::Integer(3));
            answer.groups.push(group);
        } else {
            let mut operations = vec![Operation::PRINT_JOB, Operation::GET_PRINTER_ATTRIBUTES];
            if self.kind == Kind::IppJobs {
                operations.extend([
                    Operation::CREATE_JOB,
                    Operation::SEND_DOCUMENT,
                    Operation::CANCEL_JOB,
                    Operation::GET_JOB_ATTRIBUTES,
                ]);
            }
            let values = operations.iter().map(|one| Value::Enum(i32::from(one.0))).collect();
            let mut group = Group::new(GroupTag::PRINTER)
                .with("printer-state-reasons", Value::keyword("media-low-report"));
            group.attributes.push(Attribute { name: "operations-supported".to_owned(), values });
            answer.groups.push(group);
        }
        let body = answer.encode().unwrap();
        let headers = Headers::default().with("Content-Type", "application/ipp");
        let head = Response::before(200, headers, body.len(), false);
        stream.write_all(&head.encode().unwrap())?;
        stream.write_all(&body)
    }
}
