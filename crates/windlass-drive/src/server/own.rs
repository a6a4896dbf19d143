//! State shared by the threads of a server, and the server's events.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use windlass_wire::iperf3::Cookie;

use super::door::Door;
use super::flows::Port;
use super::gauge::{Gauge, GaugedSide, Gauges};
use super::registry::Registry;
use crate::control::{TestId, Token};
use crate::driven::TestSide;
use crate::ip::{Bind, Ip};
use crate::protocol::Protocol;
use crate::report::SideReport;
use crate::side::ThreadSettings;
use crate::socket::Options;
use crate::stream::Sink;
use crate::transfer::Transfer;

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Required token.
    pub token: Option<Token>,
    /// Maximum number of connections at a time.
    pub most_connections: usize,
    /// Maximum number of tests at a time.
    pub most_tests: usize,
    /// Name and version that the server reports.
    pub software: String,
    /// Destination of the data of clients that send only data; without it, the data is discarded.
    /// There should then be one test at a time.
    pub output: Option<Sink>,
    /// True if each received byte is read, as a program that uses the data would do.
    pub touch: bool,
    /// Interface to listen on; all if none is set.
    pub device: Option<String>,
}

impl Settings {
    /// Returns the socket options of the listener.
    pub(super) fn listening(&self) -> Options {
        let bind = Bind { device: self.device.clone(), ..Bind::default() };
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

/// An event of a server.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The server listens on a port.
    Listens {
        /// Protocols served on the port.
        protocols: &'static [Protocol],
        /// True for UDP.
        udp: bool,
        /// Address of the port.
        address: SocketAddr,
    },
    /// The server cannot listen on a port, but listens on the others.
    DoesNotListen {
        /// Protocols of the port.
        protocols: &'static [Protocol],
        /// True for UDP.
        udp: bool,
        /// Reason for the failure.
        why: String,
    },
    /// A test begins.
    Begins {
        /// Number of the test, from 1.
        test: u64,
        /// Address of the client.
        client: SocketAddr,
        /// Protocol of the test.
        protocol: Protocol,
        /// The transfer.
        transfer: Transfer,
    },
    /// A test has ended.
    Ends {
        /// Number of the test.
        test: u64,
        /// Address of the client.
        client: SocketAddr,
        /// Protocol of the test.
        protocol: Protocol,
        /// The server's measurements.
        #[serde(rename = "server")]
        near: SideReport,
        /// The client's measurements; nothing if the client could not report any.
        #[serde(rename = "client_report")]
        far: Option<SideReport>,
        /// Reason why the test did not end normally; nothing if it did.
        failure: Option<String>,
    },
    /// A client requests round trips.
    Echoes {
        /// Address of the client.
        client: SocketAddr,
    },
    /// A connection failed or was refused.
    Refused {
        /// Address of the client.
        client: SocketAddr,
        /// Reason, in words.
        why: String,
    },
}

/// Handler of events, called from several threads.
pub type EventHandler = dyn Fn(Event) + Send + Sync;

/// State shared by the threads of a server.
pub(crate) struct ServerState {
    pub(crate) settings: Settings,
    pub(super) tell: Box<EventHandler>,
    pub(super) registry: Registry<TestId>,
    /// The window of connections to its port.
    pub(crate) door: Door,
    /// Port for flows of datagrams, if the server accepts them.
    pub(crate) flows: OnceLock<Port>,
    /// Tests of iperf3's clients.
    pub(crate) cookies: Registry<Cookie>,
    /// Number of flows of iperf 2 being served.
    pub(super) flowing: AtomicUsize,
    pub(super) connections: AtomicUsize,
    /// Number of accepted connections.
    pub(super) arrived: AtomicU64,
    pub(crate) tests: AtomicUsize,
    pub(crate) number: AtomicU64,
    pub(super) stop: AtomicBool,
    pub(super) gauges: Gauges,
}

/// A slot of a bounded number; dropping it frees the slot.
pub(crate) struct Slot<'a>(&'a AtomicUsize);

impl<'a> Slot<'a> {
    pub(crate) fn take(count: &'a AtomicUsize, most: usize) -> Option<Self> {
        let more = |count| (count < most).then_some(count + 1);
        count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self(count))
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ServerState {
    pub(crate) fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the settings for the threads of a test.
    pub(crate) fn ends(&self) -> ThreadSettings {
        ThreadSettings { touch: self.settings.touch, ..ThreadSettings::default() }
    }

    /// Returns the gauge of a running test.
    pub(crate) fn gauge(&self, test: u64) -> Option<Arc<Gauge>> {
        self.gauges.of(test)
    }

    /// Adds the gauge of a running test to one of its ends.
    pub(crate) fn gauged(&self, test: u64, side: impl TestSide + 'static) -> GaugedSide {
        GaugedSide::new(Box::new(side), self.gauge(test))
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
