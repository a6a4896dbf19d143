//! What the threads of a server share, and what they tell.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use windlass_wire::iperf3::Cookie;

use super::flows::Port;
use super::gauge::{Gauge, Gauged, Gauges};
use super::registry::Registry;
use crate::control::{TestId, Token};
use crate::driven::Driven;
use crate::ip::{Bind, Ip};
use crate::protocol::Protocol;
use crate::report::SideReport;
use crate::side::Ends;
use crate::socket::Options;
use crate::stream::Sink;
use crate::transfer::Transfer;

/// How a server behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The token that it asks for.
    pub token: Option<Token>,
    /// The most connections at a time.
    pub most_connections: usize,
    /// The most tests at a time.
    pub most_tests: usize,
    /// What it says that it is.
    pub software: String,
    /// Where the data of those goes who send data and nothing else; nowhere,
    /// without. There should be one test at a time then.
    pub output: Option<Sink>,
    /// True if each byte that is received is looked at, as a program does that uses it.
    pub touch: bool,
    /// The interface that it listens on; without it, all.
    pub device: Option<String>,
}

impl Settings {
    /// How it listens.
    pub(super) fn listening(&self) -> Options {
        let bind = Bind { address: None, device: self.device.clone() };
        Options { ip: Ip { bind, ..Ip::default() }, ..Options::default() }
    }
}

impl Default for Settings {
    fn default() -> Self {
        let software = concat!("windlass ", env!("CARGO_PKG_VERSION")).to_owned();
        Self {
            token: None,
            most_connections: 4_096,
            most_tests: 64,
            software,
            output: None,
            touch: false,
            device: None,
        }
    }
}

/// What a server tells of.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A port is listened on.
    Listens {
        /// For whom.
        protocols: &'static [Protocol],
        /// True if for datagrams of UDP.
        udp: bool,
        /// The address.
        address: SocketAddr,
    },
    /// A port cannot be listened on, and the others are.
    DoesNotListen {
        /// For whom.
        protocols: &'static [Protocol],
        /// True if for datagrams of UDP.
        udp: bool,
        /// Why.
        why: String,
    },
    /// A test begins.
    Begins {
        /// Its number, from 1.
        test: u64,
        /// Who asked for it.
        client: SocketAddr,
        /// Its protocol.
        protocol: Protocol,
        /// What for.
        transfer: Transfer,
    },
    /// A test is over.
    Ends {
        /// Its number.
        test: u64,
        /// Who asked for it.
        client: SocketAddr,
        /// How it spoke.
        protocol: Protocol,
        /// This end's measurements.
        #[serde(rename = "server")]
        near: SideReport,
        /// What the client measured; nothing where it could not say.
        #[serde(rename = "client_report")]
        far: Option<SideReport>,
        /// The reason why it did not end as it should; nothing where it did.
        failure: Option<String>,
    },
    /// A client asks for round trips.
    Echoes {
        /// Who asks.
        client: SocketAddr,
    },
    /// A connection came to nothing.
    Refused {
        /// Who it was.
        client: SocketAddr,
        /// Why, in words.
        why: String,
    },
}

/// Who is told. It is called from several threads.
pub type Tell = dyn Fn(Event) + Send + Sync;

/// What the threads of a server share.
pub(crate) struct Own {
    pub(crate) settings: Settings,
    pub(super) tell: Box<Tell>,
    pub(super) registry: Registry<TestId>,
    /// Where flows of datagrams come, where they may.
    pub(crate) flows: OnceLock<Port>,
    /// The tests of iperf3's clients.
    pub(crate) cookies: Registry<Cookie>,
    /// How many flows of iperf 2 are served.
    pub(super) flowing: AtomicUsize,
    pub(super) connections: AtomicUsize,
    /// How many connections were accepted.
    pub(super) arrived: AtomicU64,
    pub(crate) tests: AtomicUsize,
    pub(crate) number: AtomicU64,
    pub(super) stop: AtomicBool,
    pub(super) gauges: Gauges,
}

/// One of a bounded number; it is given back when it goes.
pub(crate) struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    pub(crate) fn take(count: &'a AtomicUsize, most: usize) -> Option<Self> {
        let more = |count| (count < most).then_some(count + 1);
        count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self(count))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Own {
    pub(crate) fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// What the threads of a test work with.
    pub(crate) fn ends(&self) -> Ends {
        Ends { touch: self.settings.touch, ..Ends::default() }
    }

    /// What is known of a test while it runs.
    pub(crate) fn gauge(&self, test: u64) -> Option<Arc<Gauge>> {
        self.gauges.of(test)
    }

    /// Lets an end of a test be known while it runs.
    pub(crate) fn gauged(&self, test: u64, side: impl Driven + 'static) -> Gauged {
        Gauged::new(Box::new(side), self.gauge(test))
    }

    pub(crate) fn say(&self, event: Event) {
        match &event {
            Event::Begins { test, client, protocol, transfer } => {
                self.gauges.begins((*test, *client), *protocol, transfer.clone());
            }
            Event::Ends { test, .. } => self.gauges.ends(*test),
            Event::Refused { client, .. } => self.gauges.refused(*client),
            _ => {}
        }
        (self.tell)(event);
    }
}
