//! A book that answers requests, for fuzz targets.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Duration;

use windlass_wire::ipp::{Message, TooLong};

use super::{Context, Goal, Step, respond};
use crate::spool::book::{Book, Next, Outcome, Refusal, Rules};
use crate::spool::device::Device;
use crate::spool::job::{Filed, JobId, Moment};
use crate::spool::printer::PrinterSettings;
use crate::spool::store::{Durability, Error, Settings, Store};

/// Two printers, a clock, and a store in memory.
#[derive(Debug)]
pub struct Responder {
    book: Book,
    store: Store,
    now: Moment,
}

impl Responder {
    /// Without jobs.
    ///
    /// # Errors
    /// Where there is no memory.
    pub fn new() -> Result<Self, Error> {
        let printers = ["a", "b/ü"].map(|name| PrinterSettings::new(name, Device::Drop));
        let rules = Rules { keeps_documents: true, most_jobs: Some(50), ..Rules::default() };
        let now = Moment(1_800_000_000_000);
        let book = Book::new(printers.to_vec(), rules, now);
        let settings = Settings { durability: Durability::Memory, most: None };
        let (store, _) = Store::open(Path::new(""), settings)?;
        Ok(Self { book, store, now })
    }

    fn document(&self, name: Box<str>) -> Result<Filed, Error> {
        let mut draft = self.store.draft();
        draft.append(b"a document")?;
        Ok(Filed { document: draft.finish()?, name })
    }

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
            Step::Answer(answer) | Step::Created { answer, .. } | Step::Canceled { answer, .. } => {
                answer.encode()
            }
            Step::Receive(receive) => {
                let document = self.document(receive.name.clone());
                let done = match (&receive.goal, document) {
                    (Goal::New { place, .. }, Err(error)) => {
                        self.book.give_up(*place);
                        Err(error.into())
                    }
                    (Goal::New { place, ticket }, Ok(document)) => {
                        Ok(self.book.file(*place, ticket.clone(), vec![document], self.now))
                    }
                    (Goal::More { id, is_last }, document) => self.added(*id, *is_last, document),
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

    fn added(
        &mut self,
        id: JobId,
        is_last: bool,
        document: Result<Filed, Error>,
    ) -> Result<JobId, Refusal> {
        self.book.add(id, Some(document?), is_last, self.now).map(|()| id)
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
        let live = |book: &Book| book.printers().iter().map(|one| one.live.len()).sum::<usize>();
        assert_eq!(self.book.active(), live(&self.book), "a job is on its way in for ever");
        assert!(self.book.active() <= 50);
        let changes = self.book.changes();
        assert!(changes.iter().all(|change| match self.book.entry(*change) {
            Some(crate::spool::book::Entry::Put(_, record, _)) =>
                record.len() <= crate::spool::store::MOST_RECORD,
            _ => true,
        }));
        self.book.stirred();
    }
}
