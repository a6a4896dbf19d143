//! The classic reader: a system call for each packet.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use libc::c_void;
use windlass_base::Timestamp;

use super::link::Link;
use super::open::Socket;
use super::packet::{LinkAddress, Packet, tag};
use super::{Batch, CaptureEvent, Interface, Packages};
use crate::call::checked;
use crate::socket::message;
use crate::wait::ready;

/// A socket that is read packet by packet.
#[derive(Debug)]
pub(super) struct PacketReader {
    pub(super) socket: Socket,
    /// The packet, behind room for a VLAN tag.
    buffer: Vec<u8>,
    is_stopped: bool,
    link: Link,
}

/// A packet's length, address, time and flags, as the kernel tells them.
struct ReceivedPacket {
    bytes: usize,
    original_length: u32,
    way: LinkAddress,
    time: Timestamp,
    status: u32,
    vlan: Option<(u16, u16)>,
}

impl PacketReader {
    pub(super) fn new(socket: Socket, snap_length: u32) -> Self {
        let buffer = vec![0; snap_length as usize + tag::SIZE];
        Self { socket, buffer, is_stopped: false, link: Link::default() }
    }

    pub(super) fn buffer_bytes(&self) -> u64 {
        // The kernel states twice the size that was asked for.
        self.socket.receive_buffer().unwrap_or_default() / 2
    }

    pub(super) fn stop(&mut self) -> io::Result<()> {
        if !self.is_stopped {
            self.socket.refuse_all()?;
            self.is_stopped = true;
        }
        Ok(())
    }

    pub(super) fn next(
        &mut self,
        wait: Duration,
        interface: &Interface,
    ) -> io::Result<CaptureEvent<'_>> {
        let mut waited = self.is_stopped;
        let said = loop {
            match self.receive() {
                Ok(said) => break said,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if waited || matches!(self.link, Link::Failed(_)) {
                        return Ok(self.link.say(&self.socket, interface));
                    }
                    ready(&[self.socket.as_fd()], Some(wait))?;
                    waited = true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    return Ok(CaptureEvent::Nothing);
                }
                // The error comes before the packets that still wait.
                Err(error) => self.link.hear(error)?,
            }
        };
        let (mut from, end) = (tag::SIZE, tag::SIZE + said.bytes);
        let mut original_length = said.original_length;
        if let Some((protocol, control)) = said.vlan
            && said.way.has_ethernet()
            && said.bytes >= tag::PLACE
        {
            from = 0;
            tag::put(&mut self.buffer[..end], protocol, control);
            original_length = original_length.saturating_add(tag::SIZE as u32);
        }
        Ok(CaptureEvent::Batch(Batch(Packages::One(Some(Packet {
            time: said.time,
            original_length,
            data: &self.buffer[from..end],
            way: said.way,
            after_drops: said.status & libc::TP_STATUS_LOSING != 0,
        })))))
    }

    /// Reads a packet, if there is one.
    fn receive(&mut self) -> io::Result<ReceivedPacket> {
        let room = &mut self.buffer[tag::SIZE..];
        let mut part = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        let mut address = MaybeUninit::<libc::sockaddr_ll>::zeroed();
        // Room for the time and for the packet's auxiliary data.
        let mut control = [0; 16];
        let mut message = message(&mut part, &mut control);
        message.msg_name = address.as_mut_ptr().cast::<c_void>();
        message.msg_namelen = size_of::<libc::sockaddr_ll>() as _;
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: the message and all that it points to live until the call
        // ends, and have the lengths that it states.
        let got =
            unsafe { libc::recvmsg(self.socket.as_fd().as_raw_fd(), &raw mut message, flags) };
        let length = checked(got)?.unsigned_abs();
        // SAFETY: it is numbers only, and as long as the array.
        let address: [u8; 20] = unsafe { std::mem::transmute(address.assume_init()) };
        let mut said = ReceivedPacket {
            // With MSG_TRUNC the length is the packet's own.
            bytes: length.min(room.len()),
            original_length: u32::try_from(length).unwrap_or(u32::MAX),
            way: LinkAddress::of(&address),
            time: Timestamp::ZERO,
            status: 0,
            vlan: None,
        };
        said.read(&message);
        Ok(said)
    }
}

impl ReceivedPacket {
    /// Reads the control messages.
    fn read(&mut self, message: &libc::msghdr) {
        // SAFETY: the kernel has written the control messages that the header
        // counts, and each is as long as it says.
        unsafe {
            let mut header = libc::CMSG_FIRSTHDR(message);
            while !header.is_null() {
                let data = libc::CMSG_DATA(header);
                match ((*header).cmsg_level, (*header).cmsg_type) {
                    (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                        let time = data.cast::<libc::timespec>().read_unaligned();
                        self.time = Timestamp::from_nanos(
                            time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec),
                        );
                    }
                    (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                        self.about(data.cast::<libc::tpacket_auxdata>().read_unaligned());
                    }
                    _ => {}
                }
                header = libc::CMSG_NXTHDR(message, header);
            }
        }
    }

    const fn about(&mut self, auxiliary: libc::tpacket_auxdata) {
        self.status = auxiliary.tp_status;
        // The filter may keep fewer bytes: this is the packet's length.
        self.original_length = auxiliary.tp_len;
        let there = auxiliary.tp_status & libc::TP_STATUS_VLAN_VALID != 0;
        let known = auxiliary.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        if there {
            let protocol = if known { auxiliary.tp_vlan_tpid } else { tag::USUAL };
            self.vlan = Some((protocol, auxiliary.tp_vlan_tci));
        }
    }
}
