//! Requests of administrators, unsupported job attributes, and deceptive names.

use super::*;
use crate::table::ChangeKind;

const NEW: &str = "ipp://localhost:631/printers/new";
const POOL: &str = "ipp://localhost:631/classes/pool";

fn of_printer(operation: Operation, uri: &str, attributes: Vec<Attribute>) -> Message {
    let fixture = Fixture::new();
    let mut request = fixture.request(operation, uri, Vec::new(), Vec::new());
    request.groups.push(Group { tag: GroupTag::PRINTER, attributes });
    request
}

fn uri(text: &str) -> Value {
    Value::chars(CharKind::Uri, text)
}

fn text(text: &str) -> Value {
    Value::chars(CharKind::Text, text)
}

#[test]
fn each_change_has_its_answer() {
    let mut fixture = Fixture::new();
    fixture.requester = ADMIN.clone();
    let device = |device: &str| one("device-uri", uri(device));
    let add = Operation::CUPS_ADD_MODIFY_PRINTER;
    let class = Operation::CUPS_ADD_MODIFY_CLASS;
    let runs = || vec![one("printer-state", Value::Enum(3))];
    let with = |mut more: Vec<Attribute>, one: Attribute| {
        more.push(one);
        more
    };
    let members = |names: &[&str]| {
        set("member-names", names.iter().map(|name| Value::chars(CharKind::Name, name)).collect())
    };
    let mut table = String::new();
    for (what, operation, uri, attributes) in [
        ("a new one without a device", add, NEW, runs()),
        ("a command", add, NEW, vec![device("exec:rm -rf /")]),
        ("a file", add, NEW, vec![device("file:///etc/passwd")]),
        ("no device", add, NEW, vec![device("tape:/x")]),
        ("no name", add, "ipp://localhost:631/printers/.x", vec![device("socket://192.0.2.9")]),
        (
            "a path that is none",
            add,
            "ipp://localhost:631/jobs/7",
            vec![device("file:///dev/null")],
        ),
        ("a new one", add, NEW, vec![device("socket://192.0.2.9")]),
        ("it runs", add, NEW, with(runs(), one("printer-is-accepting-jobs", Value::Boolean(true)))),
        ("a policy that is none", add, NEW, vec![one("printer-error-policy", text("ignore"))]),
        ("a port that is none", add, NEW, vec![one("windlass-raw", text("here"))]),
        ("what is not known", add, NEW, vec![one("port-monitor", text("bcp"))]),
        ("a driver", add, NEW, vec![one("ppd-name", text("drv:///sample.drv/generic.ppd"))]),
        ("none", add, NEW, vec![one("ppd-name", text("raw"))]),
        ("a state that is none", add, NEW, vec![one("printer-state", Value::Enum(4))]),
        ("a class of it", class, POOL, with(runs(), members(&["a", "new"]))),
        ("a class of none", class, "ipp://localhost:631/classes/none", runs()),
        ("a class of who is not there", class, POOL, vec![members(&["nobody"])]),
        ("a class of a class", class, POOL, vec![members(&["pool"])]),
        ("a printer that is a class", add, POOL, vec![device("socket://192.0.2.9")]),
        ("a class that is a printer", class, NEW, vec![members(&["a"])]),
        ("the default", Operation::CUPS_SET_DEFAULT, NEW, Vec::new()),
        ("its end", Operation::CUPS_DELETE_PRINTER, NEW, Vec::new()),
        ("its end again", Operation::CUPS_DELETE_PRINTER, NEW, Vec::new()),
        ("the end of the class", Operation::CUPS_DELETE_CLASS, POOL, Vec::new()),
    ] {
        let answer = fixture.answer(&of_printer(operation, uri, attributes));
        let all: Vec<String> = fixture
            .table
            .listed()
            .map(|one| {
                let members: Vec<_> =
                    fixture.table.members(one).map(|one| one.settings.name.as_str()).collect();
                let state = fixture.table.condition(one).words();
                format!("{} {state} {}{members:?}", one.settings.name, one.settings.device)
            })
            .collect();
        writeln!(table, "{what}: {}\n    {}", said(&answer), all.join(", ")).unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn who_may_not_administer_changes_nothing() {
    let mut fixture = Fixture::new();
    let id = fixture.print(A);
    for operation in [
        Operation::CUPS_ADD_MODIFY_PRINTER,
        Operation::CUPS_DELETE_PRINTER,
        Operation::CUPS_ADD_MODIFY_CLASS,
        Operation::CUPS_DELETE_CLASS,
        Operation::CUPS_SET_DEFAULT,
        Operation::CUPS_MOVE_JOB,
    ] {
        let device = vec![one("device-uri", uri("socket://192.0.2.9"))];
        let answer = fixture.answer(&of_printer(operation, A, device));
        assert_eq!(answer.code, Status::FORBIDDEN.0, "{}", said(&answer));
    }
    assert_eq!(fixture.table.listed().count(), 2);
    assert_eq!(fixture.table.job(id).unwrap().printer, 0);
}

#[test]
fn settings_may_allow_what_runs_here() {
    let mut fixture = Fixture::new();
    fixture.requester = ADMIN.clone();
    let rules = *fixture.table.rules();
    fixture.table.set_rules(Rules { allows_files: true, ..rules });
    for (device, is_allowed) in [("file:/srv/jobs/", true), ("exec:true", false)] {
        let add = Operation::CUPS_ADD_MODIFY_PRINTER;
        let answer = fixture.answer(&of_printer(add, NEW, vec![one("device-uri", uri(device))]));
        assert_eq!(Status(answer.code).is_successful(), is_allowed, "{}", said(&answer));
    }
    // A printer keeps the device that it has: its other attributes can be changed.
    let info = vec![one("printer-info", text("a line\nand a forged one"))];
    let b = "ipp://localhost:631/printers/b%20%C3%BC";
    let answer = fixture.answer(&of_printer(Operation::CUPS_ADD_MODIFY_PRINTER, b, info));
    // Its name has a space, which new names must not have.
    assert_eq!(answer.code, Status::NOT_POSSIBLE.0);
    let info = vec![one("printer-info", text("a line\nand a forged one"))];
    fixture.answer(&of_printer(Operation::CUPS_ADD_MODIFY_PRINTER, A, info));
    assert_eq!(fixture.table.printers()[0].settings.info, "a lineand a forged one");
    let told = vec![PrinterSettings::new("a", Device::Drop)];
    let changes = fixture.table.reload(told, fixture.now);
    assert_eq!(changes.last().unwrap().what, ChangeKind::Removed(0));
}

#[test]
fn what_a_job_asks_for_in_vain_is_told() {
    let mut fixture = Fixture::new();
    let table = [
        ("two sides", one("sides", key("two-sided-long-edge"))),
        ("one side", one("sides", key("one-sided"))),
        ("a name for a keyword", one("sides", Value::chars(CharKind::Name, "one-sided"))),
        ("colour", one("print-color-mode", key("color"))),
        ("a banner", one("job-sheets", key("standard"))),
        ("no banner", set("job-sheets", vec![key("none"), key("none")])),
        ("staples", set("finishings", vec![Value::Enum(3), Value::Enum(4)])),
        ("a medium", one("media", key("iso_a4_210x297mm"))),
        ("a medium that is none", one("media", key("a-napkin"))),
        ("a priority", one("job-priority", int(100))),
        ("a priority that is none", one("job-priority", int(101))),
        ("two pages on one", one("number-up", int(2))),
        ("what nobody knows", one("PageSize", key("A4"))),
        ("a size", one("media-col", Value::Collection(vec![one("media-type", key("stationery"))]))),
        (
            "a colour of paper",
            one("media-col", Value::Collection(vec![one("media-color", key("red"))])),
        ),
    ];
    let mut lines = String::new();
    for (what, attribute) in table {
        let strict = || one("ipp-attribute-fidelity", Value::Boolean(true));
        let mut ask = |operation, own: Vec<Attribute>| {
            let request = fixture.request(operation, A, own, vec![attribute.clone()]);
            said(&fixture.answer(&request))
        };
        let lax = ask(Operation::PRINT_JOB, Vec::new());
        assert_eq!(ask(Operation::VALIDATE_JOB, Vec::new()), lax);
        assert_eq!(ask(Operation::CREATE_JOB, Vec::new()), lax);
        let refused = ask(Operation::PRINT_JOB, vec![strict()]);
        let named = vec![one("job-mandatory-attributes", key(&attribute.name))];
        assert_eq!(ask(Operation::PRINT_JOB, named), refused);
        writeln!(lines, "{what}: {lax}; {refused}").unwrap();
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn what_is_told_of_a_device_is_what_it_says() {
    let mut fixture = Fixture::new();
    let words = |name: &str, words: &[&str]| set(name, words.iter().map(|one| key(one)).collect());
    let learned = vec![
        one("color-supported", Value::Boolean(true)),
        words("sides-supported", &["one-sided", "two-sided-short-edge"]),
        words("urf-supported", &["V1.5", "SRGB24", "DM3"]),
        words("media-supported", &["iso_a4_210x297mm"]),
    ];
    fixture.table.learned(0, 0, learned.clone());
    let mut of = |name: &str| {
        let own = vec![one("requested-attributes", key(name))];
        let answer = fixture.ask(Operation::GET_PRINTER_ATTRIBUTES, A, own);
        attribute(&answer.group(GroupTag::PRINTER).unwrap().attributes[0])
    };
    assert_eq!(of("color-supported"), "color-supported = true");
    assert_eq!(of("printer-type"), "printer-type = #131100");
    assert_eq!(of("urf-supported"), "urf-supported = \"V1.5\", \"SRGB24\", \"DM3\"");
    assert_eq!(of("media-supported"), "media-supported = \"iso_a4_210x297mm\"");
    // A job is checked against the same attributes.
    let sides = vec![one("sides", key("two-sided-long-edge"))];
    let request = fixture.request(Operation::VALIDATE_JOB, A, Vec::new(), sides);
    assert!(said(&fixture.answer(&request)).contains("sides"));
    // Settings take precedence.
    let mut told = fixture.table.printers()[0].settings.clone();
    told.colour = Some(false);
    fixture.table.set_printer(told.clone(), fixture.now).unwrap();
    let mut of = |name: &str| {
        let own = vec![one("requested-attributes", key(name))];
        let answer = fixture.ask(Operation::GET_PRINTER_ATTRIBUTES, A, own);
        attribute(&answer.group(GroupTag::PRINTER).unwrap().attributes[0])
    };
    assert_eq!(of("color-supported"), "color-supported = false");
    assert!(of("urf-supported").contains("W8") && !of("urf-supported").contains("SRGB"));
    // A report of the previous device is forgotten, and a late one is ignored.
    told.device = "ipp://192.0.2.9/ipp/print".parse().unwrap();
    fixture.table.set_printer(told, fixture.now).unwrap();
    fixture.table.learned(0, 0, learned);
    assert!(fixture.table.printers()[0].learned.is_empty());
}

#[test]
fn a_name_is_one_line() {
    let mut fixture = Fixture::new();
    let forged = "report\n\u{1b}[2Ja-9  root  1  Mon\u{202e}";
    let own = vec![
        one("job-name", Value::chars(CharKind::Name, forged)),
        one("document-name", Value::chars(CharKind::Name, forged)),
    ];
    let request = fixture.request(Operation::PRINT_JOB, A, own, Vec::new());
    fixture.answer(&request);
    let job = fixture.table.job(1).unwrap();
    assert_eq!(&*job.ticket.name, "report  [2Ja-9  root  1  Mon ");
    assert_eq!(job.documents[0].name, job.ticket.name);
    // Text from a device or an administrator becomes one line, too.
    fixture.requester = ADMIN.clone();
    let why = vec![one("printer-state-message", text("no\npaper"))];
    fixture.ask(Operation::PAUSE_PRINTER, A, why);
    let answer = fixture.ask(Operation::GET_PRINTER_ATTRIBUTES, A, Vec::new());
    let message = answer.text(GroupTag::PRINTER, "printer-state-message");
    assert_eq!(message.as_deref(), Some("no paper"));
}

#[test]
fn the_number_0_is_the_users_current_job() {
    let mut fixture = Fixture::new();
    let cancel = |fixture: &mut Fixture| {
        let own = vec![one("job-id", int(0))];
        said(&fixture.ask(Operation::CANCEL_JOB, A, own))
    };
    assert_eq!(cancel(&mut fixture), "client-error-not-possible: \"ann\" has no job on a");
    let ids: Vec<JobId> = (0..3).map(|_| fixture.print(A)).collect();
    assert!(matches!(fixture.table.next(0, fixture.now), NextStep::Job(_)));
    // First the job that prints, then the oldest one.
    assert_eq!(cancel(&mut fixture), "successful-ok");
    fixture.table.finished(0, Outcome::Interrupted, fixture.now);
    assert_eq!(fixture.phase(ids[0]), "canceled 50");
    fixture.user = "bob";
    let of_bob = fixture.print(A);
    assert_eq!(cancel(&mut fixture), "successful-ok");
    assert_eq!(
        (fixture.phase(of_bob), fixture.phase(ids[1])),
        ("canceled 50".into(), "pending 50".into())
    );
}
