#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use windlass_wire::ipp::{
    Attribute, CharKind, Decoder, Group, GroupTag, Limits, Operation, Value, Version,
};

use super::*;
use crate::device::Device;
use crate::job::FiledDocument;
use crate::printer::PrinterSettings;
use crate::requester::{Peer, Rights};
use crate::table::{History, NextStep, Outcome, Rules};

#[path = "../../tests/support/at_once.rs"]
mod at_once;
#[path = "respond_tests/requesters.rs"]
mod requesters;
use at_once::at_once;

#[path = "administer_tests.rs"]
mod administered;

/// A server with a client that is asked by name and address.
struct Fixture {
    table: JobTable<u64>,
    now: Moment,
    requester: Requester,
    user: &'static str,
}

fn int(number: i32) -> Value {
    Value::Integer(number)
}

fn key(word: &str) -> Value {
    Value::keyword(word)
}

fn set(name: &str, values: Vec<Value>) -> Attribute {
    Attribute { name: name.to_owned(), values }
}

fn one(name: &str, value: Value) -> Attribute {
    Attribute::new(name, value)
}

const A: &str = "ipp://localhost:631/printers/a";
const ALL: &str = "ipp://localhost:631/";

/// Somebody who may print, and somebody who may administer, each by the name that he says.
static USER: Requester = Requester {
    peer: Peer::Network(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1)),
    user: None,
    rights: Rights { believed: true, ..Rights::USER },
    can_log_in: false,
};
static ADMIN: Requester = Requester {
    peer: Peer::Network(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1)),
    user: None,
    rights: Rights { believed: true, ..Rights::ALL },
    can_log_in: false,
};

/// Returns the context of a requester who may not administer.
fn context(now: Moment) -> Context<'static> {
    Context {
        authority: "h",
        path: "/",
        requester: &USER,
        is_encrypted: false,
        now,
        max_document: None,
    }
}

impl Fixture {
    fn new() -> Self {
        let mut b = PrinterSettings::new("b ü", Device::Command("secret".to_owned()));
        b.max_jobs = Some(1);
        b.formats = vec!["application/pdf".to_owned()];
        let rules = Rules { history: History::Last(10), keeps_documents: true, ..Rules::default() };
        let now = Moment(1_795_327_200_000);
        let table = JobTable::new(vec![PrinterSettings::new("a", Device::Drop), b], rules, now);
        Self { table, now, requester: USER.clone(), user: "ann" }
    }

    fn request(
        &self,
        operation: Operation,
        uri: &str,
        own: Vec<Attribute>,
        job: Vec<Attribute>,
    ) -> Message {
        let mut request = Message::request(Version(2, 0), operation, 7);
        let first = &mut request.groups[0];
        let name = if uri.contains("/jobs/") { "job-uri" } else { "printer-uri" };
        first.attributes.push(one(name, Value::chars(CharKind::Uri, uri)));
        let user = Value::chars(CharKind::Name, self.user);
        first.attributes.push(one("requesting-user-name", user));
        first.attributes.extend(own);
        if !job.is_empty() {
            request.groups.push(Group { tag: GroupTag::JOB, attributes: job });
        }
        request
    }

    fn answer(&mut self, request: &Message) -> Message {
        let context = Context {
            authority: "localhost:631",
            requester: &self.requester,
            max_document: Some(1 << 20),
            ..context(self.now)
        };
        let answer = match respond(request, &mut self.table, &context) {
            RequestStep::Answer(answer) | RequestStep::Created { answer, .. } => answer,
            RequestStep::List(mut listing) => {
                let mut answer = listing.head.clone();
                while let Some(groups) = listing.page(&self.table, &context) {
                    answer.groups.extend(groups);
                }
                answer
            }
            RequestStep::Receive(receive) => at_once(&receive, &mut self.table, &context),
        };
        // It goes over the wire as it is.
        let octets = answer.encode().unwrap();
        let mut decoder = Decoder::new(Limits::default());
        assert_eq!(decoder.take(&octets), Ok(octets.len()));
        assert_eq!(decoder.message().as_ref(), Some(&answer));
        answer
    }

    fn ask(&mut self, operation: Operation, uri: &str, own: Vec<Attribute>) -> Message {
        let request = self.request(operation, uri, own, Vec::new());
        self.answer(&request)
    }

    fn ask_job(
        &mut self,
        operation: Operation,
        id: JobId,
        own: Vec<Attribute>,
        job: Vec<Attribute>,
    ) -> String {
        let uri = format!("ipp://localhost:631/jobs/{id}");
        let request = self.request(operation, &uri, own, job);
        let answer = self.answer(&request);
        format!("{}; {}", said(&answer), self.phase(id))
    }

    fn print(&mut self, uri: &str) -> JobId {
        let answer = self.ask(Operation::PRINT_JOB, uri, Vec::new());
        assert_eq!(answer.code, Status::OK.0, "{}", said(&answer));
        JobId::try_from(answer.number(GroupTag::JOB, "job-id").unwrap()).unwrap()
    }

    fn phase(&self, id: JobId) -> String {
        self.table.job(id).map_or("no job".to_owned(), |job| {
            format!("{} {}", job.state().id(), job.ticket.priority)
        })
    }

    fn ids(&mut self, uri: &str, own: Vec<Attribute>) -> Vec<i32> {
        let answer = self.ask(Operation::GET_JOBS, uri, own);
        assert_eq!(answer.code, Status::OK.0, "{}", said(&answer));
        let groups = answer.groups.iter().filter(|group| group.tag == GroupTag::JOB);
        groups.map(|group| group.attribute("job-id").unwrap().values[0].number().unwrap()).collect()
    }

    fn delivers(&mut self, place: usize) {
        assert!(matches!(self.table.next(place, self.now), NextStep::Job(_)));
        self.table.finished(place, Outcome::Delivered, self.now);
    }
}

/// The status and the sentence of an answer.
fn said(answer: &Message) -> String {
    let why = answer.text(GroupTag::OPERATION, "status-message");
    let mut text = Status(answer.code).to_string();
    if let Some(why) = why {
        write!(text, ": {why}").unwrap();
    }
    if let Some(group) = answer.group(GroupTag::UNSUPPORTED) {
        let names: Vec<_> = group.attributes.iter().map(attribute).collect();
        write!(text, " [{}]", names.join(", ")).unwrap();
    }
    text
}

fn value(value: &Value) -> String {
    match value {
        Value::OutOfBand(why) => format!("<{why:?}>"),
        Value::Integer(number) => number.to_string(),
        Value::Enum(number) => format!("#{number}"),
        Value::Boolean(yes) => yes.to_string(),
        Value::Octets(octets) => format!("{octets:?}"),
        Value::DateTime([y, z, month, day, hour, minute, second, ..]) => {
            let year = u16::from_be_bytes([*y, *z]);
            format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
        }
        Value::Resolution { cross, feed, units } => format!("{cross}x{feed} in {units}"),
        Value::Range(from, to) => format!("{from}..{to}"),
        Value::Collection(members) => {
            let members: Vec<_> = members.iter().map(attribute).collect();
            format!("{{{}}}", members.join("; "))
        }
        Value::Chars(..) | Value::WithLanguage { .. } => format!("{:?}", value.text().unwrap()),
        Value::Other(tag, octets) => format!("{tag}: {octets:?}"),
    }
}

fn attribute(attribute: &Attribute) -> String {
    let values: Vec<_> = attribute.values.iter().map(value).collect();
    format!("{} = {}", attribute.name, values.join(", "))
}

/// An attribute to a line.
fn lines(group: &Group) -> String {
    group.attributes.iter().fold(String::new(), |text, one| text + &attribute(one) + "\n")
}

#[test]
fn all_that_a_printer_says() {
    let mut fixture = Fixture::new();
    fixture.print(A);
    let answer = fixture.ask(Operation::GET_PRINTER_ATTRIBUTES, A, Vec::new());
    assert_eq!(said(&answer), "successful-ok");
    insta::assert_snapshot!(lines(answer.group(GroupTag::PRINTER).unwrap()));
}

#[test]
fn all_that_a_job_says() {
    let mut fixture = Fixture::new();
    let own = vec![
        one("job-name", Value::chars(CharKind::Name, "Jahresbericht ü")),
        one("document-name", Value::chars(CharKind::Name, "bericht.pdf")),
        one("document-format", Value::chars(CharKind::MediaType, "application/PDF; v=2")),
    ];
    let job = vec![
        one("job-priority", int(80)),
        one("copies", int(2)),
        set("finishings", vec![Value::Enum(3), Value::Enum(4)]),
    ];
    let request = fixture.request(Operation::PRINT_JOB, A, own, job);
    fixture.answer(&request);
    let uri = "ipp://localhost:631/jobs/1";
    let answer = fixture.ask(Operation::GET_JOB_ATTRIBUTES, uri, Vec::new());
    insta::assert_snapshot!(lines(answer.group(GroupTag::JOB).unwrap()));
}

#[test]
fn what_is_asked_for_is_answered() {
    let mut fixture = Fixture::new();
    let id = fixture.print(A);
    let names = |answer: &Message, tag| {
        let group = answer.group(tag).unwrap();
        group.attributes.iter().map(|one| one.name.clone()).collect::<Vec<_>>()
    };
    let asked = |words: &[&str]| {
        vec![set("requested-attributes", words.iter().map(|one| key(one)).collect())]
    };
    let mut printer = |words: &[&str]| {
        let answer = fixture.ask(Operation::GET_PRINTER_ATTRIBUTES, A, asked(words));
        names(&answer, GroupTag::PRINTER)
    };
    assert_eq!(printer(&["printer-state", "copies-default"]), ["printer-state", "copies-default"]);
    assert_eq!(printer(&["no-such"]), Vec::<String>::new());
    let (description, template) = (printer(&["printer-description"]), printer(&["job-template"]));
    assert!(description.contains(&"printer-state".to_owned()));
    assert!(template.contains(&"copies-supported".to_owned()));
    assert!(!template.iter().any(|one| description.contains(one)));
    assert_eq!(printer(&["all"]).len(), description.len() + template.len());
    // It is long, and only who names it has use for it (PWG 5100.7, section 6.9).
    assert!(!printer(&["all"]).contains(&"media-col-database".to_owned()));
    assert_eq!(printer(&["media-col-database"]), ["media-col-database"]);
    let uri = format!("ipp://localhost:631/jobs/{id}");
    let mut job = |words: &[&str]| {
        let answer = fixture.ask(Operation::GET_JOB_ATTRIBUTES, &uri, asked(words));
        names(&answer, GroupTag::JOB)
    };
    assert_eq!(job(&["job-state", "job-priority"]), ["job-state", "job-priority"]);
    assert_eq!(job(&["job-template"]), ["job-priority", "job-hold-until", "job-sheets"]);
    assert_eq!(job(&["all"]).len(), job(&["job-description", "job-template"]).len());
    // A list has no more than is needed to ask for more.
    let answer = fixture.ask(Operation::GET_JOBS, A, Vec::new());
    assert_eq!(names(&answer, GroupTag::JOB), ["job-id", "job-uri"]);
}

#[test]
fn each_operation_as_it_should_be() {
    let mut fixture = Fixture::new();
    fixture.requester = ADMIN.clone();
    let mut table = String::new();
    let mut put = |line: String| writeln!(table, "{line}").unwrap();
    let last = || vec![one("last-document", Value::Boolean(true))];
    fixture.print(A);
    let answer = fixture.ask(Operation::CREATE_JOB, A, Vec::new());
    put(format!("Create-Job: {}\n{}", said(&answer), lines(&answer.groups[1])));
    put(format!("Send-Document: {}", fixture.ask_job(Operation::SEND_DOCUMENT, 2, last(), vec![])));
    fixture.ask(Operation::CREATE_JOB, A, Vec::new());
    put(format!("Close-Job: {}", fixture.ask_job(Operation::CLOSE_JOB, 3, vec![], vec![])));
    for operation in
        [Operation::HOLD_JOB, Operation::RELEASE_JOB, Operation::CANCEL_JOB, Operation::RESTART_JOB]
    {
        put(format!("{operation}: {}", fixture.ask_job(operation, 1, vec![], vec![])));
    }
    let changes = vec![one("job-priority", int(70)), one("job-hold-until", key("indefinite"))];
    let set = fixture.ask_job(Operation::SET_JOB_ATTRIBUTES, 1, vec![], changes);
    put(format!("Set-Job-Attributes: {set}"));
    let held = vec![one("job-hold-until", key("no-hold"))];
    put(format!(
        "Hold-Job until no-hold: {}",
        fixture.ask_job(Operation::HOLD_JOB, 1, held, vec![])
    ));
    for operation in [
        Operation::VALIDATE_JOB,
        Operation::PAUSE_PRINTER,
        Operation::RESUME_PRINTER,
        Operation::DISABLE_PRINTER,
        Operation::ENABLE_PRINTER,
        Operation::CUPS_REJECT_JOBS,
        Operation::CUPS_ACCEPT_JOBS,
        Operation::IDENTIFY_PRINTER,
        Operation::CUPS_GET_DEFAULT,
        Operation::CUPS_GET_PRINTERS,
        Operation::CUPS_GET_CLASSES,
        Operation::CANCEL_MY_JOBS,
        Operation::CANCEL_JOBS,
        Operation::PURGE_JOBS,
    ] {
        let answer = fixture.ask(operation, A, Vec::new());
        let printer = &fixture.table.printers()[0];
        put(format!(
            "{operation}: {}; {} groups; printer {} {}; {} live, {} over",
            said(&answer),
            answer.groups.len(),
            printer.stopped.as_deref().unwrap_or("runs"),
            if printer.is_accepting { "accepts" } else { "rejects" },
            printer.live.len(),
            printer.over.len(),
        ));
    }
    insta::assert_snapshot!(table);
}

#[test]
fn each_refusal_has_its_status_and_its_words() {
    let mut fixture = Fixture::new();
    let mut table = String::new();
    let mut put = |what: &str, answer: &Message| {
        writeln!(table, "{what}\n    {}", said(answer)).unwrap();
    };
    let id = fixture.print(A);
    let job = format!("ipp://localhost:631/jobs/{id}");

    let good = fixture.request(Operation::VALIDATE_JOB, A, Vec::new(), Vec::new());
    let mut broken = |what: &str, change: &dyn Fn(&mut Message)| {
        let mut request = good.clone();
        change(&mut request);
        put(what, &fixture.answer(&request));
    };
    broken("version 0.9", &|one| one.version = Version(0, 9));
    broken("version 3.0", &|one| one.version = Version(3, 0));
    broken("number 0", &|one| one.request_id = 0);
    broken("no groups", &|one| one.groups.clear());
    broken("a job group first", &|one| one.groups[0].tag = GroupTag::JOB);
    broken("no charset", &|one| drop(one.groups[0].attributes.remove(0)));
    broken("a language before the charset", &|one| one.groups[0].attributes.swap(0, 1));
    broken("another charset", &|one| {
        one.groups[0].attributes[0].values = vec![Value::chars(CharKind::Charset, "utf-16")];
    });
    broken("no printer-uri", &|one| drop(one.groups[0].attributes.remove(2)));
    broken("an unknown operation", &|one| one.code = 0x3fff);

    let kind = |kind, text: &str| Value::chars(kind, text);
    let mut asked = |what: &str, operation, uri: &str, own: Vec<Attribute>| {
        put(what, &fixture.ask(operation, uri, own));
    };
    let pdf = || vec![one("document-format", kind(CharKind::MediaType, "text/x-other"))];
    asked("no such printer", Operation::PRINT_JOB, "ipp://h/printers/c", vec![]);
    asked("no printer at a path", Operation::PRINT_JOB, "ipp://h/elsewhere", vec![]);
    asked("a job for the server", Operation::PRINT_JOB, ALL, vec![]);
    asked("a format", Operation::PRINT_JOB, A, pdf());
    let other = vec![one("compression", key("compress"))];
    asked("a compression", Operation::PRINT_JOB, A, other);
    let long = vec![one("job-k-octets", int(1_025))];
    asked("too long by its own word", Operation::PRINT_JOB, A, long);
    asked("no last-document", Operation::SEND_DOCUMENT, &job, vec![]);
    let last = || vec![one("last-document", Value::Boolean(true))];
    asked("a document for a whole job", Operation::SEND_DOCUMENT, &job, last());
    asked("no such job", Operation::CANCEL_JOB, "ipp://h/jobs/99", vec![]);
    asked("a job-uri that is none", Operation::CANCEL_JOB, "ipp://h/jobs/x", vec![]);
    asked("no job-id", Operation::CANCEL_JOB, A, vec![]);
    asked("a negative job-id", Operation::CANCEL_JOB, A, vec![one("job-id", int(-1))]);
    let b = "ipp://h/printers/b%20%c3%bc";
    let own = || vec![one("job-id", int(1))];
    asked("a job of another printer", Operation::GET_JOB_ATTRIBUTES, b, own());
    asked("a set of jobs", Operation::GET_JOBS, A, vec![one("which-jobs", key("odd"))]);
    asked("a job to restart", Operation::RESTART_JOB, &job, vec![]);
    for operation in [
        Operation::PAUSE_PRINTER,
        Operation::RESUME_PRINTER,
        Operation::PURGE_JOBS,
        Operation::ENABLE_PRINTER,
        Operation::DISABLE_PRINTER,
        Operation::CANCEL_JOBS,
        Operation::CUPS_ACCEPT_JOBS,
        Operation::CUPS_REJECT_JOBS,
    ] {
        asked(&format!("{operation} by a user"), operation, A, vec![]);
    }
    for (what, job) in [
        ("no copies", one("copies", int(0))),
        ("more copies than there may be", one("copies", int(1_000))),
        ("copies in words", one("copies", key("two"))),
    ] {
        let request = fixture.request(Operation::PRINT_JOB, A, Vec::new(), vec![job]);
        put(what, &fixture.answer(&request));
    }
    let own = vec![one("document-format", kind(CharKind::MediaType, "application/pdf"))];
    let pages = vec![one("page-ranges", Value::Range(1, 3))];
    let request = fixture.request(Operation::PRINT_JOB, "ipp://h/printers/b%20ü", own, pages);
    put("pages of a device that gets the data alone", &fixture.answer(&request));
    let long = vec![one("x", Value::Octets(vec![0; 17_000]))];
    let request = fixture.request(Operation::PRINT_JOB, A, Vec::new(), long);
    put("a long template", &fixture.answer(&request));
    let set = |name: &str, value| vec![one("job-priority", int(90)), one(name, value)];
    for (what, job) in [
        ("what cannot be set", set("copies", int(2))),
        ("a priority that is none", vec![one("job-priority", int(101))]),
        ("a hold that is none", set("job-hold-until", int(1))),
    ] {
        let uri = format!("ipp://h/jobs/{id}");
        let request = fixture.request(Operation::SET_JOB_ATTRIBUTES, &uri, Vec::new(), job);
        put(what, &fixture.answer(&request));
    }
    // None of that changed it.
    assert_eq!(fixture.phase(id), "pending 50");
    let b = |fixture: &mut Fixture| {
        let pdf = vec![one("document-format", kind(CharKind::MediaType, "application/pdf"))];
        fixture.ask(Operation::CREATE_JOB, b, pdf)
    };
    b(&mut fixture);
    put("a second job where one is taken", &b(&mut fixture));
    fixture.table.accept(0, false, fixture.now);
    put("a printer that rejects", &fixture.ask(Operation::PRINT_JOB, A, vec![]));
    fixture.user = "bob";
    for operation in [
        Operation::CANCEL_JOB,
        Operation::HOLD_JOB,
        Operation::RELEASE_JOB,
        Operation::RESTART_JOB,
        Operation::SET_JOB_ATTRIBUTES,
        Operation::SEND_DOCUMENT,
        Operation::CLOSE_JOB,
    ] {
        put(&format!("{operation} of another's"), &fixture.ask(operation, &job, last()));
    }
    fixture.delivers(0);
    fixture.user = "ann";
    put("Cancel-Job of one that is over", &fixture.ask(Operation::CANCEL_JOB, &job, vec![]));
    insta::assert_snapshot!(table);
}

#[test]
fn printers_and_jobs_are_found_by_their_uris() {
    let mut fixture = Fixture::new();
    let mut found = |uri: &str| {
        let wanted = vec![one("requested-attributes", key("printer-name"))];
        let answer = fixture.ask(Operation::GET_PRINTER_ATTRIBUTES, uri, wanted);
        let name = answer.text(GroupTag::PRINTER, "printer-name");
        name.map_or_else(|| said(&answer), std::borrow::Cow::into_owned)
    };
    for (uri, name) in [
        ("ipp://h/printers/a", "a"),
        ("ipp://h:631/printers/a/", "a"),
        ("ipp://[::1]/classes/a?x#y", "a"),
        ("ipps://h/ipp/print/a", "a"),
        ("ipp://h/ipp/print", "a"),
        ("ipp://h/printers/%61", "a"),
        ("ipp://h/printers/b%20ü", "b ü"),
        ("ipp://h/printers/b%20%C3%BC", "b ü"),
        ("http://h/ipp/print/b ü", "b ü"),
    ] {
        assert_eq!(found(uri), name, "{uri}");
    }
    for uri in ["ipp://h/printers/", "ipp://h", "ipp://h/printers/a/b", "ipp://h/printers/%+5"] {
        assert!(found(uri).starts_with("client-error-not-found"), "{uri}: {}", found(uri));
    }
    // A text that is no URI counts as the path of the request: the server's own.
    assert!(found("a").starts_with("client-error-not-found"));
    // The URIs that are given can be asked for.
    let printer = fixture.ask(Operation::CUPS_GET_PRINTERS, ALL, Vec::new()).groups.pop().unwrap();
    let uri = printer.attribute("printer-uri-supported").unwrap().values[0].text().unwrap();
    assert_eq!(uri, "ipp://localhost:631/printers/b%20%C3%BC");
    assert!(!lines(&printer).contains("secret"));
}

#[test]
fn lists_of_jobs_are_those_that_are_asked_for() {
    let mut fixture = Fixture::new();
    for user in ["ann", "bob", "ann", "bob", "ann", "ann"] {
        fixture.user = user;
        fixture.print(A);
    }
    fixture.delivers(0);
    fixture.delivers(0);
    fixture.table.hold(4).unwrap();
    fixture.table.next(0, fixture.now);
    fixture.table.cancel(5, fixture.now).unwrap();
    let pdf = Value::chars(CharKind::MediaType, "application/pdf");
    fixture.ask(Operation::CREATE_JOB, "ipp://h/printers/b%20ü", vec![one("document-format", pdf)]);
    let which = |word: &str| vec![one("which-jobs", key(word))];
    for (set, ids) in [
        ("completed", vec![5, 2, 1]),
        ("not-completed", vec![3, 4, 6]),
        ("all", vec![1, 2, 3, 4, 5, 6]),
        ("canceled", vec![5]),
        ("aborted", vec![]),
        ("pending", vec![6]),
        ("pending-held", vec![4]),
        ("processing", vec![3]),
        ("processing-stopped", vec![]),
        ("fetchable", vec![]),
    ] {
        assert_eq!(fixture.ids(A, which(set)), ids, "{set}");
    }
    assert_eq!(fixture.ids(A, vec![]), [3, 4, 6]);
    assert_eq!(fixture.ids(ALL, vec![]), [3, 4, 6, 7]);
    assert_eq!(fixture.ids(ALL, which("completed")), [5, 2, 1]);
    let all = |own: Attribute| [which("all"), vec![own]].concat();
    assert_eq!(fixture.ids(A, all(one("limit", int(2)))), [1, 2]);
    assert_eq!(fixture.ids(A, all(one("limit", int(0)))), [1, 2, 3, 4, 5, 6]);
    assert_eq!(fixture.ids(A, all(one("first-job-id", int(4)))), [4, 5, 6]);
    assert_eq!(fixture.ids(A, all(one("my-jobs", Value::Boolean(true)))), [1, 3, 5, 6]);
    // The limit counts what is given, and not what is passed over.
    let mut own = all(one("my-jobs", Value::Boolean(true)));
    own.push(one("limit", int(3)));
    assert_eq!(fixture.ids(A, own), [1, 3, 5]);
    let named = |ids: &[i32]| vec![set("job-ids", ids.iter().map(|id| int(*id)).collect())];
    assert_eq!(fixture.ids(A, named(&[6, 1, 99, -3])), [6, 1]);
    // Those of another printer are not there.
    assert_eq!(fixture.ids(A, named(&[7, 1])), [1]);
}

#[test]
fn a_long_list_comes_in_pages() {
    let mut fixture = Fixture::new();
    for _ in 0..2_500 {
        fixture.print(A);
    }
    let request = fixture.request(Operation::GET_JOBS, A, Vec::new(), Vec::new());
    let context = context(fixture.now);
    let RequestStep::List(mut listing) = respond(&request, &mut fixture.table, &context) else {
        panic!("it is a list")
    };
    let mut pages = Vec::new();
    while let Some(page) = listing.page(&fixture.table, &context) {
        pages.push(page.len());
        // A job that ends in between is not in the rest of the list.
        let _ = fixture.table.cancel(1_500, fixture.now);
    }
    assert_eq!(pages, [1_000, 999, 500]);
}

#[test]
fn canceling_several_jobs_is_all_or_none() {
    let mut fixture = Fixture::new();
    for user in ["ann", "bob", "ann"] {
        fixture.user = user;
        fixture.print(A);
    }
    let named = |ids: &[i32]| vec![set("job-ids", ids.iter().map(|id| int(*id)).collect())];
    let states =
        |fixture: &Fixture| [1, 2, 3].map(|id| fixture.table.job(id).unwrap().state().id());
    fixture.user = "ann";
    let no = fixture.ask(Operation::CANCEL_MY_JOBS, A, named(&[1, 2]));
    assert_eq!(said(&no), "client-error-not-authorized: job 2 belongs to another user");
    let no = fixture.ask(Operation::CANCEL_MY_JOBS, A, named(&[1, 9]));
    assert_eq!(said(&no), "client-error-not-found: there is no job 9");
    fixture.requester = ADMIN.clone();
    // A job of this printer is none of the other's.
    let b = "ipp://h/printers/b%20ü";
    let no = fixture.ask(Operation::CANCEL_JOBS, b, named(&[1]));
    assert_eq!(said(&no), "client-error-not-found: there is no job 1");
    assert_eq!(states(&fixture), ["pending"; 3]);
    let yes = fixture.ask(Operation::CANCEL_JOBS, ALL, named(&[1, 2]));
    assert_eq!(said(&yes), "successful-ok");
    assert_eq!(states(&fixture), ["canceled", "canceled", "pending"]);
    let no = fixture.ask(Operation::CANCEL_JOBS, A, named(&[3, 1]));
    assert_eq!(said(&no), "client-error-not-possible: job 1 is canceled: it is already finished");
    assert_eq!(states(&fixture), ["canceled", "canceled", "pending"]);
    // Without names: his own, and what a printer has is over when it gives it back.
    fixture.table.next(0, fixture.now);
    fixture.print(A);
    fixture.user = "bob";
    fixture.ask(Operation::CANCEL_MY_JOBS, A, Vec::new());
    assert_eq!(states(&fixture)[2], "processing");
    fixture.user = "ann";
    let request = fixture.request(Operation::CANCEL_MY_JOBS, A, Vec::new(), Vec::new());
    let context = context(fixture.now);
    fixture.table.orders();
    let RequestStep::Answer(_) = respond(&request, &mut fixture.table, &context) else {
        panic!("it is done")
    };
    assert_eq!(fixture.table.orders().break_off, [0]);
    assert_eq!(fixture.table.job(4).unwrap().state().id(), "canceled");
    assert_eq!(fixture.table.job(3).unwrap().reason(), "processing-to-stop-point");
}

#[test]
fn what_a_job_is_said_with_its_document() {
    let mut fixture = Fixture::new();
    fixture.ask(Operation::CREATE_JOB, A, Vec::new());
    let format = |fixture: &Fixture| fixture.table.job(1).unwrap().ticket.format.to_string();
    assert_eq!(format(&fixture), "application/octet-stream");
    let own = vec![
        one("last-document", Value::Boolean(true)),
        one("document-format", Value::chars(CharKind::MediaType, "application/pdf")),
    ];
    fixture.ask_job(Operation::SEND_DOCUMENT, 1, own, Vec::new());
    assert_eq!(format(&fixture), "application/pdf");
}

#[test]
fn copies_and_their_order_are_as_the_job_asks() {
    let mut fixture = Fixture::new();
    let mut of = |own: Vec<Attribute>| {
        let request = fixture.request(Operation::PRINT_JOB, A, Vec::new(), own);
        let answer = fixture.answer(&request);
        assert_eq!(said(&answer), "successful-ok");
        let id = answer.number(GroupTag::JOB, "job-id").unwrap();
        let ticket = &fixture.table.job(JobId::try_from(id).unwrap()).unwrap().ticket;
        (ticket.copies, ticket.is_collated)
    };
    let handling = |word: &str| one("multiple-document-handling", key(word));
    assert_eq!(of(vec![]), (1, false));
    assert_eq!(of(vec![one("copies", int(999))]), (999, false));
    for (word, is_collated) in [
        ("separate-documents-uncollated-copies", false),
        ("separate-documents-collated-copies", true),
        ("single-document", true),
        ("single-document-new-sheet", true),
    ] {
        assert_eq!(of(vec![one("copies", int(2)), handling(word)]), (2, is_collated), "{word}");
    }
    // A device that discards its jobs accepts any page ranges.
    assert_eq!(of(vec![one("page-ranges", Value::Range(1, 3))]), (1, false));
    // A device that gets only data accepts a range of all pages.
    let b = "ipp://h/printers/b%20ü";
    let own = vec![one("document-format", Value::chars(CharKind::MediaType, "application/pdf"))];
    let pages = vec![one("page-ranges", Value::Range(1, i32::MAX))];
    let request = fixture.request(Operation::PRINT_JOB, b, own, pages);
    assert_eq!(said(&fixture.answer(&request)), "successful-ok");
    let answer = fixture.ask(Operation::GET_PRINTER_ATTRIBUTES, b, Vec::new());
    assert!(
        lines(answer.group(GroupTag::PRINTER).unwrap()).contains("page-ranges-supported = false")
    );
}

#[test]
fn what_cannot_be_kept_is_taken_back() {
    let mut fixture = Fixture::new();
    let context = context(fixture.now);
    for operation in [Operation::CREATE_JOB, Operation::PRINT_JOB] {
        let request = fixture.request(operation, A, Vec::new(), Vec::new());
        let step = respond(&request, &mut fixture.table, &context);
        assert_eq!(fixture.table.active(), 1);
        step.undo(&mut fixture.table);
        assert_eq!(fixture.table.active(), 0, "{operation}");
    }
    assert_eq!(fixture.table.known(None, 0).count(), 0);
}

#[test]
fn values_are_as_long_as_the_protocol_allows() {
    let mut fixture = Fixture::new();
    let long = Value::Chars(CharKind::Name, "ü".repeat(300).into_bytes());
    let own = vec![one("job-name", long.clone()), one("document-name", long)];
    fixture.ask(Operation::PRINT_JOB, A, own);
    let answer = fixture.ask(Operation::GET_JOB_ATTRIBUTES, "ipp://h/jobs/1", Vec::new());
    let name = answer.text(GroupTag::JOB, "job-name").unwrap();
    assert_eq!((name.len(), name.chars().count()), (254, 127));
}
