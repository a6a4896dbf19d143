//! The state of a printer by SNMP version 1: questions to its agent, and the `printer-state-reasons`
//! that follow from the answers.
//!
//! Two objects tell the state: `hrPrinterDetectedErrorState` of the Host Resources MIB (RFC 2790)
//! and `prtAlertCode` of the Printer MIB (RFC 3805), a column with a row for each alert. Both are
//! read by `GetNext` (RFC 1157, section 4.1.3), as their rows have indices that are not known
//! before. Agents that answer version 2c answer version 1 as well, so no other version is tried.
//!
//! An agent's answer is parsed by the `snmp-parser` crate, which is written for hostile input.

use snmp_parser::asn1_rs::FromBer;
use snmp_parser::{ErrorStatus, ObjectSyntax, PduType, SnmpMessage, SnmpPdu, VarBindValue};

/// `hrPrinterDetectedErrorState`, 1.3.6.1.2.1.25.3.5.1.2, as BER has it.
const ERROR_STATE: &[u8] = &[0x2b, 6, 1, 2, 1, 25, 3, 5, 1, 2];

/// `prtAlertCode`, 1.3.6.1.2.1.43.18.1.1.7.
const ALERT_CODE: &[u8] = &[0x2b, 6, 1, 2, 1, 43, 18, 1, 1, 7];

/// The largest datagram that is read of an agent. Answers have some 50 octets.
pub const MAX_ANSWER: usize = 1_500;

/// The most alerts that are read: each takes a question of its own.
const MAX_ALERTS: usize = 16;

/// The longest object identifier that is asked on from. Those of these tables have 12 to 25 octets.
const MAX_OID: usize = 128;

/// The keyword of a state for which there is no other: it is told alone.
const OTHER: &str = "other";

/// The bits of `hrPrinterDetectedErrorState` in their order, and the keywords of RFC 8011,
/// section 5.4.12; `offline` and `marker-supply-missing` are CUPS's and the PWG's. Maintenance that
/// is overdue stops no printer.
const ERROR_BITS: [Option<&str>; 15] = [
    Some("media-low"),
    Some("media-empty"),
    Some("toner-low"),
    Some("toner-empty"),
    Some("door-open"),
    Some("media-jam"),
    Some("offline"),
    Some(OTHER),
    Some("input-tray-missing"),
    Some("output-tray-missing"),
    Some("marker-supply-missing"),
    Some("output-area-almost-full"),
    Some("output-area-full"),
    Some("media-empty"),
    None,
];

/// Values of `prtAlertCode` (`PrtAlertCodeTC` of IANA's Printer MIB) and their keywords. Alerts
/// that have none in RFC 8011 are passed over: most of them report something harmless.
const ALERTS: [(i64, &str); 29] = [
    (3, "cover-open"),
    (5, "interlock-open"),
    (8, "media-jam"),
    (501, "door-open"),
    (801, "input-tray-missing"),
    (807, "media-low"),
    (808, "media-empty"),
    (809, "media-needed"),
    (810, "media-needed"),
    (901, "output-tray-missing"),
    (902, "output-area-almost-full"),
    (903, "output-area-full"),
    (1_001, "fuser-under-temp"),
    (1_002, "fuser-over-temp"),
    (1_101, "toner-empty"),
    (1_102, "marker-supply-empty"),
    (1_103, "marker-supply-empty"),
    (1_104, "toner-low"),
    (1_105, "marker-supply-low"),
    (1_106, "marker-supply-low"),
    (1_107, "marker-waste-almost-full"),
    (1_108, "marker-waste-almost-full"),
    (1_109, "marker-waste-full"),
    (1_110, "marker-waste-full"),
    (1_111, "opc-near-eol"),
    (1_112, "opc-life-over"),
    (1_113, "developer-low"),
    (1_114, "developer-empty"),
    (1_115, "marker-supply-missing"),
];

/// A set of reasons in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Reasons(Vec<&'static str>);

impl Reasons {
    fn add(&mut self, reason: &'static str) {
        if !self.0.contains(&reason) {
            self.0.push(reason);
        }
    }

    /// Adds the reasons of an error state. Agents leave octets out that are zero.
    fn add_error_state(&mut self, octets: &[u8]) {
        for (bit, reason) in ERROR_BITS.iter().enumerate() {
            let is_set = octets.get(bit / 8).is_some_and(|octet| octet & (0x80 >> (bit % 8)) != 0);
            if let Some(reason) = reason.filter(|_| is_set) {
                self.add(reason);
            }
        }
    }

    fn add_alert(&mut self, code: i64) {
        if let Some((_, reason)) = ALERTS.iter().find(|(one, _)| *one == code) {
            self.add(reason);
        }
    }

    fn told(&self) -> Vec<&'static str> {
        let named: Vec<_> = self.0.iter().copied().filter(|one| *one != OTHER).collect();
        if named.is_empty() { self.0.clone() } else { named }
    }
}

/// The table that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    ErrorState,
    AlertCode,
}

impl Column {
    const fn oid(self) -> &'static [u8] {
        match self {
            Self::ErrorState => ERROR_STATE,
            Self::AlertCode => ALERT_CODE,
        }
    }
}

/// The consequence of a datagram for a [`StatusQuery`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The datagram does not answer the pending request.
    Ignored,
    /// The caller must send the next request.
    Asks,
    /// The query is complete with these `printer-state-reasons`.
    Done(Vec<&'static str>),
}

/// One reading of a printer's state: a request at a time, and its answer.
#[derive(Clone, Debug)]
pub struct StatusQuery {
    community: String,
    id: u32,
    column: Column,
    /// Object behind which the next one is requested.
    after: Vec<u8>,
    alerts: usize,
    reasons: Reasons,
}

impl StatusQuery {
    /// Creates a query with a community. The number of its first request should be unpredictable.
    pub fn new(community: &str, id: u32) -> Self {
        Self {
            community: community.to_owned(),
            id: id & MAX_ID,
            column: Column::ErrorState,
            after: ERROR_STATE.to_vec(),
            alerts: 0,
            reasons: Reasons::default(),
        }
    }

    /// Returns the request that is under way.
    pub fn request(&self) -> Vec<u8> {
        let name = tagged(OBJECT_IDENTIFIER, &self.after);
        let bindings = tagged(SEQUENCE, &tagged(SEQUENCE, &[&name[..], &[NULL, 0]].concat()));
        let id = integer(self.id);
        let pdu = [&id[..], &integer(0), &integer(0), &bindings].concat();
        let version_1 = integer(0);
        let community = tagged(OCTET_STRING, self.community.as_bytes());
        tagged(SEQUENCE, &[&version_1[..], &community, &tagged(GET_NEXT, &pdu)].concat())
    }

    /// Processes a received datagram.
    pub fn take(&mut self, datagram: &[u8]) -> Step {
        let Some(next) = NextObject::read(datagram, self.id) else { return Step::Ignored };
        self.id = self.id.wrapping_add(1) & MAX_ID;
        let in_column = |oid: &[u8]| {
            oid.starts_with(self.column.oid()) && oid.len() <= MAX_OID && oid > &self.after[..]
        };
        match (self.column, next) {
            (Column::ErrorState, next) => {
                if let NextObject::Octets(oid, octets) = next
                    && in_column(&oid)
                {
                    self.reasons.add_error_state(&octets);
                }
                self.column = Column::AlertCode;
                self.after = ALERT_CODE.to_vec();
                Step::Asks
            }
            (Column::AlertCode, NextObject::Integer(oid, code)) if in_column(&oid) => {
                self.reasons.add_alert(code);
                self.after = oid;
                self.alerts += 1;
                if self.alerts < MAX_ALERTS { Step::Asks } else { Step::Done(self.told()) }
            }
            (Column::AlertCode, _) => Step::Done(self.told()),
        }
    }

    /// Returns the reasons that are known so far; none where nothing was answered.
    pub fn known(&self) -> Option<Vec<&'static str>> {
        (self.column != Column::ErrorState).then(|| self.told())
    }

    fn told(&self) -> Vec<&'static str> {
        self.reasons.told()
    }
}

/// The largest number of a request: it is an INTEGER of 32 bits with a sign.
const MAX_ID: u32 = 0x7fff_ffff;

/// The object behind the one that was asked for.
enum NextObject {
    Integer(Vec<u8>, i64),
    Octets(Vec<u8>, Vec<u8>),
    /// Another object, or none.
    Else,
}

impl NextObject {
    /// Reads the answer to a request. Returns `None` if the datagram is no such answer.
    fn read(datagram: &[u8], id: u32) -> Option<Self> {
        let datagram = datagram.get(..datagram.len().min(MAX_ANSWER))?;
        let (_, message) = SnmpMessage::from_ber(datagram).ok()?;
        let SnmpPdu::Generic(pdu) = message.pdu else { return None };
        if message.version != 0 || pdu.pdu_type != PduType::Response || pdu.req_id != id {
            return None;
        }
        if pdu.err != ErrorStatus::NoError {
            return Some(Self::Else);
        }
        let Some(first) = pdu.var.first() else { return Some(Self::Else) };
        let oid = first.oid.as_bytes().to_vec();
        Some(match &first.val {
            VarBindValue::Value(ObjectSyntax::Number(number)) => {
                Self::Integer(oid, i64::from(*number))
            }
            VarBindValue::Value(ObjectSyntax::String(octets)) => Self::Octets(oid, octets.to_vec()),
            // An agent may leave out octets that are zero, to the last of them.
            VarBindValue::Value(ObjectSyntax::Empty) => Self::Octets(oid, Vec::new()),
            _ => Self::Else,
        })
    }
}

/// Tags of ASN.1 (RFC 1157, section 4.1).
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const NULL: u8 = 0x05;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const GET_NEXT: u8 = 0xa1;

/// Encodes a value with its tag and its length.
fn tagged(tag: u8, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    let [high, low] = length.to_be_bytes();
    let mut bytes = match length {
        0..=0x7f => vec![tag, low],
        0x80..=0xff => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    bytes.extend_from_slice(value);
    bytes
}

/// Encodes a number from 0 on, in as few octets as possible.
fn integer(number: u32) -> Vec<u8> {
    let bytes = u64::from(number).to_be_bytes();
    // The first bit is the sign.
    let needed = (33 - number.leading_zeros() as usize).div_ceil(8).max(1);
    tagged(INTEGER, &bytes[bytes.len() - needed..])
}

#[cfg(test)]
#[path = "snmp_tests.rs"]
mod tests;
