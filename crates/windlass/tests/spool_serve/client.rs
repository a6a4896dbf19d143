//! Small clients: IPP, LPR and raw data, one connection each.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};
use windlass_wire::http::{Body, Response};
use windlass_wire::ipp::{CharKind, Decoder, GroupTag, Limits, Message, Operation, Value, Version};

use super::server::PATIENCE;

/// A connection of which no test waits for ever.
pub(super) fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A connection from one of this host's many names, as if from another host.
pub(super) fn connect_from(host: usize, port: u16) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let host = Ipv4Addr::from(0x7f01_0000 + u32::try_from(host).unwrap());
    socket.bind(&SocketAddr::from((host, 0)).into()).unwrap();
    socket.connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into()).unwrap();
    socket.into()
}

/// A request about a printer of the server at a port.
pub(super) fn about(operation: Operation, port: u16, printer: &str) -> Message {
    let uri = format!("ipp://127.0.0.1:{port}/printers/{printer}");
    let mut message = Message::request(Version(2, 0), operation, 1);
    said(&mut message, "printer-uri", Value::chars(CharKind::Uri, uri));
    said(&mut message, "requesting-user-name", Value::chars(CharKind::Name, "tester"));
    message
}

/// Adds an operation attribute.
pub(super) fn said(message: &mut Message, name: &str, value: Value) {
    let first = message.groups.remove(0);
    message.groups.insert(0, first.with(name, value));
}

/// A request to print, with a name.
pub(super) fn print_job(port: u16, printer: &str, name: &str) -> Message {
    let mut message = about(Operation::PRINT_JOB, port, printer);
    said(&mut message, "job-name", Value::chars(CharKind::Name, name));
    message
}

/// A request about a job.
pub(super) fn about_job(operation: Operation, port: u16, printer: &str, job: i32) -> Message {
    let mut message = about(operation, port, printer);
    said(&mut message, "job-id", Value::Integer(job));
    message
}

/// Reads what is there. A socket with a timeout is interrupted where its process was stopped and
/// goes on (signal(7)), as a debugger or a freezer does it.
fn read(stream: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Reads an answer: its status, and its body.
pub(super) fn answer(stream: &mut impl Read) -> io::Result<(u16, Vec<u8>)> {
    let no = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut held = Vec::new();
    let mut piece = [0; 4_096];
    loop {
        let head = Response::decode(&held).map_err(|error| no(error.to_string()))?;
        if let Some((response, used)) = head {
            held.drain(..used);
            if response.is_interim() {
                continue;
            }
            let mut body = Body::new(response.body().map_err(|error| no(error.to_string()))?);
            let mut data = Vec::new();
            loop {
                while !held.is_empty() && !body.is_done() {
                    let taken = body.take(&held).map_err(|error| no(error.to_string()))?;
                    data.extend_from_slice(taken.data);
                    let used = taken.used;
                    if used == 0 {
                        break;
                    }
                    held.drain(..used);
                }
                if body.is_done() {
                    return Ok((response.status, data));
                }
                match read(stream, &mut piece)? {
                    0 => return Err(no("the answer is cut off".to_owned())),
                    got => held.extend_from_slice(&piece[..got]),
                }
            }
        }
        match read(stream, &mut piece)? {
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            got => held.extend_from_slice(&piece[..got]),
        }
    }
}

/// The message of a body.
pub(super) fn message(body: &[u8]) -> Message {
    let mut decoder = Decoder::new(Limits::default());
    decoder.take(body).unwrap();
    decoder.message().unwrap()
}

/// The head of a request with a body of so many bytes.
pub(super) fn head(length: usize) -> String {
    format!(
        "POST /ipp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/ipp\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

/// Sends a request with a document on a connection, and gives the answer.
pub(super) fn asked_on(
    stream: &mut TcpStream,
    request: &Message,
    document: &[u8],
) -> io::Result<Message> {
    let attributes = request.encode().unwrap();
    let mut octets = head(attributes.len() + document.len()).into_bytes();
    octets.extend_from_slice(&attributes);
    stream.write_all(&octets)?;
    stream.write_all(document)?;
    let (status, body) = answer(stream)?;
    if status != 200 {
        return Err(io::Error::other(format!("{status}")));
    }
    Ok(message(&body))
}

/// Sends a request on a new connection.
pub(super) fn ask(port: u16, request: &Message, document: &[u8]) -> Message {
    asked_on(&mut connect(port), request, document).unwrap()
}

/// The number of a job that was accepted.
pub(super) fn job_id(answer: &Message) -> i32 {
    let id = answer.number(GroupTag::JOB, "job-id");
    id.unwrap_or_else(|| panic!("{answer:?}"))
}

/// Prints by IPP: the number of the job.
pub(super) fn print(port: u16, printer: &str, name: &str, document: &[u8]) -> i32 {
    job_id(&ask(port, &print_job(port, printer, name), document))
}

/// A page: its status, and its text.
pub(super) fn get(port: u16, path: &str) -> (u16, String) {
    let mut stream = connect(port);
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let (status, body) = answer(&mut stream).unwrap();
    (status, String::from_utf8(body).unwrap())
}

/// The state of a job, as a word.
pub(super) fn state(port: u16, printer: &str, job: i32) -> Option<&'static str> {
    let asked = about_job(Operation::GET_JOB_ATTRIBUTES, port, printer, job);
    let number = ask(port, &asked, b"").number(GroupTag::JOB, "job-state")?;
    windlass_wire::ipp::JobState::new(number).map(windlass_wire::ipp::JobState::id)
}

/// A conversation of LPR.
pub(super) struct Lpr(pub(super) TcpStream);

impl Lpr {
    /// Begins a job for a queue, and gives what was answered to that.
    pub(super) fn begin(port: u16, queue: &str) -> (Self, Option<u8>) {
        let mut lpr = Self(connect(port));
        let said = lpr.say(format!("\x02{queue}\n").as_bytes());
        (lpr, said.ok().flatten())
    }

    /// Says something, and gives the byte that it is answered with.
    pub(super) fn say(&mut self, bytes: &[u8]) -> io::Result<Option<u8>> {
        self.0.write_all(bytes)?;
        let mut byte = [0];
        Ok(match read(&mut self.0, &mut byte)? {
            0 => None,
            _ => Some(byte[0]),
        })
    }

    /// Sends a control file.
    pub(super) fn control(&mut self, control: &str) -> io::Result<[Option<u8>; 2]> {
        let announced = self.say(format!("\x02{} cfA001host\n", control.len()).as_bytes())?;
        let mut bytes = control.as_bytes().to_vec();
        bytes.push(0);
        Ok([announced, self.say(&bytes)?])
    }

    /// Sends a data file of a known size.
    pub(super) fn data(&mut self, name: &str, data: &[u8]) -> io::Result<[Option<u8>; 2]> {
        let announced = self.say(format!("\x03{} {name}\n", data.len()).as_bytes())?;
        self.0.write_all(data)?;
        Ok([announced, self.say(&[0])?])
    }

    /// Sends a data file that ends with the connection, and waits for its end.
    pub(super) fn stream(mut self, size: &str, name: &str, data: &[u8]) -> io::Result<Vec<u8>> {
        let announced = self.say(format!("\x03{size} {name}\n").as_bytes())?;
        assert_eq!(announced, Some(0));
        self.0.write_all(data)?;
        self.0.shutdown(Shutdown::Write)?;
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest)?;
        Ok(rest)
    }
}

/// The control file of a job with these data files.
pub(super) fn control(name: &str, files: &[&str]) -> String {
    let mut text = format!("Hhost\nPtester\nJ{name}\n");
    for file in files {
        text.push_str(&format!("l{file}\nU{file}\nN{name}\n"));
    }
    text
}

/// Prints by LPR: whether it was acknowledged.
pub(super) fn lpr(port: u16, queue: &str, name: &str, data: &[u8]) -> io::Result<bool> {
    let mut talk = Lpr(TcpStream::connect(("127.0.0.1", port))?);
    talk.0.set_read_timeout(Some(PATIENCE))?;
    if talk.say(format!("\x02{queue}\n").as_bytes())? != Some(0) {
        return Ok(false);
    }
    if talk.control(&control(name, &["dfA001host"]))? != [Some(0); 2] {
        return Ok(false);
    }
    Ok(talk.data("dfA001host", data)? == [Some(0); 2])
}

/// Prints raw data, and waits for the end of the connection.
pub(super) fn raw(port: u16, data: &[u8]) -> io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(data)?;
    stream.shutdown(Shutdown::Write)?;
    match read(&mut stream, &mut [0])? {
        0 => Ok(()),
        _ => Err(io::Error::other("it says something")),
    }
}
