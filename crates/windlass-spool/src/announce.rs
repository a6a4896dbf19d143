//! Printers that are found by themselves: announced by DNS-SD (RFC 6763) over multicast
//! DNS, as the Bonjour Printing Specification 1.2.1 has it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mdns_sd::{Error, ServiceDaemon, ServiceInfo};
use windlass_spool_core::respond;
use windlass_spool_core::{JobTable, Printer, Stored};
use windlass_wire::escape;

use crate::host::host;
use crate::serve::Listen;
use crate::spooler::Spooler;

/// What clients ask for: each for IPP's printers, and iOS and IPP Everywhere for those of
/// them that need no driver. The library gives a service one subtype, so each has a
/// responder of its own; what they say is the same.
const SUBTYPES: [&str; 2] = ["_universal", "_print"];

/// How often it is looked for printers that have come, gone or changed.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// How often it is looked whether that ends.
const STEP: Duration = Duration::from_millis(100);

/// The longest value of a TXT record: its string has 255 bytes with the key.
const MAX_VALUE: usize = 200;

/// Why printers are not announced.
#[derive(Debug, thiserror::Error)]
pub enum AnnounceError {
    /// Nobody else could come.
    #[error("nothing listens for IPP where another host could come: {0} is of this host alone")]
    Local(SocketAddr),
    /// The system says no.
    #[error("announce printers: {0}")]
    Failed(#[from] Error),
    /// There is no thread to be had.
    #[error("announce printers: {0}")]
    Thread(#[from] std::io::Error),
}

/// Announces the printers of a spool as long as it lives.
#[derive(Debug)]
pub struct Announcer {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Announcer {
    /// Announces the printers of a spool that is served there. With a certificate, what takes
    /// IPP takes it by TLS, too.
    ///
    /// # Errors
    /// Where no other host can come there, or the system has no socket for it.
    pub fn start(
        spooler: &Arc<Spooler>,
        listen: &Listen,
        has_certificate: bool,
    ) -> Result<Self, AnnounceError> {
        let open = |all: &[SocketAddr]| {
            all.iter().find(|at| !at.ip().to_canonical().is_loopback()).copied()
        };
        let ipp = open(&listen.ipp);
        let ipps = open(&listen.tls).or(ipp.filter(|_| has_certificate));
        let Some(page) = ipps.or(ipp) else {
            let usual = SocketAddr::from(([127, 0, 0, 1], 0));
            return Err(AnnounceError::Local(listen.ipp.first().copied().unwrap_or(usual)));
        };
        let place = Place { host: host(), page, has_tls: ipps.is_some() };
        let kinds = [("_ipp", ipp), ("_ipps", ipps)];
        let kinds = kinds.into_iter().filter_map(|(kind, at)| Some((kind, at?)));
        let responders = kinds.flat_map(|(kind, at)| {
            SUBTYPES.iter().enumerate().map(move |(place, subtype)| {
                let kind = format!("{subtype}._sub.{kind}._tcp.local.");
                Ok(Responder { kind, at, asks: place == 0, daemon: ServiceDaemon::new()? })
            })
        });
        let responders = responders.collect::<Result<Vec<_>, Error>>()?;
        let ends = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("announcer".to_owned());
        let (spooler, told) = (Arc::clone(spooler), Arc::clone(&ends));
        let thread = thread.spawn(move || announce(&spooler, &place, &responders, &told))?;
        Ok(Self { ends, thread })
    }

    /// Takes the announcements back.
    pub fn end(self) {
        self.ends.store(true, Ordering::Relaxed);
        // One that panicked announces nothing either.
        let _ = self.thread.join();
    }
}

/// Where printers are.
#[derive(Debug)]
struct Place {
    host: String,
    /// Where their page is.
    page: SocketAddr,
    has_tls: bool,
}

/// One that answers for a type of services.
struct Responder {
    kind: String,
    /// Where these are served.
    at: SocketAddr,
    /// Whether it asks if another has the name: the others are the same service.
    asks: bool,
    daemon: ServiceDaemon,
}

/// What is announced of a printer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Service {
    name: String,
    txt: Vec<(&'static str, String)>,
}

impl Service {
    fn of<D: Stored>(table: &JobTable<D>, printer: &Printer, place: &Place) -> Self {
        let settings = &printer.settings;
        let what = if settings.info.is_empty() { &settings.name } else { &settings.info };
        // A label has 63 bytes (RFC 1035, section 2.3.4), and the name must be one's own.
        let own = if settings.info == settings.name {
            settings.name.clone()
        } else {
            format!("{what} ({})", settings.name)
        };
        let name = format!("{own} @ {}", place.host);
        let name = cut(&name, 63).to_owned();
        let path = format!("printers/{}", escape::segment(&settings.name));
        let mut pdl: Vec<&str> = settings.formats.iter().map(String::as_str).collect();
        while pdl.join(",").len() > MAX_VALUE {
            pdl.pop();
        }
        let page = if place.has_tls { "https" } else { "http" };
        let uuid = respond::printer_uuid(table, &settings.name);
        let uuid = uuid.trim_start_matches("urn:uuid:").to_owned();
        let mut txt = vec![
            ("txtvers", "1".to_owned()),
            ("qtotal", "1".to_owned()),
            ("rp", path),
            ("ty", cut(&settings.model, MAX_VALUE).to_owned()),
            ("product", format!("({})", cut(&settings.model, MAX_VALUE - 2))),
            ("note", cut(&settings.location, MAX_VALUE).to_owned()),
            ("adminurl", format!("{page}://{}.local:{}/", place.host, place.page.port())),
            ("pdl", pdl.join(",")),
            ("UUID", uuid),
            ("kind", "document".to_owned()),
            ("priority", "50".to_owned()),
            // All goes to the device as it came, so what it makes of it is not known here.
            ("Color", "U".to_owned()),
            ("Duplex", "U".to_owned()),
            ("Copies", "T".to_owned()),
        ];
        if place.has_tls {
            txt.push(("TLS", "1.2".to_owned()));
        }
        if settings.formats.iter().any(|format| format == "image/urf") {
            txt.push(("URF", respond::urf(printer.has_colour(), printer.has_duplex()).join(",")));
        }
        Self { name, txt }
    }

    /// As one of the library's.
    fn info(&self, place: &Place, responder: &Responder) -> Result<ServiceInfo, Error> {
        let Responder { kind, at, asks, .. } = responder;
        let host = format!("{}.local.", place.host);
        let txt: Vec<(String, String)> =
            self.txt.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let mut info = if at.ip().is_unspecified() {
            ServiceInfo::new(kind, &self.name, &host, "", at.port(), txt.as_slice())?
                .enable_addr_auto()
        } else {
            ServiceInfo::new(kind, &self.name, &host, at.ip(), at.port(), txt.as_slice())?
        };
        info.set_requires_probe(*asks);
        Ok(info)
    }
}

fn cut(text: &str, most: usize) -> &str {
    let end = text.char_indices().map(|(at, one)| at + one.len_utf8());
    let end = end.take_while(|end| *end <= most).last().unwrap_or(0);
    &text[..end]
}

fn announce(spooler: &Arc<Spooler>, place: &Place, responders: &[Responder], ends: &AtomicBool) {
    let mut known: HashMap<String, Service> = HashMap::new();
    while !ends.load(Ordering::Relaxed) {
        let wanted: Vec<Service> = spooler
            .look(|table| table.listed().map(|one| Service::of(table, one, place)).collect());
        let names: Vec<&String> = wanted.iter().map(|one| &one.name).collect();
        let gone = known.keys().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>();
        for name in gone {
            if let Some(service) = known.remove(&name) {
                take_back(&service, place, responders);
            }
        }
        for service in wanted {
            if known.get(&service.name) == Some(&service) {
                continue;
            }
            let done = responders.iter().all(|responder| {
                let info = service.info(place, responder);
                info.is_ok_and(|info| told(|| responder.daemon.register(info.clone())))
            });
            // What the library has no room for now comes the next time.
            if done {
                known.insert(service.name.clone(), service);
            }
        }
        let mut waited = Duration::ZERO;
        while waited < POLL_INTERVAL && !ends.load(Ordering::Relaxed) {
            thread::sleep(STEP);
            waited += STEP;
        }
    }
    for service in known.values() {
        take_back(service, place, responders);
    }
    for responder in responders {
        if let Ok(status) = responder.daemon.shutdown() {
            let _ = status.recv_timeout(STEP * 10);
        }
    }
}

/// Says that a printer is there no more.
fn take_back(service: &Service, place: &Place, responders: &[Responder]) {
    for responder in responders {
        if let Ok(info) = service.info(place, responder) {
            told(|| responder.daemon.unregister(info.get_fullname()).map(drop));
        }
    }
}

/// Tells the library something, which may have too much to do for a moment.
fn told(mut say: impl FnMut() -> Result<(), Error>) -> bool {
    for _ in 0..50 {
        match say() {
            Err(Error::Again) => thread::sleep(STEP / 10),
            done => return done.is_ok(),
        }
    }
    false
}
