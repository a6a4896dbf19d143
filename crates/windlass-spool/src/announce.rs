//! DNS-SD announcements of printers (RFC 6763) over multicast DNS, by the Bonjour Printing
//! Specification 1.2.1.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mdns_sd::{Error, ServiceDaemon, ServiceInfo};
use windlass_spool_core::respond;
use windlass_spool_core::{JobTable, Printer, StoredDocument};
use windlass_wire::escape;

use crate::host::host;
use crate::serve::ListenAddresses;
use crate::spooler::Spooler;

/// Subtypes that clients query: `_print` for IPP printers; `_universal` is the one of iOS and IPP
/// Everywhere, for printers that need no driver. The library gives a service one subtype, so each
/// subtype has its own responder, with the same answers.
const SUBTYPES: [&str; 2] = ["_universal", "_print"];

/// Interval between checks for printers that were added, removed or changed.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Interval between checks whether the announcer is to end.
const STEP: Duration = Duration::from_millis(100);

/// Maximum length of a TXT record's value: its string has 255 bytes including the key.
const MAX_VALUE: usize = 200;

/// Errors of announcing printers.
#[derive(Debug, thiserror::Error)]
pub enum AnnounceError {
    /// Other hosts cannot reach the server.
    #[error("other hosts cannot reach IPP here: {0} is an address of this host only")]
    Local(SocketAddr),
    /// Error of mDNS.
    #[error("DNS-SD: {0}")]
    Failed(#[from] Error),
    /// A thread could not be started.
    #[error("DNS-SD: {0}")]
    Thread(#[from] std::io::Error),
}

/// Announcer of a spool's printers, until it is ended.
#[derive(Debug)]
pub struct Announcer {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Announcer {
    /// Announces the printers of a spool that is served at these addresses. With a certificate, the
    /// IPP addresses are announced with TLS, too.
    ///
    /// # Errors
    /// No other host can reach the addresses, or the system has no socket for DNS-SD.
    pub fn start(
        spooler: &Arc<Spooler>,
        listen: &ListenAddresses,
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
        let place = AnnouncedHost { host: host(), page, has_tls: ipps.is_some() };
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

    /// Withdraws the announcements.
    pub fn end(self) {
        self.ends.store(true, Ordering::Relaxed);
        // A thread that panicked announces nothing either.
        let _ = self.thread.join();
    }
}

/// Host and web page of the announced printers.
#[derive(Debug)]
struct AnnouncedHost {
    host: String,
    /// Address of the web page.
    page: SocketAddr,
    has_tls: bool,
}

/// Responder for one type of service.
struct Responder {
    kind: String,
    /// Address of the services.
    at: SocketAddr,
    /// True if the responder probes whether another host has the name. The other responders
    /// announce the same service.
    asks: bool,
    daemon: ServiceDaemon,
}

/// Service name and TXT record of a printer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Service {
    name: String,
    txt: Vec<(&'static str, String)>,
}

impl Service {
    fn of<D: StoredDocument>(
        table: &JobTable<D>,
        printer: &Printer,
        place: &AnnouncedHost,
    ) -> Self {
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
            // Documents reach the device unchanged, so the server does not know what the device
            // makes of them.
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

    /// Returns the service in the library's form.
    fn info(&self, place: &AnnouncedHost, responder: &Responder) -> Result<ServiceInfo, Error> {
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

fn announce(
    spooler: &Arc<Spooler>,
    place: &AnnouncedHost,
    responders: &[Responder],
    ends: &AtomicBool,
) {
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
            // The library's queue is full: the next round tries again.
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

/// Withdraws the announcement of a printer.
fn take_back(service: &Service, place: &AnnouncedHost, responders: &[Responder]) {
    for responder in responders {
        if let Ok(info) = service.info(place, responder) {
            told(|| responder.daemon.unregister(info.get_fullname()).map(drop));
        }
    }
}

/// Calls the library, and tries again while its queue is full.
fn told(mut say: impl FnMut() -> Result<(), Error>) -> bool {
    for _ in 0..50 {
        match say() {
            Err(Error::Again) => thread::sleep(STEP / 10),
            done => return done.is_ok(),
        }
    }
    false
}
