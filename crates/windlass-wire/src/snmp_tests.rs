use proptest::prelude::*;

use super::*;

/// The response to the request that a query has under way.
fn response(query: &StatusQuery, error: u32, oid: &[u8], value: &[u8]) -> Vec<u8> {
    let bind = [&tagged(OBJECT_IDENTIFIER, oid)[..], value].concat();
    let bindings = tagged(SEQUENCE, &tagged(SEQUENCE, &bind));
    let pdu = [integer(query.id), integer(error), integer(u32::from(error > 0)), bindings].concat();
    let community = tagged(OCTET_STRING, query.community.as_bytes());
    tagged(SEQUENCE, &[integer(0), community, tagged(0xa2, &pdu)].concat())
}

fn below(column: &[u8], index: &[u8]) -> Vec<u8> {
    [column, index].concat()
}

fn state(octets: &[u8]) -> Vec<u8> {
    tagged(OCTET_STRING, octets)
}

/// The reasons that follow from an error state and alerts.
fn reasons(octets: &[u8], alerts: &[u32]) -> Vec<&'static str> {
    let mut query = StatusQuery::new("public", 7);
    let first = response(&query, 0, &below(ERROR_STATE, &[1]), &state(octets));
    assert_eq!(query.take(&first), Step::Asks);
    for (row, code) in alerts.iter().enumerate() {
        let index = [1, u8::try_from(row + 1).unwrap()];
        let next = response(&query, 0, &below(ALERT_CODE, &index), &integer(*code));
        assert_eq!(query.take(&next), Step::Asks);
    }
    // The first object behind the table.
    let behind = [0x2b, 6, 1, 2, 1, 43, 18, 1, 1, 8, 1, 1];
    let last = response(&query, 0, &behind, &state(b"Paper out"));
    let Step::Done(reasons) = query.take(&last) else { panic!("it goes on") };
    reasons
}

#[test]
fn a_request_is_a_message_of_version_1() {
    let query = StatusQuery::new("public", 0x1234_5678);
    let expected = [
        &[0x30, 0x2b, 2, 1, 0, 4, 6][..],
        b"public",
        &[0xa1, 0x1e, 2, 4, 0x12, 0x34, 0x56, 0x78, 2, 1, 0, 2, 1, 0, 0x30, 0x10, 0x30, 0x0e],
        &[6, 0x0a, 0x2b, 6, 1, 2, 1, 0x19, 3, 5, 1, 2, 5, 0],
    ];
    let request = query.request();
    assert_eq!(request, expected.concat());
    let (rest, message) = SnmpMessage::from_ber(&request).unwrap();
    assert!(rest.is_empty());
    assert_eq!((message.version, &*message.community), (0, "public"));
    assert_eq!(message.pdu_type(), PduType::GetNextRequest);
    let names: Vec<String> = message.vars_iter().map(|one| one.oid.to_id_string()).collect();
    assert_eq!(names, ["1.3.6.1.2.1.25.3.5.1.2"]);
    // The longest community.
    let query = StatusQuery::new(&"a".repeat(128), MAX_ID);
    assert!(SnmpMessage::from_ber(&query.request()).unwrap().0.is_empty());
}

#[test]
fn numbers_and_lengths_are_as_short_as_can_be() {
    for (number, bytes) in [
        (0, &[2, 1, 0][..]),
        (127, &[2, 1, 127]),
        (128, &[2, 2, 0, 128]),
        (0x7fff, &[2, 2, 0x7f, 0xff]),
        (0x7fff_ffff, &[2, 4, 0x7f, 0xff, 0xff, 0xff]),
        (u32::MAX, &[2, 5, 0, 0xff, 0xff, 0xff, 0xff]),
    ] {
        assert_eq!(integer(number), bytes);
    }
    assert_eq!(tagged(4, &[0; 127])[..2], [4, 127]);
    assert_eq!(tagged(4, &[0; 128])[..3], [4, 0x81, 128]);
    assert_eq!(tagged(4, &[0; 300])[..4], [4, 0x82, 1, 44]);
}

/// The table of RFC 2790, `hrPrinterDetectedErrorState`.
#[test]
fn each_bit_of_the_error_state_has_its_keyword() {
    for (octets, expected) in [
        (&[0x80][..], "media-low"),
        (&[0x40], "media-empty"),
        (&[0x20], "toner-low"),
        (&[0x10], "toner-empty"),
        (&[0x08], "door-open"),
        (&[0x04], "media-jam"),
        (&[0x02], "offline"),
        (&[0x01], "other"),
        (&[0, 0x80], "input-tray-missing"),
        (&[0, 0x40], "output-tray-missing"),
        (&[0, 0x20], "marker-supply-missing"),
        (&[0, 0x10], "output-area-almost-full"),
        (&[0, 0x08], "output-area-full"),
        (&[0, 0x04], "media-empty"),
    ] {
        assert_eq!(reasons(octets, &[]), [expected], "{octets:?}");
    }
    for none in [&[][..], &[0], &[0, 0], &[0, 2], &[0, 0, 0xff]] {
        assert!(reasons(none, &[]).is_empty(), "{none:?}");
    }
    // Service is wanted for a reason that another bit names.
    assert_eq!(reasons(&[0x41, 0x04], &[]), ["media-empty"]);
}

#[test]
fn alerts_add_to_the_error_state() {
    assert_eq!(reasons(&[0x01], &[808, 1_104, 3]), ["media-empty", "toner-low", "cover-open"]);
    assert_eq!(reasons(&[0x40], &[808]), ["media-empty"]);
    // Power-save, warming up, and a code of the vendor's own.
    assert!(reasons(&[0], &[23, 24, 30_000]).is_empty());
}

#[test]
fn an_agent_without_these_tables_has_no_reasons() {
    let mut query = StatusQuery::new("public", 7);
    let no_such_name = response(&query, 2, ERROR_STATE, &[NULL, 0]);
    assert_eq!(query.known(), None);
    assert_eq!(query.take(&no_such_name), Step::Asks);
    assert_eq!(query.known(), Some(Vec::new()));
    let no_such_name = response(&query, 2, ALERT_CODE, &[NULL, 0]);
    assert_eq!(query.take(&no_such_name), Step::Done(Vec::new()));
}

/// Agents of older printers write each length in two octets.
#[test]
fn lengths_may_be_longer_than_they_need_be() {
    let mut query = StatusQuery::new("public", 7);
    let short = response(&query, 0, &below(ERROR_STATE, &[1]), &state(&[0x40]));
    let mut long = vec![0x30, 0x82, 0, short[1]];
    long.extend_from_slice(&short[2..]);
    assert_eq!(query.take(&long), Step::Asks);
    assert_eq!(query.known(), Some(vec!["media-empty"]));
}

#[test]
fn answers_to_other_requests_are_ignored() {
    let mut query = StatusQuery::new("public", 7);
    let mut later = query.clone();
    later.id = 8;
    let other = response(&later, 0, &below(ERROR_STATE, &[1]), &state(&[0xff]));
    assert_eq!(query.take(&other), Step::Ignored);
    assert_eq!(query.take(&query.request()), Step::Ignored);
    assert_eq!(query.take(b""), Step::Ignored);
}

#[test]
fn an_agent_that_does_not_end_is_left() {
    let mut query = StatusQuery::new("public", 0x7fff_ffff);
    let first = response(&query, 0, &below(ERROR_STATE, &[1]), &state(&[0]));
    assert_eq!(query.take(&first), Step::Asks);
    let mut rows = 0;
    loop {
        rows += 1;
        let next = response(&query, 0, &below(ALERT_CODE, &[1, rows]), &integer(8));
        match query.take(&next) {
            Step::Asks => {}
            Step::Done(reasons) => break assert_eq!(reasons, ["media-jam"]),
            Step::Ignored => panic!("it is an answer"),
        }
    }
    assert_eq!(usize::from(rows), MAX_ALERTS);
    // One that gives the same row again.
    let mut query = StatusQuery::new("public", 1);
    let first = response(&query, 0, &below(ERROR_STATE, &[1]), &state(&[0]));
    query.take(&first);
    let row = below(ALERT_CODE, &[1, 1]);
    let next = response(&query, 0, &row, &integer(8));
    assert_eq!(query.take(&next), Step::Asks);
    let again = response(&query, 0, &row, &integer(808));
    assert_eq!(query.take(&again), Step::Done(vec!["media-jam"]));
}

proptest! {
    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let mut query = StatusQuery::new("public", 7);
        prop_assert!(!matches!(query.take(&bytes), Step::Done(_)));
    }

    /// Answers with a few octets changed, dropped or added.
    #[test]
    fn a_mutated_answer_is_taken(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..6),
        is_alert in any::<bool>(),
    ) {
        let mut query = StatusQuery::new("public", 7);
        if is_alert {
            query.take(&response(&query, 0, &below(ERROR_STATE, &[1]), &state(&[0x40])));
        }
        let mut bytes = match is_alert {
            true => response(&query, 0, &below(ALERT_CODE, &[1, 1]), &integer(808)),
            false => response(&query, 0, &below(ERROR_STATE, &[1]), &state(&[0x40])),
        };
        for (at, byte, kind) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => {
                    bytes.remove(at);
                }
            }
        }
        query.take(&bytes);
        prop_assert!(query.after.len() <= MAX_OID);
        prop_assert!(query.request().len() < 512);
        let known = query.known().unwrap_or_default();
        prop_assert!(known.len() <= ERROR_BITS.len() + ALERTS.len());
    }
}
