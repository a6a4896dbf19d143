//! A book that answers requests, for fuzz targets.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use windlass_wire::ipp::{Message, TooLong};

use super::{Context, Goal, Step, respond};
use crate::book::{Book, Entry, MOST_RECORD, Next, Outcome, Rules};
use crate::device::Device;
use crate::job::{Filed, Moment};
use crate::printer::PrinterSettings;

/// Two printers and a clock. Its documents are sizes and nothing else.
#[derive(Debug)]
pub struct Responder {
    book: Book<u64>,
    now: Moment,
}

impl Default for Responder {
    /// Without jobs.
    fn default() -> Self {
        let printers = ["a", "b/ü"].map(|name| PrinterSettings::new(name, Device::Drop));
        let rules = Rules { keeps_documents: true, most_jobs: Some(50), ..Rules::default() };
        let now = Moment(1_800_000_000_000);
        let book = Book::new(printers.to_vec(), rules, now);
        Self { book, now }
    }
}

impl Responder {
    /// The octets of the answer to a request that a document follows.
    ///
    /// # Errors
    /// Where an answer has no room in the protocol, which no request may bring about.
    ///
    /// # Panics
    /// Where the book does not count right afterwards.
    pub fn ask(
        &mut self,
        request: &Message,
        path: &str,
        is_admin: bool,
    ) -> Result<Vec<u8>, TooLong> {
        let context = Context {
            authority: "localhost:631",
            path,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            is_admin,
            now: self.now,
            most_document: Some(1 << 20),
        };
        let octets = match respond(request, &mut self.book, &context) {
            Step::Answer(answer) | Step::Created { answer, .. } => answer.encode(),
            Step::Receive(receive) => {
                let filed = Filed { document: 10, name: receive.name.clone() };
                let done = match &receive.goal {
                    Goal::New { place, ticket } => {
                        Ok(self.book.file(*place, ticket.clone(), vec![filed], self.now))
                    }
                    Goal::More { id, is_last } => {
                        self.book.add(*id, Some(filed), *is_last, self.now).map(|()| *id)
                    }
                };
                if let Ok(id) = done {
                    self.book.settled(id);
                }
                receive.answer(done, &self.book, &context).encode()
            }
            Step::List(mut listing) => listing.head().encode_open().and_then(|mut octets| {
                while let Some(groups) = listing.page(&self.book, &context) {
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
    ///
    /// # Panics
    /// Where the book does not count right afterwards.
    pub fn print(&mut self, place: usize, is_delivered: bool, span: Duration) {
        self.now = self.now.after(span);
        self.book.overdue(self.now);
        let place = place % self.book.printers().len();
        let failed = || Outcome::Failed("no paper".to_owned());
        let outcome = if is_delivered { Outcome::Delivered } else { failed() };
        self.book.finished(place, outcome, self.now);
        if let Next::Job(work) = self.book.next(place, self.now) {
            assert_eq!(self.book.job(work.id).map(|job| job.printer), Some(place));
        }
        self.check();
    }

    fn check(&mut self) {
        let live =
            |book: &Book<u64>| book.printers().iter().map(|one| one.live.len()).sum::<usize>();
        assert_eq!(self.book.active(), live(&self.book), "a job is on its way in for ever");
        assert!(self.book.active() <= 50);
        let changes = self.book.orders().changes;
        assert!(changes.iter().all(|change| match self.book.entry(*change) {
            Some(Entry::Put(_, record, _)) => record.len() <= MOST_RECORD,
            _ => true,
        }));
    }
}
