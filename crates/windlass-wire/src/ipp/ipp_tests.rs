#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;

use super::server::{
    AttributeCategory, FilteredGroup, IppRefusal, Reply, RequestedAttributes, name,
};
use super::*;

fn decoded(bytes: &[u8]) -> Result<(Message, usize), Error> {
    let mut decoder = Decoder::new(Limits::default());
    let used = decoder.take(bytes)?;
    assert_eq!(decoder.needs(), 0, "it is whole");
    Ok((decoder.message().unwrap(), used))
}

/// RFC 8010, appendix A.1: a Print-Job request, up to the document.
fn print_job() -> Vec<u8> {
    let mut bytes = vec![1, 1, 0, 2, 0, 0, 0, 1, 1];
    let mut put = |tag: u8, name: &str, value: &str| {
        bytes.push(tag);
        bytes.extend((name.len() as u16).to_be_bytes());
        bytes.extend(name.as_bytes());
        bytes.extend((value.len() as u16).to_be_bytes());
        bytes.extend(value.as_bytes());
    };
    put(0x47, "attributes-charset", "utf-8");
    put(0x48, "attributes-natural-language", "en-us");
    put(0x45, "printer-uri", "ipp://printer.example.com/ipp/print/pinetree");
    put(0x42, "job-name", "foobar");
    put(0x22, "ipp-attribute-fidelity", "\u{1}");
    bytes.push(2);
    let mut put = |tag: u8, name: &str, value: &[u8]| {
        bytes.push(tag);
        bytes.extend((name.len() as u16).to_be_bytes());
        bytes.extend(name.as_bytes());
        bytes.extend((value.len() as u16).to_be_bytes());
        bytes.extend(value);
    };
    put(0x21, "copies", &[0, 0, 0, 20]);
    put(0x44, "sides", b"two-sided-long-edge");
    bytes.push(3);
    bytes
}

#[test]
fn the_rfcs_request_is_read_and_its_document_left_alone() {
    let mut bytes = print_job();
    let whole = bytes.len();
    bytes.extend(b"%!PS...");
    let (message, used) = decoded(&bytes).unwrap();
    assert_eq!(used, whole);
    assert_eq!((message.version, message.request_id), (Version(1, 1), 1));
    assert_eq!(Operation(message.code), Operation::PRINT_JOB);
    let text = |name| message.text(GroupTag::OPERATION, name).unwrap();
    assert_eq!(text("printer-uri"), "ipp://printer.example.com/ipp/print/pinetree");
    assert_eq!(text("job-name"), "foobar");
    assert_eq!(message.number(GroupTag::JOB, "copies"), Some(20));
    assert_eq!(message.encode().unwrap(), print_job());
}

#[test]
fn a_request_says_what_it_is_about_and_what_it_wants() {
    let mut request = Message::request(Version(2, 0), Operation::GET_JOBS, 1);
    request.groups.push(Group::new(GroupTag::JOB));
    request.add("limit", Value::Integer(20));
    request.want(&["job-id", "job-state"]);
    let (read, _) = decoded(&request.encode().unwrap()).unwrap();
    assert_eq!(read.number(GroupTag::OPERATION, "limit"), Some(20));
    let wanted = read.groups[0].attribute("requested-attributes").unwrap();
    assert_eq!(wanted.values, ["job-id", "job-state"].map(Value::keyword));
    assert!(read.groups[1].attributes.is_empty());
}

#[test]
fn a_request_begins_as_each_has_to() {
    let fits = |change: &dyn Fn(&mut Message)| {
        let mut request = Message::request(Version(1, 1), Operation::GET_JOBS, 1);
        change(&mut request);
        request.fits().map_err(|unfit| (unfit.status(), unfit.to_string()))
    };
    let is = |status, why: &str| Err((status, why.to_owned()));
    let charset = |name: &'static str| {
        move |request: &mut Message| {
            request.groups[0].attributes[0].values = vec![Value::chars(CharKind::Charset, name)];
        }
    };
    assert_eq!(fits(&|_| {}), Ok(()));
    assert_eq!(fits(&charset("US-ASCII")), Ok(()));
    assert_eq!(
        fits(&|request| request.version = Version(3, 0)),
        is(Status::VERSION_NOT_SUPPORTED, "version 3.0 is not spoken here: 1.0 to 2.2 are")
    );
    assert_eq!(
        fits(&|request| request.request_id = 0),
        is(Status::BAD_REQUEST, "the request has the number 0")
    );
    let why = "the request does not begin with operation attributes";
    assert_eq!(fits(&|request| request.groups.clear()), is(Status::BAD_REQUEST, why));
    let job = fits(&|request| request.groups = vec![Group::new(GroupTag::JOB)]);
    assert_eq!(job, is(Status::BAD_REQUEST, why));
    let why = "attributes-charset and attributes-natural-language have to come first";
    let swapped = fits(&|request| request.groups[0].attributes.reverse());
    assert_eq!(swapped, is(Status::BAD_REQUEST, why));
    let short = fits(&|request| request.groups[0].attributes.truncate(1));
    assert_eq!(short, is(Status::BAD_REQUEST, why));
    assert_eq!(
        fits(&charset("utf-16")),
        is(Status::CHARSET_NOT_SUPPORTED, "the charset \"utf-16\" is not spoken here: utf-8 is")
    );
}

#[test]
fn an_answer_is_of_a_version_that_is_spoken() {
    for (asked, told) in [((1, 0), (1, 0)), ((2, 2), (2, 2)), ((0, 9), (2, 0)), ((9, 9), (2, 0))] {
        let answer = Message::response(Version(asked.0, asked.1), Status::BAD_REQUEST, 7);
        assert_eq!((answer.version, answer.code), (Version(told.0, told.1), 0x0400));
        assert_eq!(answer.request_id, 7);
        assert_eq!(answer.fits(), Ok(()), "both begin alike");
    }
}

#[test]
fn states_of_printers_have_the_rfcs_numbers() {
    let states: Vec<_> = (0..10).filter_map(PrinterState::new).collect();
    let told = states.iter().map(|state| (state.number(), state.id()));
    assert_eq!(told.collect::<Vec<_>>(), [(3, "idle"), (4, "processing"), (5, "stopped")]);
}

/// Answer of cupsd 2.4 to a Print-Job, cut to some of its attributes.
const ANSWER: &[u8] = b"\x02\x00\x00\x00\x00\x00\x00\x07\x01\
    G\x00\x12attributes-charset\x00\x05utf-8\
    H\x00\x1battributes-natural-language\x00\x02en\x02\
    E\x00\x07job-uri\x00\x1eipp://localhost:8631/jobs/1234\
    !\x00\x06job-id\x00\x04\x00\x00\x04\xd2\
    #\x00\x09job-state\x00\x04\x00\x00\x00\x03\
    D\x00\x11job-state-reasons\x00\x04none\
    D\x00\x00\x00\x0cjob-incoming\x03";

#[test]
fn a_response_is_read_in_pieces_of_any_size() {
    let (whole, _) = decoded(ANSWER).unwrap();
    assert_eq!(whole.number(GroupTag::JOB, "job-id"), Some(1_234));
    let state = whole.number(GroupTag::JOB, "job-state").and_then(JobState::new);
    assert_eq!(state, Some(JobState::Pending));
    let reasons = whole.group(GroupTag::JOB).unwrap().attribute("job-state-reasons").unwrap();
    let reasons: Vec<_> = reasons.values.iter().filter_map(Value::text).collect();
    assert_eq!(reasons, ["none", "job-incoming"]);
    for size in 1..ANSWER.len() {
        let mut decoder = Decoder::new(Limits::default());
        for piece in ANSWER.chunks(size) {
            assert!(decoder.needs() > 0);
            assert_eq!(decoder.take(piece), Ok(piece.len()));
        }
        assert_eq!(decoder.needs(), 0);
        assert_eq!(decoder.message().as_ref(), Some(&whole));
    }
}

#[test]
fn it_never_asks_for_more_than_there_is() {
    let mut decoder = Decoder::new(Limits::default());
    let mut at = 0;
    while decoder.needs() > 0 {
        let next = at + decoder.needs();
        assert_eq!(decoder.take(&ANSWER[at..next]), Ok(next - at));
        at = next;
    }
    assert_eq!(at, ANSWER.len());
}

#[test]
fn what_is_wrong_is_told() {
    let message = |rest: &[u8]| [&[2, 0, 0, 0, 0, 0, 0, 1], rest].concat();
    let deep = [&[2][..], b"\x34\x00\x01a\x00\x00\x4a\x00\x00\x00\x01b"].concat();
    let cases: [(&[u8], Error); 12] = [
        (b"\x21\x00\x01a\x00\x04\0\0\0\x01", Error::NoGroup),
        (b"\x01\x21\x00\x00\x00\x04\0\0\0\x01", Error::NoAttribute),
        (b"\x01\x34\x00\x00\x00\x00", Error::NoAttribute),
        (b"\x00", Error::Misplaced(0)),
        (b"\x01\x21\x00\x01a\x00\x03\0\0\x01", Error::Value(0x21)),
        (b"\x01\x22\x00\x01a\x00\x01\x02", Error::Value(0x22)),
        (b"\x01\x35\x00\x01a\x00\x04\x00\x09en", Error::Value(0x35)),
        (b"\x01\x37\x00\x00\x00\x00", Error::Misplaced(0x37)),
        (b"\x01\x4a\x00\x00\x00\x01a", Error::Misplaced(0x4a)),
        (b"\x01\x44\x00\x01\xff\x00\x01a", Error::Name),
        (b"\x01\x34\x00\x01a\x00\x00\x4a\x00\x00\x00\x01b\x37\x00\x00\x00\x00", Error::NoValue),
        (b"\x01\x34\x00\x01a\x00\x00\x03", Error::Misplaced(3)),
    ];
    for (rest, expected) in cases {
        let mut decoder = Decoder::new(Limits::default());
        assert_eq!(decoder.take(&message(rest)), Err(expected), "{rest:?}");
        assert_eq!(decoder.take(b"\x03"), Err(expected), "it stays so");
    }
    let mut decoder = Decoder::new(Limits::default());
    decoder.take(&message(&deep)).unwrap();
    let one = b"\x34\x00\x00\x00\x00\x4a\x00\x00\x00\x01b";
    let ends = (0..100).find_map(|_| decoder.take(one).err());
    assert_eq!(ends, Some(Error::TooDeep(16)));
}

#[test]
fn hostile_sizes_end_at_the_limits() {
    let limits = Limits { bytes: 10_000, values: 50, depth: 4 };
    let mut decoder = Decoder::new(limits);
    decoder.take(b"\x02\x00\x00\x00\x00\x00\x00\x01\x01").unwrap();
    let one = b"\x44\x00\x01a\x00\x00";
    assert_eq!((0..99).find_map(|_| decoder.take(one).err()), Some(Error::TooMany(50)));
    let mut decoder = Decoder::new(limits);
    decoder.take(b"\x02\x00\x00\x00\x00\x00\x00\x01\x01").unwrap();
    let long = [&b"\x44\x00\x01a\x7f\xff"[..], &[b'x'; 32_767]].concat();
    assert_eq!(decoder.take(&long), Err(Error::TooLong(10_000)));
    let mut decoder = Decoder::new(Limits::default());
    decoder.take(b"\x02\x00\x00\x00\x00\x00\x00\x01\x01").unwrap();
    let beyond = [&b"\x44\x00\x01a\x80\x00"[..], &[b'x'; 32_768]].concat();
    assert_eq!(decoder.take(&beyond), Err(Error::TooLongOctets));
}

#[test]
fn what_has_no_room_is_not_sent() {
    let mut message = Message::request(Version(2, 0), Operation::PRINT_JOB, 1);
    let long = Value::chars(CharKind::Name, "x".repeat(MAX_OCTETS + 1));
    message.groups[0].attributes.push(Attribute::new("job-name", long));
    assert_eq!(message.encode(), Err(ValueTooLong("job-name".to_owned())));
}

fn any_value() -> impl Strategy<Value = Value> {
    let octets = || prop::collection::vec(any::<u8>(), 0..40);
    let kind = prop::sample::select(vec![
        CharKind::Text,
        CharKind::Name,
        CharKind::Keyword,
        CharKind::Uri,
        CharKind::UriScheme,
        CharKind::Charset,
        CharKind::Language,
        CharKind::MediaType,
    ]);
    let why = prop::sample::select(vec![
        OutOfBand::Unsupported,
        OutOfBand::Unknown,
        OutOfBand::NoValue,
        OutOfBand::NotSettable,
        OutOfBand::Delete,
        OutOfBand::AdminDefine,
    ]);
    let leaf = prop_oneof![
        any::<i32>().prop_map(Value::Integer),
        any::<i32>().prop_map(Value::Enum),
        any::<bool>().prop_map(Value::Boolean),
        octets().prop_map(Value::Octets),
        any::<[u8; 11]>().prop_map(Value::DateTime),
        any::<(i32, i32, i8)>().prop_map(|(cross, feed, units)| Value::Resolution {
            cross,
            feed,
            units
        }),
        any::<(i32, i32)>().prop_map(|(from, to)| Value::Range(from, to)),
        (kind, octets()).prop_map(|(kind, chars)| Value::Chars(kind, chars)),
        why.prop_map(Value::OutOfBand),
        (any::<bool>(), octets(), octets()).prop_map(|(is_text, language, chars)| {
            Value::WithLanguage { is_text, language, chars }
        }),
        (prop::sample::select(vec![0x14, 0x20, 0x38, 0x4b, 0x7f, 0xff]), octets())
            .prop_map(|(tag, octets)| Value::Other(tag, octets)),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop::collection::vec(attribute_of(inner), 0..4).prop_map(Value::Collection)
    })
}

fn attribute_of(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Attribute> {
    ("[a-z-]{1,12}", prop::collection::vec(value, 1..4))
        .prop_map(|(name, values)| Attribute { name, values })
}

fn any_message() -> impl Strategy<Value = Message> {
    let group = (
        prop::sample::select(vec![1_u8, 2, 4, 5, 6, 7, 9, 15]),
        prop::collection::vec(attribute_of(any_value()), 0..5),
    );
    let group =
        group.prop_map(|(tag, attributes)| Group { tag: GroupTag::new(tag).unwrap(), attributes });
    let head = any::<(u8, u8, u16, u32)>();
    (head, prop::collection::vec(group, 0..5)).prop_map(|((major, minor, code, id), groups)| {
        Message { version: Version(major, minor), code, request_id: id, groups }
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(message in any_message(), tail in any::<[u8; 3]>()) {
        let mut bytes = message.encode().unwrap();
        let whole = bytes.len();
        bytes.extend(tail);
        prop_assert_eq!(decoded(&bytes), Ok((message, whole)));
    }

    #[test]
    fn any_bytes_are_a_message_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        size in 1_usize..50,
    ) {
        let (mut one, mut many) = (Decoder::new(Limits::default()), Decoder::new(Limits::default()));
        let at_once = one.take(&bytes);
        let mut in_pieces = Ok(0);
        for piece in bytes.chunks(size) {
            match many.take(piece) {
                Ok(used) => {
                    in_pieces = in_pieces.map(|sum: usize| sum + used);
                    if used < piece.len() {
                        break;
                    }
                }
                Err(error) => {
                    in_pieces = Err(error);
                    break;
                }
            }
        }
        prop_assert_eq!(at_once, in_pieces);
        prop_assert_eq!(one.message(), many.message());
    }
}

#[test]
fn what_requests_say_is_read_alike() {
    let mut request = Message::request(Version(2, 0), Operation::SEND_DOCUMENT, 1);
    assert_eq!((request.user(), request.job_name()), ("anonymous".into(), "untitled".into()));
    assert_eq!(request.compression().unwrap(), Compression::None);
    assert_eq!(request.is_last_document().unwrap_err().status, Status::BAD_REQUEST);
    assert_eq!(request.only_of(), None);
    let name = |text: &str| Value::chars(CharKind::Name, text);
    request.add("requesting-user-name", name(&"ü".repeat(200)));
    request.add("document-name", name("a"));
    request.add("my-jobs", Value::Boolean(true));
    request.add("last-document", Value::Boolean(false));
    request.add("compression", Value::keyword("compress"));
    // A name has 255 octets, and this character two.
    assert_eq!(request.only_of(), Some("ü".repeat(127)));
    assert_eq!((request.job_name(), request.is_last_document().unwrap()), ("a".into(), false));
    assert_eq!(request.compression().unwrap_err().status, Status::COMPRESSION_NOT_SUPPORTED);
}

#[test]
fn answers_have_what_is_asked_for() {
    let mut request = Message::request(Version(2, 0), Operation::GET_PRINTER_ATTRIBUTES, 9);
    let picked = |request: &Message| {
        let wanted = RequestedAttributes::of(request, &["all"]);
        let mut picked = FilteredGroup::new(GroupTag::PRINTER, &wanted);
        picked.put(AttributeCategory::Printer, "printer-name", || name("a"));
        picked.put(AttributeCategory::Template, "copies-default", || Value::Integer(1));
        picked.put(AttributeCategory::Alone, "media-col-database", || Value::Integer(2));
        let names = picked.finish().attributes.into_iter().map(|one| one.name);
        names.collect::<Vec<_>>()
    };
    assert_eq!(picked(&request), ["printer-name", "copies-default"]);
    request.want(&["job-template", "media-col-database"]);
    assert_eq!(picked(&request), ["copies-default", "media-col-database"]);
    let no =
        IppRefusal::of(Status::NOT_SUPPORTED, "not that", request.asked("requested-attributes"));
    let answer = Reply::to(&request).refused(no);
    assert_eq!((answer.code, answer.request_id), (Status::NOT_SUPPORTED.0, 9));
    assert_eq!(answer.text(GroupTag::OPERATION, "status-message").as_deref(), Some("not that"));
    assert_eq!(answer.group(GroupTag::UNSUPPORTED).unwrap().attributes.len(), 1);
}
