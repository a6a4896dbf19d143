//! First bytes of a new connection, and its purpose.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use windlass_wire::iperf3::Cookie;

use super::registry::random;
use super::{Event, ServerState, echo, echo_datagrams, test};
use crate::by::{self, FillOutcome};
use crate::control::{
    Control, MAGIC, Nonce, PATIENCE, PREAMBLE, Preamble, Reply, Request, RequestedService, TestId,
    Word,
};
use crate::error::Error;
use crate::iperf3::server as iperf3;
use crate::transfer::Buffers;

/// Error of a connection whose first bytes are of no known protocol.
const STRANGE: &str = "the client speaks neither windlass's protocol nor iperf3's";

/// Serves a connection from its first byte to its last.
pub(super) fn serve(
    own: &Arc<ServerState>,
    stream: TcpStream,
    client: SocketAddr,
    arrival: u64,
) -> Result<(), Error> {
    let mut first = [0; PREAMBLE];
    let (begin, rest) = first.split_at_mut(MAGIC.len());
    let until = Instant::now() + PATIENCE;
    if !read(&stream, begin, until)? {
        // The client only checked for a server.
        return Ok(());
    }
    if begin != MAGIC.as_slice() {
        let mut cookie = [0; Cookie::LENGTH];
        let (known, rest) = cookie.split_at_mut(MAGIC.len());
        known.copy_from_slice(begin);
        if !begin.iter().all(u8::is_ascii_graphic) || !read(&stream, rest, until)? {
            return Err(Error::Protocol(STRANGE.to_owned()));
        }
        return match Cookie::read(&cookie) {
            Ok(cookie) => by_cookie(own, stream, client, arrival, cookie),
            Err(_) => Err(Error::Protocol(STRANGE.to_owned())),
        };
    }
    if !read(&stream, rest, until)? {
        return Err(Error::Gone { during: "it said what it is for" });
    }
    match Preamble::read(&first) {
        Ok(Preamble::Control) => control(own, stream, client),
        Ok(Preamble::Datagrams { .. }) => {
            Err(Error::Protocol("a flow of datagrams begins with a datagram".to_owned()))
        }
        Ok(Preamble::Data { test, stream: number }) => {
            match own.registry.deliver(test, (number.into(), stream)) {
                None => Ok(()),
                Some(_) => Err(Error::Protocol("its stream is of no test that waits".to_owned())),
            }
        }
        Err(error) => Err(Error::Protocol(error.to_string())),
    }
}

/// Serves a connection of an iperf3 client: the first of a test is its control connection, and the
/// others are its streams.
fn by_cookie(
    own: &Arc<ServerState>,
    stream: TcpStream,
    client: SocketAddr,
    arrival: u64,
    cookie: Cookie,
) -> Result<(), Error> {
    if !own.cookies.knows(cookie) {
        return iperf3::serve(own, stream, client, cookie);
    }
    match own.cookies.deliver(cookie, (arrival, stream)) {
        None => Ok(()),
        Some(_) => Err(Error::Protocol("its test has all its streams".to_owned())),
    }
}

/// Fills `bytes` by `until`; returns false if the connection ends before the first byte.
fn read(stream: &TcpStream, bytes: &mut [u8], until: Instant) -> Result<bool, Error> {
    const DURING: &str = "it said what it is for";
    match by::fill(stream, bytes, until, &|| false)
        .map_err(Error::io("cannot read what it is for"))?
    {
        FillOutcome::Whole => Ok(true),
        FillOutcome::Closed(0) => Ok(false),
        FillOutcome::Closed(_) => Err(Error::Gone { during: DURING }),
        FillOutcome::Late => Err(Error::Silent { during: DURING, after: PATIENCE }),
    }
}

/// Greets a client, reads its request, and serves it.
fn control(own: &Arc<ServerState>, stream: TcpStream, client: SocketAddr) -> Result<(), Error> {
    let mut control = Control::new(stream)?;
    let nonce = match &own.settings.token {
        Some(_) => Some(Nonce::new(random()?)),
        None => None,
    };
    let software = own.settings.software.clone();
    control.say(&Reply::Welcome { software, nonce: nonce.clone() })?;
    let request = control.hear::<Request>(Instant::now() + PATIENCE, "it said what it wants");
    let request = match request {
        Ok(Some(request)) => request,
        // The client only checked which server listens here.
        Err(Error::Gone { .. }) => return Ok(()),
        Ok(None) => {
            return Err(Error::Silent { during: "it said what it wants", after: PATIENCE });
        }
        Err(error) => return Err(control.refuse(error)),
    };
    if let (Some(token), Some(nonce)) = (&own.settings.token, &nonce) {
        let proof = request.proof.as_deref().unwrap_or_default();
        if !token.accepts(nonce, proof) {
            let why = "the client's token differs from the server's";
            return Err(control.refuse(Error::Asked(why.to_owned())));
        }
    }
    match request.ask {
        RequestedService::Transfer(transfer) => match transfer.check() {
            Ok(()) => test::serve(own, &mut control, client, &transfer),
            Err(error) => Err(control.refuse(error)),
        },
        RequestedService::EchoDatagrams { request, response } => {
            if let Err(error) = echo_datagrams::check(request, response) {
                return Err(control.refuse(error));
            }
            let (_, flows) = test::open_flows(own, &mut control, 1, Buffers::default())?;
            let Some((_, flow)) = flows.into_iter().next() else { return Ok(()) };
            control.say(&Word::Begin)?;
            own.say(Event::Echoes { client });
            echo_datagrams::serve(&flow, &control.stream, (request, response), &|| own.stops())
        }
        RequestedService::Echo { request, response, asleep } => {
            match echo::check(request, response) {
                Ok(()) => {
                    let test = TestId::default();
                    control.say(&Reply::Accepted { test, asleep: Some(asleep) })?;
                    own.say(Event::Echoes { client });
                    echo::serve(&control.stream, (request, response), asleep, &|| own.stops())
                }
                Err(error) => Err(control.refuse(error)),
            }
        }
    }
}
