//! An administrator who changes printers, classes and jobs while a server is killed: what was
//! answered holds after the next start.

use std::fmt::Debug;
use std::io;
use std::net::TcpStream;

use windlass_wire::ipp::{
    Attribute, CharKind, Group, GroupTag, Message, Operation, PrinterState, Status, Value,
};

use super::client::{about, about_job, ask, asked_on, job_id, print_job, said};
use super::crashes::{KnownJobs, data};

/// Printers that stay: one that is stopped, and two that print.
pub(super) const PRINTERS: [&str; 3] = ["held", "sent", "other"];

/// A class of those that print.
pub(super) const CLASS: &str = "pool";

/// A printer that comes and goes.
pub(super) const GUEST: &str = "guest";

/// Something of a server that is changed: what was answered for, and what was asked for since.
#[derive(Debug)]
struct Setting<T> {
    acknowledged: T,
    asked: Option<T>,
}

impl<T: Clone + PartialEq + Debug> Setting<T> {
    const fn new(now: T) -> Self {
        Self { acknowledged: now, asked: None }
    }

    /// Asks for a value by a request, which has to be answered with yes.
    fn set(&mut self, value: T, request: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.asked = Some(value);
        request()?;
        self.acknowledged = self.asked.take().unwrap();
        Ok(())
    }

    /// Goes on from what a server has after a start.
    fn is_found(&mut self, what: &str, found: T) {
        let asked = self.asked.take();
        assert!(
            found == self.acknowledged || Some(&found) == asked.as_ref(),
            "{what} is {found:?}, was {:?}, and {asked:?} was asked for",
            self.acknowledged
        );
        self.acknowledged = found;
    }
}

/// Knowledge of the administrator.
#[derive(Debug)]
pub(super) struct Changes {
    /// Description of the second printer.
    info: Setting<String>,
    /// The members of the class.
    members: Setting<Vec<String>>,
    /// True if the guest exists.
    guest: Setting<bool>,
    device: String,
    turns: usize,
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

impl Changes {
    /// Of a server whose guest's files go to a folder.
    pub(super) fn new(folder: &str) -> Self {
        Self {
            info: Setting::new("other".to_owned()),
            members: Setting::new(names(&["sent", "other"])),
            guest: Setting::new(false),
            device: format!("file:{folder}"),
            turns: 0,
        }
    }

    /// Looks at what a server has after a start.
    pub(super) fn are_found(&mut self, port: u16) {
        let asked =
            |name: &str| ask(port, &about(Operation::GET_PRINTER_ATTRIBUTES, port, name), b"");
        let other = asked("other");
        let info = other.text(GroupTag::PRINTER, "printer-info").unwrap();
        self.info.is_found("printer-info", info.into_owned());
        let class = asked(CLASS);
        let group = class.groups.iter().find(|group| group.tag == GroupTag::PRINTER).unwrap();
        let members = group.attributes.iter().find(|one| one.name == "member-names").unwrap();
        let members = members.values.iter().filter_map(Value::text);
        let members = members.map(std::borrow::Cow::into_owned).collect();
        self.members.is_found("member-names", members);
        let guest = Status(asked(GUEST).code);
        assert!([Status::OK, Status::NOT_FOUND].contains(&guest), "{guest}");
        self.guest.is_found("the guest", guest == Status::OK);
    }

    /// Returns whether the guest exists.
    pub(super) const fn has_guest(&self) -> bool {
        self.guest.acknowledged
    }

    /// Returns the number of changes.
    pub(super) const fn turns(&self) -> usize {
        self.turns
    }

    /// Changes something, and prints and moves a job: the next kind of it.
    pub(super) fn turn(
        &mut self,
        stream: &mut TcpStream,
        port: u16,
        known: &KnownJobs,
    ) -> io::Result<()> {
        self.turns += 1;
        let turns = self.turns;
        let mut done = |request: &Message| match Status(asked_on(stream, request, b"")?.code) {
            Status::OK => Ok(()),
            refused => Err(io::Error::other(format!("{request:?}: {refused}"))),
        };
        match turns % 5 {
            0 => {
                let info = format!("after {turns} turns");
                let request = changed(port, "other", |group| {
                    group.with("printer-info", Value::chars(CharKind::Text, info.clone()))
                });
                self.info.set(info, || done(&request))
            }
            1 => {
                let members =
                    names(if turns.is_multiple_of(2) { &["other"] } else { &["other", "sent"] });
                let mut request = about(Operation::CUPS_ADD_MODIFY_CLASS, port, CLASS);
                let values =
                    members.iter().map(|name| Value::chars(CharKind::Name, name)).collect();
                let attributes = vec![Attribute { name: "member-names".to_owned(), values }];
                request.groups.push(Group { tag: GroupTag::PRINTER, attributes });
                self.members.set(members, || done(&request))?;
                printed(stream, port, known, CLASS, &["sent", "other"]).map(|_| ())
            }
            // From a printer that is stopped, and from one that has it already.
            2 => moved(stream, port, known, ["held", "other"]),
            3 => moved(stream, port, known, ["sent", "other"]),
            _ => {
                let device = Value::chars(CharKind::Uri, self.device.clone());
                let request = changed(port, GUEST, |group| {
                    group
                        .with("device-uri", device)
                        .with("printer-state", Value::Enum(PrinterState::Idle.number()))
                        .with("printer-is-accepting-jobs", Value::Boolean(true))
                });
                self.guest.set(true, || done(&request))?;
                // Of a job that it had when the server was killed nobody knows whether it did it
                // already, so another printer might do it again.
                let jobs = about(Operation::GET_JOBS, port, GUEST);
                let is_job = |group: &Group| group.tag == GroupTag::JOB;
                while asked_on(stream, &jobs, b"")?.groups.iter().any(is_job) {}
                printed(stream, port, known, GUEST, &[GUEST, "sent"])?;
                let mut end = about(Operation::CUPS_DELETE_PRINTER, port, GUEST);
                said(&mut end, "job-printer-uri", uri(port, "sent"));
                self.guest.set(false, || match Status(asked_on(stream, &end, b"")?.code) {
                    Status::OK => Ok(()),
                    refused => Err(io::Error::other(format!("the guest stays: {refused}"))),
                })
            }
        }
    }
}

fn uri(port: u16, printer: &str) -> Value {
    Value::chars(CharKind::Uri, format!("ipp://127.0.0.1:{port}/printers/{printer}"))
}

/// A request to change a printer.
fn changed(port: u16, printer: &str, with: impl FnOnce(Group) -> Group) -> Message {
    let mut request = about(Operation::CUPS_ADD_MODIFY_PRINTER, port, printer);
    request.groups.push(with(Group::new(GroupTag::PRINTER)));
    request
}

/// Prints, and notes at which printers the job may come out: its numbers, the client's and the
/// server's.
fn printed(
    stream: &mut TcpStream,
    port: u16,
    known: &KnownJobs,
    printer: &str,
    at: &[&'static str],
) -> io::Result<(usize, i32)> {
    let id = known.next();
    let answer = asked_on(stream, &print_job(port, printer, &id.to_string()), &data(id))?;
    if answer.code != Status::OK.0 {
        return Err(io::Error::other(format!("{printer}: {}", Status(answer.code))));
    }
    known.is_acknowledged(id, at);
    Ok((id, job_id(&answer)))
}

/// Prints to a printer, and moves the job to another.
fn moved(
    stream: &mut TcpStream,
    port: u16,
    known: &KnownJobs,
    [from, to]: [&'static str; 2],
) -> io::Result<()> {
    let (id, job) = printed(stream, port, known, from, &[from, to])?;
    let mut request = about_job(Operation::CUPS_MOVE_JOB, port, from, job);
    said(&mut request, "job-printer-uri", uri(port, to));
    match Status(asked_on(stream, &request, b"")?.code) {
        Status::OK => known.is_acknowledged(id, &[to]),
        // It is over.
        Status::NOT_POSSIBLE => known.is_acknowledged(id, &[from]),
        refused => return Err(io::Error::other(format!("job {job} is not moved: {refused}"))),
    }
    Ok(())
}
