//! Printers that are found by themselves: announced by DNS-SD (RFC 6763) over multicast
//! DNS, as the Bonjour Printing Specification 1.2.1 has it.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mdns_sd::{Error, ServiceDaemon, ServiceInfo};
use windlass_spool_core::respond;
use windlass_spool_core::{JobTable, Printer, Stored};
use windlass_wire::escape;

use crate::host::host;
use crate::spooler::Spooler;

/// What clients ask for: each for IPP's printers, and iOS and IPP Everywhere for those of
/// them that need no driver. The library gives a service one subtype, so each has a
/// responder of its own; what they say is the same.
const TYPES: [&str; 2] = ["_universal._sub._ipp._tcp.local.", "_print._sub._ipp._tcp.local."];

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
    /// Announces the printers of a spool that is served there, by TLS as well or not.
    ///
    /// # Errors
    /// Where no other host can come there, or the system has no socket for it.
    pub fn start(
        spooler: &Arc<Spooler>,
        ipp: &[SocketAddr],
        has_tls: bool,
    ) -> Result<Self, AnnounceError> {
        let is_open = |at: &&SocketAddr| !at.ip().to_canonical().is_loopback();
        let Some(at) = ipp.iter().find(is_open) else {
            let usual = SocketAddr::from(([127, 0, 0, 1], 0));
            return Err(AnnounceError::Local(ipp.first().copied().unwrap_or(usual)));
        };
        let place = Place { host: host(), address: at.ip(), port: at.port(), has_tls };
        let daemons = TYPES.iter().map(|kind| Ok((*kind, ServiceDaemon::new()?)));
        let daemons = daemons.collect::<Result<Vec<_>, Error>>()?;
        let ends = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("announcer".to_owned());
        let (spooler, told) = (Arc::clone(spooler), Arc::clone(&ends));
        let thread = thread.spawn(move || announce(&spooler, &place, &daemons, &told))?;
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
    address: IpAddr,
    port: u16,
    has_tls: bool,
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
        let uuid = respond::printer_uuid(table, &settings.name);
        let uuid = uuid.trim_start_matches("urn:uuid:").to_owned();
        let mut txt = vec![
            ("txtvers", "1".to_owned()),
            ("qtotal", "1".to_owned()),
            ("rp", path),
            ("ty", cut(&settings.model, MAX_VALUE).to_owned()),
            ("product", format!("({})", cut(&settings.model, MAX_VALUE - 2))),
            ("note", cut(&settings.location, MAX_VALUE).to_owned()),
            ("adminurl", format!("http://{}.local:{}/", place.host, place.port)),
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
    fn info(&self, kind: &str, place: &Place) -> Result<ServiceInfo, Error> {
        let mut info = self.plain(kind, place)?;
        // The first asks whether another has the name; the others are the same service.
        info.set_requires_probe(kind == TYPES[0]);
        Ok(info)
    }

    fn plain(&self, kind: &str, place: &Place) -> Result<ServiceInfo, Error> {
        let host = format!("{}.local.", place.host);
        let txt: Vec<(String, String)> =
            self.txt.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        if place.address.is_unspecified() {
            let info = ServiceInfo::new(kind, &self.name, &host, "", place.port, txt.as_slice())?;
            return Ok(info.enable_addr_auto());
        }
        ServiceInfo::new(kind, &self.name, &host, place.address, place.port, txt.as_slice())
    }
}

fn cut(text: &str, most: usize) -> &str {
    let end = text.char_indices().map(|(at, one)| at + one.len_utf8());
    let end = end.take_while(|end| *end <= most).last().unwrap_or(0);
    &text[..end]
}

fn announce(
    spooler: &Arc<Spooler>,
    place: &Place,
    daemons: &[(&str, ServiceDaemon)],
    ends: &AtomicBool,
) {
    let mut known: HashMap<String, Service> = HashMap::new();
    while !ends.load(Ordering::Relaxed) {
        let wanted: Vec<Service> = spooler.look(|table| {
            table.printers().iter().map(|one| Service::of(table, one, place)).collect()
        });
        let names: Vec<&String> = wanted.iter().map(|one| &one.name).collect();
        let gone = known.keys().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>();
        for name in gone {
            if let Some(service) = known.remove(&name) {
                take_back(&service, place, daemons);
            }
        }
        for service in wanted {
            if known.get(&service.name) == Some(&service) {
                continue;
            }
            let done = daemons.iter().all(|(kind, daemon)| {
                service.info(kind, place).is_ok_and(|info| told(|| daemon.register(info.clone())))
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
        take_back(service, place, daemons);
    }
    for (_, daemon) in daemons {
        if let Ok(status) = daemon.shutdown() {
            let _ = status.recv_timeout(STEP * 10);
        }
    }
}

/// Says that a printer is there no more.
fn take_back(service: &Service, place: &Place, daemons: &[(&str, ServiceDaemon)]) {
    for (kind, daemon) in daemons {
        if let Ok(info) = service.info(kind, place) {
            told(|| daemon.unregister(info.get_fullname()).map(drop));
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
