//! Opening a capture's sockets.
//!
//! A socket that is not bound receives no packet. So everything is set up before, the filter too,
//! and no packet comes that was not asked for.

use std::io;
use std::num::NonZeroU16;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use libc::c_int;
use rustix::net::{AddressFamily, SocketType};

use super::interface::Framing;
use super::{Direction, Instruction, Interface, Settings, Source, Statistics};
use crate::call::checked;
use crate::namespace::{Namespace, NamespaceStep};
use crate::socket::{self, Numbers, get, set};

/// Step at which the system refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenStep {
    /// Opening a packet socket, which takes `CAP_NET_RAW`.
    #[error("cannot open a packet socket")]
    Open,
    /// Entering the namespace of the settings.
    #[error("cannot enter the network namespace")]
    Namespace,
    /// Finding the interface by its name.
    #[error("cannot find the interface")]
    Interface,
    /// Setting the filter, before any packet comes.
    #[error("cannot set the filter")]
    Filter,
    /// Making the ring, or the socket's buffer.
    #[error("cannot make the buffer")]
    Buffer,
    /// Setting another option of the socket.
    #[error("cannot set up the packet socket")]
    Set,
    /// Binding the socket to the interface.
    #[error("cannot listen on the interface")]
    Bind,
}

/// Refusal of a step of opening a capture.
pub type Refusal = crate::refused::Refusal<OpenStep>;

/// A packet socket, and its counts so far.
#[derive(Debug)]
pub(super) struct Socket {
    file: OwnedFd,
    counts: Statistics,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Socket {
    pub(super) fn new(file: OwnedFd) -> Self {
        Self { file, counts: Statistics::default() }
    }

    /// Sets an option of packet(7).
    pub(super) fn set<T: ?Sized>(&self, option: c_int, value: &T) -> io::Result<()> {
        set(self, libc::SOL_PACKET, option, value)
    }

    /// Sets the filter.
    pub(super) fn filter(&self, filter: &[Instruction]) -> io::Result<()> {
        let program = libc::sock_fprog {
            len: u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
            // The kernel only reads, and the instructions have its layout.
            filter: filter.as_ptr().cast_mut().cast(),
        };
        set(self, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }

    /// Lets no more packets in.
    pub(super) fn refuse_all(&self) -> io::Result<()> {
        self.filter(&[Instruction::keep(0)])
    }

    fn get<T: Numbers>(&self, level: c_int, option: c_int) -> io::Result<T> {
        get(self, level, option).map(|(value, _)| value)
    }

    /// Returns the counts since the socket was opened.
    pub(super) fn statistics(&mut self) -> io::Result<Statistics> {
        // A socket without a ring writes the first two numbers only.
        let now: libc::tpacket_stats_v3 = self.get(libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
        self.counts += Statistics {
            received: now.tp_packets.into(),
            dropped: now.tp_drops.into(),
            freezes: now.tp_freeze_q_cnt.into(),
        };
        Ok(self.counts)
    }

    /// Takes the pending error off the socket.
    pub(super) fn take_error(&self) -> io::Result<Option<io::Error>> {
        let errno: c_int = self.get(libc::SOL_SOCKET, libc::SO_ERROR)?;
        Ok((errno != 0).then(|| io::Error::from_raw_os_error(errno)))
    }

    /// Returns the receive buffer in bytes, as the kernel counts them.
    pub(super) fn receive_buffer(&self) -> io::Result<u64> {
        let bytes: c_int = self.get(libc::SOL_SOCKET, libc::SO_RCVBUF)?;
        Ok(u64::from(bytes.unsigned_abs()))
    }
}

/// Opens the sockets, which receive no packets yet.
pub(super) fn open(
    name: &str,
    settings: &Settings<'_>,
) -> Result<(Vec<Socket>, Interface), Refusal> {
    let interface = Interface::look(name, settings.namespace)?;
    let kind = match interface.framing() {
        Framing::Cooked => SocketType::DGRAM,
        Framing::Ethernet | Framing::Ip => SocketType::RAW,
    };
    let mut sockets = Vec::new();
    for _ in 0..settings.spread.get() {
        let socket = Socket::new(packet_socket(settings.namespace, kind)?);
        set_up(&socket, &interface, settings)?;
        sockets.push(socket);
    }
    Ok((sockets, interface))
}

impl Interface {
    /// Finds an interface in a namespace; `None` is the thread's own.
    ///
    /// # Errors
    /// Fails if there is none of this name, or no packet socket can be opened.
    pub fn look(name: &str, namespace: Option<&Namespace>) -> Result<Self, Refusal> {
        let socket = packet_socket(namespace, SocketType::RAW)?;
        Self::find(&socket, name).map_err(Refusal::at(OpenStep::Interface))
    }
}

/// Opens a packet socket that is not bound: nothing comes to it.
pub(crate) fn packet_socket(
    namespace: Option<&Namespace>,
    kind: SocketType,
) -> Result<OwnedFd, Refusal> {
    if let Some(namespace) = namespace {
        let opened = namespace.socket(AddressFamily::PACKET, kind, NamespaceStep::Socket);
        return opened.map_err(|refused| {
            let entering = refused.step == NamespaceStep::Enter;
            let step = if entering { OpenStep::Namespace } else { OpenStep::Open };
            Refusal { step, error: refused.error }
        });
    }
    socket::open(AddressFamily::PACKET, kind).map_err(Refusal::at(OpenStep::Open))
}

/// Sets everything that must be set before a ring is made.
fn set_up(socket: &Socket, interface: &Interface, settings: &Settings<'_>) -> Result<(), Refusal> {
    let setting = Refusal::at(OpenStep::Set);
    let yes = 1_i32;
    match settings.source {
        Source::Ring { .. } => {
            let version = libc::tpacket_versions::TPACKET_V3 as c_int;
            socket.set(libc::PACKET_VERSION, &version).map_err(&setting)?;
        }
        Source::Single { buffer } => {
            socket.set(libc::PACKET_AUXDATA, &yes).map_err(&setting)?;
            set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &yes).map_err(&setting)?;
            if let Some(bytes) = buffer {
                grow(socket, bytes).map_err(Refusal::at(OpenStep::Buffer))?;
            }
        }
    }
    if settings.direction == Direction::In {
        // Before Linux 4.20 the filter alone leaves out packets sent.
        let _ = socket.set(libc::PACKET_IGNORE_OUTGOING, &yes);
    }
    if settings.promiscuous && !interface.is_any() {
        let request = libc::packet_mreq {
            mr_ifindex: interface.index.cast_signed(),
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        socket.set(libc::PACKET_ADD_MEMBERSHIP, &request).map_err(&setting)?;
    }
    // While packets are spread, each socket receives all until it has joined.
    let everything = [Instruction::keep(settings.snap_length)];
    let filter = match settings.filter {
        _ if settings.spread > NonZeroU16::MIN => &[Instruction::keep(0)],
        Some(filter) => filter,
        None => &everything,
    };
    socket.filter(filter).map_err(Refusal::at(OpenStep::Filter))
}

/// Asks for a larger buffer: beyond the system's limit if that is allowed (`CAP_NET_ADMIN`), else
/// up to it.
fn grow(socket: &Socket, bytes: u64) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes)
        .or_else(|_| set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes))
}

/// Lets packets in.
pub(super) fn begin<'a>(
    sockets: impl Iterator<Item = &'a Socket> + Clone,
    interface: &Interface,
    settings: &Settings<'_>,
) -> Result<(), Refusal> {
    let mut group = None;
    for socket in sockets.clone() {
        bind_to(socket, interface, libc::ETH_P_ALL as u16).map_err(Refusal::at(OpenStep::Bind))?;
        if settings.spread > NonZeroU16::MIN {
            join(socket, &mut group).map_err(Refusal::at(OpenStep::Set))?;
        }
    }
    if settings.spread > NonZeroU16::MIN {
        let everything = [Instruction::keep(settings.snap_length)];
        for socket in sockets {
            socket
                .filter(settings.filter.unwrap_or(&everything))
                .map_err(Refusal::at(OpenStep::Filter))?;
        }
    }
    Ok(())
}

/// Binds a packet socket to an interface. Packets of this protocol come to it from then on; with 0
/// none do.
pub(crate) fn bind_to(socket: impl AsFd, interface: &Interface, protocol: u16) -> io::Result<()> {
    // SAFETY: all zeros is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface.index.cast_signed();
    let (place, length) = ((&raw const address).cast(), size_of_val(&address) as libc::socklen_t);
    // SAFETY: the address is there to be read, and its length is stated.
    checked(unsafe { libc::bind(socket.as_fd().as_raw_fd(), place, length) }).map(drop)
}

/// Adds a socket to the group that packets are spread over. The first asks for a group number of
/// its own (`PACKET_FANOUT_FLAG_UNIQUEID`), which the kernel chooses.
///
/// Fragments are left as they are. With `PACKET_FANOUT_FLAG_DEFRAG` the kernel would deliver one
/// packet for several, and count none of those that stay incomplete.
fn join(socket: &Socket, group: &mut Option<u32>) -> io::Result<()> {
    let kind = libc::PACKET_FANOUT_HASH;
    let own = libc::PACKET_FANOUT_FLAG_UNIQUEID;
    let value = match *group {
        None => (kind | own) << 16,
        Some(number) => kind << 16 | number,
    };
    socket.set(libc::PACKET_FANOUT, &value)?;
    if group.is_none() {
        let told: u32 = socket.get(libc::SOL_PACKET, libc::PACKET_FANOUT)?;
        *group = Some(told & 0xffff);
    }
    Ok(())
}
