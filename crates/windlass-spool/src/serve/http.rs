//! HTTP as far as IPP needs it (RFC 8010, section 4), and pages for people and for metrics
//! collectors.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use windlass_spool_core::respond::{Context, ICON_SIZES, Listing};
use windlass_spool_core::{Peer, Requester, Right};
use windlass_wire::http::{
    Body, BodyLength, CHUNK_END, HeadError, Headers, LAST_CHUNK, Request, Response, basic_of,
    chunk_head,
};
use windlass_wire::ipp::{Message, Status};
use windlass_wire::media_type::essence;

use super::client::{Client, ConnectionEnd};
use super::names::MisdirectedRequest;
use super::passwords::PasswordCheck;
use super::reception::{Reception, RequestOutcome};
use super::{icon, metrics, page};
use crate::spooler::Spooler;
use crate::table::now;

/// Maximum number of bytes that are read of a refused document, so that its client can read the
/// answer.
const MAX_REFUSED: u64 = 256 << 20;

/// Media type of plain text.
const PLAIN: &str = "text/plain; charset=utf-8";
/// Media type of HTML pages.
const HTML: &str = "text/html; charset=utf-8";

/// Maximum size of a form in bytes.
const MAX_FORM: u64 = 4 << 10;

/// Maximum time of a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// First byte of a TLS handshake record (RFC 8446, section 5.1). No HTTP request begins with this
/// byte.
const TLS_HANDSHAKE: u8 = 0x16;

/// Protocols of an upgrade to TLS (RFC 2817, section 3.3).
const UPGRADE: &str = "TLS/1.2, HTTP/1.1";

/// Serves a connection to its end.
pub(super) fn serve(mut client: Client, spooler: &Arc<Spooler>, by_tls: bool) {
    if by_tls && !starts_tls(&mut client, spooler) {
        return;
    }
    loop {
        match one(&mut client, spooler) {
            Ok(Continuation::More) => {}
            Ok(Continuation::Close) => return client.part(),
            Err(ConnectionEnd::Ending) => return,
            Err(gone) => {
                let what = format!("within a request: {gone}");
                return client.gate.tell_each(&client.peer(), what, spooler);
            }
        }
    }
}

/// Performs the TLS handshake. A failure is logged, and the client gets no answer.
fn starts_tls(client: &mut Client, spooler: &Arc<Spooler>) -> bool {
    match client.start_tls(client.limits.patience.min(HANDSHAKE)) {
        Ok(()) => true,
        // A client that connects and sends nothing only checks whether the server is there.
        Err(ConnectionEnd::Ending | ConnectionEnd::Closed) => false,
        Err(gone) => {
            let what = format!("the TLS handshake failed: {gone}");
            client.gate.tell(&client.peer(), "tls", what, spooler);
            false
        }
    }
}

/// Continuation after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Continuation {
    More,
    Close,
}

/// Serves a request.
pub(super) fn one(
    client: &mut Client,
    spooler: &Arc<Spooler>,
) -> Result<Continuation, ConnectionEnd> {
    let by = client.deadline(client.limits.before());
    let request = loop {
        match Request::decode(client.data()) {
            Ok(Some((request, used))) => {
                client.used(used);
                break request;
            }
            Ok(None) if client.data().is_empty() => match client.fill_between() {
                // Between two requests, a connection may end.
                Err(
                    ConnectionEnd::Silent(_)
                    | ConnectionEnd::Closed
                    | ConnectionEnd::Crowded
                    | ConnectionEnd::Failed(_),
                ) => {
                    return Ok(Continuation::Close);
                }
                filled => filled?,
            },
            Ok(None) => client.fill_by(by)?,
            Err(_)
                if client.data().first() == Some(&TLS_HANDSHAKE)
                    && !client.is_encrypted
                    && client.certificate.is_some() =>
            {
                // As in cupsd, one port serves both.
                if !starts_tls(client, spooler) {
                    return Ok(Continuation::Close);
                }
            }
            Err(error) => {
                let status = if error == HeadError::TooLong { 431 } else { 400 };
                return refuse(client, status, &error.to_string());
            }
        }
    };
    client.gate.counts.requests.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    client.look_up_rights();
    // Browsers do not use Unix sockets.
    if matches!(client.requester.peer, Peer::Network(_))
        && let Err(MisdirectedRequest { status, why }) = client.gate.names.check(&request)
    {
        let (gate, peer) = (&client.gate, client.peer());
        gate.tell(&peer, "misdirected", format!("refused: {why}"), spooler);
        return refuse(client, status, &why);
    }
    if upgrades(client, &request) {
        if !client.data().is_empty() {
            // Plain-text data must not become part of the encrypted connection.
            return refuse(client, 400, "after a request for TLS, only TLS is accepted");
        }
        let headers = Headers::default().with("Connection", "Upgrade").with("Upgrade", UPGRADE);
        let Ok(head) = Response::new(101, headers).encode() else { return Ok(Continuation::Close) };
        client.say(&head)?;
        if !starts_tls(client, spooler) {
            return Ok(Continuation::Close);
        }
    }
    let requester = match who(client, spooler, &request)? {
        Ok(requester) => requester,
        Err(then) => return Ok(then),
    };
    let is_ipp = request.headers.text("Content-Type").is_some_and(|kind| {
        let kind = essence(&kind).to_ascii_lowercase();
        kind == "application/ipp"
    });
    match request.method.as_str() {
        "POST" if is_ipp => ipp(client, spooler, &request, &requester),
        "POST" if request.path == "/do" => deed(client, spooler, &request, &requester),
        "GET" | "HEAD" => page(client, spooler, &request, &requester),
        "OPTIONS" if has_body(&request) => refuse(client, 400, "an OPTIONS request has no body"),
        "OPTIONS" => {
            let headers = Headers::default().with("Allow", "GET, HEAD, POST, OPTIONS");
            say(client, 200, headers, b"", closes(&request), false)
        }
        "POST" => refuse(client, 415, "only application/ipp can be posted here"),
        _ => refuse(client, 405, "use GET, HEAD or POST"),
    }
}

/// Returns whether a request asks for TLS, and gets it (RFC 2817, section 3). A request with a body
/// does not: the body would arrive unencrypted.
fn upgrades(client: &Client, request: &Request) -> bool {
    let asks = || {
        let kinds = request.headers.text("Upgrade").unwrap_or_default();
        request.headers.says("Connection", "Upgrade") && kinds.contains("TLS/")
    };
    !client.is_encrypted && client.certificate.is_some() && asks() && !has_body(request)
}

/// Returns whether a connection may carry passwords.
fn takes_passwords(client: &Client) -> bool {
    let is_here = || match &client.requester.peer {
        Peer::Network(address) => {
            client.gate.plain_passwords
                && client.gate.own.has(address.ip(), client.gate.clock.now())
        }
        Peer::Local { .. } => client.gate.plain_passwords,
    };
    client.gate.passwords.is_some() && (client.is_encrypted || is_here())
}

/// Returns the user of a request, by its connection or password. A wrong password is answered here;
/// the inner error is what follows that answer.
fn who(
    client: &mut Client,
    spooler: &Arc<Spooler>,
    request: &Request,
) -> Result<Result<Arc<Requester>, Continuation>, ConnectionEnd> {
    let Some(said) = request.headers.all("Authorization").next() else {
        return Ok(Ok(Arc::clone(&client.requester)));
    };
    let Some((user, password)) = basic_of(&String::from_utf8_lossy(said)) else {
        // Other authentication schemes are not for this server.
        return Ok(Ok(Arc::clone(&client.requester)));
    };
    let Some(passwords) = client.gate.passwords.clone().filter(|_| takes_passwords(client)) else {
        return Ok(Ok(Arc::clone(&client.requester)));
    };
    let host = match &client.requester.peer {
        Peer::Network(address) => Some(address.ip()),
        Peer::Local { .. } => None,
    };
    // A client whose password was right on this connection does not wait because of guesses
    // elsewhere.
    let stays_right =
        client.known.as_deref() == Some(said) && passwords.stays_right(&user, &password);
    let checked =
        if stays_right { PasswordCheck::Right } else { passwords.check(host, &user, &password) };
    let (status, why, after) = match checked {
        PasswordCheck::Right => {
            client.known = Some(said.to_vec());
            return Ok(Ok(Arc::new(client.gate.logged_in(&client.requester, &user))));
        }
        PasswordCheck::Wrong => (401, "the name or the password is wrong", None),
        PasswordCheck::TooMany(seconds) => {
            (429, "too many wrong passwords of this user: try again later", Some(seconds))
        }
        PasswordCheck::Busy => (503, "too many password checks at the moment", Some(1)),
    };
    let (gate, peer) = (&client.gate, client.peer());
    gate.tell(&peer, "password", format!("user {user:?}: {why}"), spooler);
    let mut headers = Headers::default().with("Content-Type", PLAIN);
    if status == 401 {
        headers.push("WWW-Authenticate", BASIC);
    }
    if let Some(seconds) = after {
        headers.push("Retry-After", seconds.to_string());
    }
    // A document that nobody wants may follow.
    let then = if has_body(request) { Continuation::Close } else { closes(request) };
    say(client, status, headers, format!("{why}\n").as_bytes(), then, false).map(Err)
}

/// Authentication scheme that clients are asked for.
const BASIC: &str = "Basic realm=\"windlass\", charset=\"UTF-8\"";

/// Asks for a password, or for TLS first. Returns `None` if the client has no way to log in.
fn challenge(
    client: &mut Client,
    then: Continuation,
) -> Option<Result<Continuation, ConnectionEnd>> {
    let mut headers = Headers::default().with("Content-Type", PLAIN);
    let (status, why) = if takes_passwords(client) {
        headers.push("WWW-Authenticate", BASIC);
        (401, "log in with a name and a password\n")
    } else if client.certificate.is_some() && !client.is_encrypted {
        headers.push("Connection", "Upgrade");
        headers.push("Upgrade", UPGRADE);
        (426, "log in over TLS, with a name and a password\n")
    } else {
        return None;
    };
    Some(say(client, status, headers, why.as_bytes(), then, false))
}

/// Returns whether a request brings a body, which must not be taken for the next request.
fn has_body(request: &Request) -> bool {
    request.body() != Ok(BodyLength::Of(0))
}

fn closes(request: &Request) -> Continuation {
    if request.closes() { Continuation::Close } else { Continuation::More }
}

fn ipp(
    client: &mut Client,
    spooler: &Arc<Spooler>,
    request: &Request,
    requester: &Requester,
) -> Result<Continuation, ConnectionEnd> {
    let length = match request.body() {
        Ok(BodyLength::UntilClose) => {
            return refuse(client, 411, "the request does not give its length");
        }
        // A sender of HTTP/1.0 does not know chunks, so intermediaries may have misread the message
        // (RFC 9112, section 6.1).
        Ok(BodyLength::Chunked) if request.minor == 0 => {
            return refuse(client, 400, "HTTP/1.0 has no chunked encoding");
        }
        Ok(length) => length,
        Err(error) => return refuse(client, 400, &error.to_string()),
    };
    if request.waits() {
        client.say(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let authority = match client.requester.peer {
        Peer::Network(_) => request.authority(),
        // A Unix socket has no port. CUPS's clients call it 0, and reject URIs with port 0.
        Peer::Local { .. } => Cow::Borrowed("localhost"),
    };
    let context = Context {
        authority: &authority,
        path: &request.path,
        requester,
        is_encrypted: client.is_encrypted,
        now: now(),
        max_document: spooler.max_document(),
    };
    let gate = Arc::clone(&client.gate);
    let mut reception = Reception::new(spooler, &gate, context.clone());
    let expected = if let BodyLength::Of(bytes) = length { Some(bytes) } else { None };
    let mut body = Body::new(length);
    // A document may be long, and arrive slowly.
    let (before, whole) =
        (client.deadline(client.limits.before()), client.deadline(client.limits.longest));
    let (mut refused, mut then) = (0, closes(request));
    while !body.is_done() {
        let by = if reception.has_begun() { whole } else { before };
        if client.data().is_empty() {
            client.fill_by(by)?;
        }
        let (used, got) = match body.take(client.data()) {
            Ok(taken) => {
                reception.take(taken.data, expected);
                (taken.used, taken.data.len())
            }
            Err(error) => return refuse(client, 400, &error.to_string()),
        };
        if used == 0 {
            // A chunk's line is incomplete.
            client.fill_by(by)?;
        }
        client.used(used);
        if reception.is_answered() {
            refused += got as u64;
            if refused > MAX_REFUSED {
                then = Continuation::Close;
                break;
            }
        }
    }
    let had_document = reception.has_document();
    let said = match reception.finish() {
        RequestOutcome::Answer(message)
            if Status(message.code) == Status::NOT_AUTHENTICATED
                && let Some(asked) = challenge(client, then) =>
        {
            asked
        }
        RequestOutcome::Answer(message) => say_ipp(client, &message),
        RequestOutcome::List(listing) => list(client, spooler, &context, request.minor, *listing),
        RequestOutcome::Garbled(why) => refuse(client, 400, &why),
    };
    match said {
        // A client that leaves before the answer to a query loses nothing: CUPS's backend does so
        // when the job that it watches ends. A client that brought a document may send it again.
        Err(ConnectionEnd::Failed(_)) if !had_document => Ok(Continuation::Close),
        Ok(Continuation::Close) => Ok(Continuation::Close),
        Ok(Continuation::More) => Ok(then),
        Err(gone) => Err(gone),
    }
}

/// Sends a list page by page: the table does not wait for the client, and the whole list is never
/// in memory.
fn list(
    client: &mut Client,
    spooler: &Arc<Spooler>,
    context: &Context<'_>,
    minor: u8,
    mut listing: Listing,
) -> Result<Continuation, ConnectionEnd> {
    let mut octets = match listing.head.encode_open() {
        Ok(octets) => octets,
        Err(error) => return refuse(client, 500, &error.to_string()),
    };
    let is_chunked = minor > 0;
    let mut headers = Headers::default().with("Content-Type", "application/ipp");
    if is_chunked {
        headers.push("Transfer-Encoding", "chunked");
    } else {
        headers.push("Connection", "close");
    }
    let Ok(head) = Response::new(200, headers).encode() else { return Ok(Continuation::Close) };
    client.say(&head)?;
    let mut is_last = false;
    while !is_last {
        match spooler.look(|table| listing.page(table, context)) {
            Some(groups) => {
                for group in &groups {
                    if group.encode(&mut octets).is_err() {
                        // Data that was sent cannot be taken back.
                        return Ok(Continuation::Close);
                    }
                }
            }
            None => {
                octets.extend(Message::END);
                is_last = true;
            }
        }
        if octets.is_empty() {
            continue;
        }
        if is_chunked {
            let mut chunk = chunk_head(octets.len());
            chunk.append(&mut octets);
            chunk.extend(CHUNK_END);
            if is_last {
                chunk.extend(LAST_CHUNK);
            }
            client.say(&chunk)?;
        } else {
            client.say(&std::mem::take(&mut octets))?;
        }
    }
    Ok(if is_chunked { Continuation::More } else { Continuation::Close })
}

fn say_ipp(client: &mut Client, message: &Message) -> Result<Continuation, ConnectionEnd> {
    match message.encode() {
        Ok(octets) => {
            let headers = Headers::default().with("Content-Type", "application/ipp");
            say(client, 200, headers, &octets, Continuation::More, false)
        }
        Err(error) => refuse(client, 500, &error.to_string()),
    }
}

fn page(
    client: &mut Client,
    spooler: &Arc<Spooler>,
    request: &Request,
    requester: &Requester,
) -> Result<Continuation, ConnectionEnd> {
    if has_body(request) {
        return refuse(client, 400, "a request for a page has no body");
    }
    if !requester.rights.has(Right::See) {
        if requester.can_log_in
            && requester.user.is_none()
            && let Some(asked) = challenge(client, closes(request))
        {
            return asked;
        }
        return refuse(client, 403, "this page needs the right to see the jobs of others");
    }
    let path = request.path.split(['?', '#']).next().unwrap_or_default();
    let gate = Arc::clone(&client.gate);
    // Clients that accept HTML are browsers; others get plain text.
    let is_browser =
        request.headers.text("Accept").is_some_and(|kinds| kinds.contains("text/html"));
    let (status, kind, text) = match path {
        "/metrics" => (
            200,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            metrics::text(spooler, &gate),
        ),
        "/" | "/printers" | "/printers/" if is_browser => {
            (200, HTML, page::whole(spooler, &gate.rates, &gate.token))
        }
        "/" | "/printers" | "/printers/" => (200, PLAIN, metrics::page(spooler)),
        "/live" => (200, HTML, page::live(spooler, &gate.rates, &gate.token)),
        "/page.css" => (200, "text/css; charset=utf-8", page::STYLE.to_owned()),
        "/page.js" => (200, "text/javascript; charset=utf-8", page::SCRIPT.to_owned()),
        _ => match icon_size(path) {
            Some(size) => {
                let headers = Headers::default()
                    .with("Content-Type", "image/png")
                    .with("Cache-Control", "max-age=86400");
                let is_head = request.method == "HEAD";
                return say(client, 200, headers, &icon::png(size), closes(request), is_head);
            }
            None => (404, PLAIN, "there is no such page\n".to_owned()),
        },
    };
    let is_head = request.method == "HEAD";
    say(client, status, guarded(kind), text.as_bytes(), closes(request), is_head)
}

/// Returns the size of the icon at a path.
fn icon_size(path: &str) -> Option<u32> {
    if path == "/icon.png" {
        return ICON_SIZES.first().copied();
    }
    let size = path.strip_prefix("/icon-")?.strip_suffix(".png")?;
    ICON_SIZES.into_iter().find(|one| size == one.to_string())
}

/// Returns the headers that protect a page in a browser.
fn guarded(kind: &str) -> Headers {
    Headers::default()
        .with("Content-Type", kind)
        .with("Content-Security-Policy", page::POLICY)
        .with("X-Content-Type-Options", "nosniff")
        .with("Referrer-Policy", "same-origin")
        .with("Cache-Control", "no-store")
}

/// Performs an action of the page, as an IPP request under the same rules as any client's. Another
/// page may send a form here, but it does not know the token, and its browser names its origin.
fn deed(
    client: &mut Client,
    spooler: &Arc<Spooler>,
    request: &Request,
    requester: &Arc<Requester>,
) -> Result<Continuation, ConnectionEnd> {
    let no = |client: &mut Client, status, why: &str| {
        let text = page::refused(why);
        say(client, status, guarded(HTML), text.as_bytes(), Continuation::Close, false)
    };
    let length = match request.body() {
        Ok(BodyLength::Of(length)) if length <= MAX_FORM => length,
        _ => return refuse(client, 413, "this is not a form of this page"),
    };
    let authority = request.authority().into_owned();
    let is_own = |origin: &[u8]| {
        let origin = String::from_utf8_lossy(origin).to_ascii_lowercase();
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host == Some(authority.to_ascii_lowercase().as_str())
    };
    if !request.headers.all("Origin").all(is_own) {
        return refuse(client, 403, "the form comes from another page");
    }
    let by = client.deadline(client.limits.before());
    while (client.data().len() as u64) < length {
        client.fill_by(by)?;
    }
    let form = client.data()[..usize::try_from(length).unwrap_or(0)].to_vec();
    client.used(form.len());
    let Some(deed) = page::Deed::read(&form) else {
        return no(client, 400, "This is not a form of this page.");
    };
    if client.gate.token.is_empty() || deed.token != client.gate.token {
        return no(
            client,
            403,
            "The page is from another server, or from before a restart: go back and reload it.",
        );
    }
    let context = Context {
        authority: &authority,
        path: "/",
        requester,
        is_encrypted: client.is_encrypted,
        now: now(),
        max_document: spooler.max_document(),
    };
    let gate = Arc::clone(&client.gate);
    let mut reception = Reception::new(spooler, &gate, context);
    let asked = deed.request(&authority).encode();
    reception.take(&asked.unwrap_or_default(), None);
    match reception.finish() {
        RequestOutcome::Answer(answer) if answer.code < 0x0100 => {
            let headers = guarded(PLAIN).with("Location", "/");
            say(client, 303, headers, b"done\n", closes(request), false)
        }
        RequestOutcome::Answer(answer) => {
            let why = answer.said("status-message").unwrap_or_default();
            let status =
                if answer.code == Status::FORBIDDEN.0 || answer.code == Status::NOT_AUTHORIZED.0 {
                    403
                } else {
                    409
                };
            no(client, status, &why)
        }
        RequestOutcome::List(_) | RequestOutcome::Garbled(_) => {
            no(client, 400, "This is not a form of this page.")
        }
    }
}

/// Sends an error and closes the connection: the following data may be anything.
fn refuse(client: &mut Client, status: u16, why: &str) -> Result<Continuation, ConnectionEnd> {
    let headers = Headers::default().with("Content-Type", PLAIN);
    say(client, status, headers, format!("{why}\n").as_bytes(), Continuation::Close, false)
}

/// Sends an answer; without the body if the request is HEAD.
fn say(
    client: &mut Client,
    status: u16,
    headers: Headers,
    body: &[u8],
    then: Continuation,
    is_head: bool,
) -> Result<Continuation, ConnectionEnd> {
    let head = Response::before(status, headers, body.len(), then == Continuation::Close);
    let Ok(mut octets) = head.encode() else { return Ok(Continuation::Close) };
    if !is_head {
        octets.extend_from_slice(body);
    }
    client.say(&octets)?;
    Ok(then)
}
