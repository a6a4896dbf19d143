//! Any requests of IPP, one after the other, are answered by a spool in messages
//! that can be read, and its table counts right after each.
#![no_main]

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use windlass_spool_core::respond::{Context, ExpectedDocument, Goal, RequestStep, respond};
use windlass_spool_core::{
    Device, Entry, FiledDocument, JobTable, MAX_RECORD, Moment, NextStep, Outcome, PrinterSettings,
    Requester, Rights, Rules,
};
use windlass_wire::ipp::{Decoder, Limits, Message, ValueTooLong};

#[path = "../../crates/windlass-spool-core/tests/support/at_once.rs"]
mod at_once;
use at_once::at_once;

const LIMITS: Limits = Limits { bytes: 1 << 16, values: 1 << 12, depth: 8 };

fuzz_target!(|bytes: &[u8]| {
    let mut responder = Responder::default();
    let mut rest = bytes;
    // A byte of what happens before each request.
    while let Some((&first, after)) = rest.split_first() {
        if first & 1 != 0 {
            let span = Duration::from_secs(u64::from(first));
            responder.print(usize::from(first >> 1), first & 4 != 0, span);
        }
        let mut decoder = Decoder::new(LIMITS);
        let Ok(used) = decoder.take(after) else { return };
        let Some(request) = decoder.message() else { return };
        let path = if first & 8 != 0 { "/printers/a" } else { "/" };
        let answer = responder.ask(&request, path, first & 16 == 0).expect("it has room");
        let mut decoder = Decoder::new(Limits::default());
        assert_eq!(decoder.take(&answer), Ok(answer.len()));
        let answer = decoder.message().expect("it is whole");
        assert_eq!(answer.request_id, request.request_id);
        rest = &after[used..];
    }
});

/// Two printers and a clock. Its documents are sizes and nothing else.
struct Responder {
    table: JobTable<u64>,
    now: Moment,
}

impl Default for Responder {
    /// Without jobs.
    fn default() -> Self {
        let printers = ["a", "b/ü"].map(|name| PrinterSettings::new(name, Device::Drop));
        let rules = Rules { keeps_documents: true, max_jobs: Some(50), ..Rules::default() };
        let now = Moment(1_800_000_000_000);
        let table = JobTable::new(printers.to_vec(), rules, now);
        Self { table, now }
    }
}

impl Responder {
    /// The octets of the answer to a request that a document follows.
    fn ask(
        &mut self,
        request: &Message,
        path: &str,
        is_admin: bool,
    ) -> Result<Vec<u8>, ValueTooLong> {
        let rights = if is_admin { Rights::ALL } else { Rights::USER };
        let rights = Rights { believed: true, ..rights };
        let requester = Requester::unknown(SocketAddr::from((Ipv4Addr::LOCALHOST, 1)), rights);
        let context = Context {
            authority: "localhost:631",
            path,
            requester: &requester,
            is_encrypted: false,
            now: self.now,
            max_document: Some(1 << 20),
        };
        let octets = match respond(request, &mut self.table, &context) {
            RequestStep::Answer(answer) | RequestStep::Created { answer, .. } => answer.encode(),
            RequestStep::Receive(receive) => at_once(&receive, &mut self.table, &context).encode(),
            RequestStep::List(mut listing) => listing.head.encode_open().and_then(|mut octets| {
                while let Some(groups) = listing.page(&self.table, &context) {
                    for group in groups {
                        group.encode(&mut octets)?;
                    }
                }
                octets.extend(Message::END);
                Ok(octets)
            }),
        };
        self.check();
        octets
    }

    /// Time passes, and a printer is done with a job and has another.
    fn print(&mut self, place: usize, is_delivered: bool, span: Duration) {
        self.now = self.now.after(span);
        self.table.overdue(self.now);
        let place = place % self.table.printers().len();
        let failed = || Outcome::Failed("no paper".to_owned());
        let outcome = if is_delivered { Outcome::Delivered } else { failed() };
        self.table.finished(place, outcome, self.now);
        if let NextStep::Job(work) = self.table.next(place, self.now) {
            // One of its own, or of a class that it is in.
            assert_eq!(self.table.printers()[place].current, Some(work.id));
        }
        self.check();
    }

    fn check(&mut self) {
        let live = |table: &JobTable<u64>| {
            table.printers().iter().map(|one| one.live.len()).sum::<usize>()
        };
        assert_eq!(self.table.active(), live(&self.table), "a job is on its way in for ever");
        assert!(self.table.active() <= 50);
        let changes = self.table.orders().changes;
        assert!(changes.iter().all(|change| match self.table.entry(*change) {
            Entry::Put(_, record, _) => record.len() <= MAX_RECORD,
            Entry::Remove(_) => true,
        }));
    }
}
