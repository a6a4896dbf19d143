//! HTTP as far as IPP needs it (RFC 8010, section 4), and pages for people and
//! for who collects metrics.

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

use super::client::{Client, Gone};
use super::names::Misdirected;
use super::passwords::Checked;
use super::reception::{Reception, Told};
use super::{icon, metrics, page};
use crate::spooler::Spooler;
use crate::table::now;

/// The most of a document that is read after it was refused, so that its client
/// can read the answer.
const MAX_REFUSED: u64 = 256 << 20;

/// What texts for people are.
const PLAIN: &str = "text/plain; charset=utf-8";
/// See above.
const HTML: &str = "text/html; charset=utf-8";

/// The longest form of the page.
const MAX_FORM: u64 = 4 << 10;

/// How long a client may take at the most to agree on TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What the first byte of TLS is: a record of a handshake (RFC 8446, section 5.1). No
/// request of HTTP begins so.
const TLS_HANDSHAKE: u8 = 0x16;

/// What is offered where TLS is spoken (RFC 2817, section 3.3).
const UPGRADE: &str = "TLS/1.2, HTTP/1.1";

/// Serves a connection to its end.
pub(super) fn serve(mut client: Client, spooler: &Arc<Spooler>, by_tls: bool) {
    if by_tls && !starts_tls(&mut client, spooler) {
        return;
    }
    loop {
        match one(&mut client, spooler) {
            Ok(Then::More) => {}
            Ok(Then::Close) => return client.part(),
            Err(Gone::Ending) => return,
            Err(gone) => {
                let what = format!("within a request: {gone}");
                return client.gate.tell_each(&client.peer(), what, spooler);
            }
        }
    }
}

/// Agrees on TLS. A client with which that fails is told of, and hears no more.
fn starts_tls(client: &mut Client, spooler: &Arc<Spooler>) -> bool {
    match client.start_tls(client.limits.patience.min(HANDSHAKE)) {
        Ok(()) => true,
        // Who connects and says nothing looks whether there is somebody.
        Err(Gone::Ending | Gone::Closed) => false,
        Err(gone) => {
            let what = format!("it does not agree on TLS: {gone}");
            client.gate.tell(&client.peer(), "tls", what, spooler);
            false
        }
    }
}

/// What follows a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    More,
    Close,
}

/// Serves a request.
pub(super) fn one(client: &mut Client, spooler: &Arc<Spooler>) -> Result<Then, Gone> {
    let by = client.deadline(client.limits.before());
    let request = loop {
        match Request::decode(client.data()) {
            Ok(Some((request, used))) => {
                client.used(used);
                break request;
            }
            Ok(None) if client.data().is_empty() => match client.fill_between() {
                // Between two requests is where a connection ends.
                Err(Gone::Silent(_) | Gone::Closed | Gone::Crowded | Gone::Failed(_)) => {
                    return Ok(Then::Close);
                }
                filled => filled?,
            },
            Ok(None) => client.fill_by(by)?,
            Err(_)
                if client.data().first() == Some(&TLS_HANDSHAKE)
                    && !client.is_encrypted
                    && client.certificate.is_some() =>
            {
                // As cupsd does it: one port for both.
                if !starts_tls(client, spooler) {
                    return Ok(Then::Close);
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
    // Over a Unix socket comes no browser.
    if matches!(client.requester.peer, Peer::Network(_))
        && let Err(Misdirected { status, why }) = client.gate.names.check(&request)
    {
        let (gate, peer) = (&client.gate, client.peer());
        gate.tell(&peer, "misdirected", format!("refused: {why}"), spooler);
        return refuse(client, status, &why);
    }
    if upgrades(client, &request) {
        if !client.data().is_empty() {
            // What stood in the open is no part of what is encrypted.
            return refuse(client, 400, "after a request for TLS there is only TLS");
        }
        let headers = Headers::default().with("Connection", "Upgrade").with("Upgrade", UPGRADE);
        let Ok(head) = Response::new(101, headers).encode() else { return Ok(Then::Close) };
        client.say(&head)?;
        if !starts_tls(client, spooler) {
            return Ok(Then::Close);
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
        "OPTIONS" if has_body(&request) => {
            refuse(client, 400, "a request for what can be done has no body")
        }
        "OPTIONS" => {
            let headers = Headers::default().with("Allow", "GET, HEAD, POST, OPTIONS");
            say(client, 200, headers, b"", closes(&request), false)
        }
        "POST" => refuse(client, 415, "only application/ipp can be posted here"),
        _ => refuse(client, 405, "GET, HEAD and POST are known here"),
    }
}

/// Whether a request asks for TLS, and gets it (RFC 2817, section 3). One with a body does
/// not: that would go out in the open before.
fn upgrades(client: &Client, request: &Request) -> bool {
    let asks = || {
        let kinds = request.headers.text("Upgrade").unwrap_or_default();
        request.headers.says("Connection", "Upgrade") && kinds.contains("TLS/")
    };
    !client.is_encrypted && client.certificate.is_some() && asks() && !has_body(request)
}

/// Whether a password may be said on a connection.
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

/// Who asks: whom the connection shows, or whom a password does. A wrong one is answered,
/// and what follows that is told.
fn who(
    client: &mut Client,
    spooler: &Arc<Spooler>,
    request: &Request,
) -> Result<Result<Arc<Requester>, Then>, Gone> {
    let Some(said) = request.headers.all("Authorization").next() else {
        return Ok(Ok(Arc::clone(&client.requester)));
    };
    let Some((user, password)) = basic_of(&String::from_utf8_lossy(said)) else {
        // Other proofs are other servers'.
        return Ok(Ok(Arc::clone(&client.requester)));
    };
    let Some(passwords) = client.gate.passwords.clone().filter(|_| takes_passwords(client)) else {
        return Ok(Ok(Arc::clone(&client.requester)));
    };
    let host = match &client.requester.peer {
        Peer::Network(address) => Some(address.ip()),
        Peer::Local { .. } => None,
    };
    // Who was right on this connection is not made to wait by who guesses elsewhere.
    let stays_right =
        client.known.as_deref() == Some(said) && passwords.stays_right(&user, &password);
    let checked =
        if stays_right { Checked::Right } else { passwords.check(host, &user, &password) };
    let (status, why, after) = match checked {
        Checked::Right => {
            client.known = Some(said.to_vec());
            return Ok(Ok(Arc::new(client.gate.logged_in(&client.requester, &user))));
        }
        Checked::Wrong => (401, "the name or the password is wrong", None),
        Checked::TooMany(seconds) => {
            (429, "too many passwords of this user were wrong: none is looked at", Some(seconds))
        }
        Checked::Busy => (503, "too many passwords are looked at just now", Some(1)),
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
    // A document may follow that nobody wants.
    let then = if has_body(request) { Then::Close } else { closes(request) };
    say(client, status, headers, format!("{why}\n").as_bytes(), then, false).map(Err)
}

/// What a client is asked for.
const BASIC: &str = "Basic realm=\"windlass\", charset=\"UTF-8\"";

/// Asks who it is: by a password, or for TLS first. Nothing where there is no way to say it.
fn challenge(client: &mut Client, then: Then) -> Option<Result<Then, Gone>> {
    let mut headers = Headers::default().with("Content-Type", PLAIN);
    let (status, why) = if takes_passwords(client) {
        headers.push("WWW-Authenticate", BASIC);
        (401, "this is for users who are known: say a name and a password\n")
    } else if client.certificate.is_some() && !client.is_encrypted {
        headers.push("Connection", "Upgrade");
        headers.push("Upgrade", UPGRADE);
        (426, "this is for users who are known, and their passwords come by TLS alone\n")
    } else {
        return None;
    };
    Some(say(client, status, headers, why.as_bytes(), then, false))
}

/// Whether a request without a body brings one: that is not to be taken for the
/// next request.
fn has_body(request: &Request) -> bool {
    request.body() != Ok(BodyLength::Of(0))
}

fn closes(request: &Request) -> Then {
    if request.closes() { Then::Close } else { Then::More }
}

fn ipp(
    client: &mut Client,
    spooler: &Arc<Spooler>,
    request: &Request,
    requester: &Requester,
) -> Result<Then, Gone> {
    let length = match request.body() {
        Ok(BodyLength::UntilClose) => {
            return refuse(client, 411, "the request does not say how long it is");
        }
        // Who does not know chunks may have put anything between (RFC 9112, section
        // 6.1).
        Ok(BodyLength::Chunked) if request.minor == 0 => {
            return refuse(client, 400, "chunks are not of HTTP/1.0");
        }
        Ok(length) => length,
        Err(error) => return refuse(client, 400, &error.to_string()),
    };
    if request.waits() {
        client.say(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let authority = match client.requester.peer {
        Peer::Network(_) => request.authority(),
        // A Unix socket has no port; CUPS's clients call it 0, and take no URI with that.
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
    // A document may be long, and come slowly.
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
            // A line of chunks that is not whole.
            client.fill_by(by)?;
        }
        client.used(used);
        if reception.is_answered() {
            refused += got as u64;
            if refused > MAX_REFUSED {
                then = Then::Close;
                break;
            }
        }
    }
    let had_document = reception.has_document();
    let said = match reception.finish() {
        Told::Answer(message)
            if Status(message.code) == Status::NOT_AUTHENTICATED
                && let Some(asked) = challenge(client, then) =>
        {
            asked
        }
        Told::Answer(message) => say_ipp(client, &message),
        Told::List(listing) => list(client, spooler, &context, request.minor, *listing),
        Told::Garbled(why) => refuse(client, 400, &why),
    };
    match said {
        // Who asks and leaves before the answer loses nothing: CUPS's backend does, as
        // it watches a job and the job ends. Who brought a document may bring it again.
        Err(Gone::Failed(_)) if !had_document => Ok(Then::Close),
        Ok(Then::Close) => Ok(Then::Close),
        Ok(Then::More) => Ok(then),
        Err(gone) => Err(gone),
    }
}

/// Says a list page by page: neither the table waits for its client, nor is all of
/// it in memory.
fn list(
    client: &mut Client,
    spooler: &Arc<Spooler>,
    context: &Context<'_>,
    minor: u8,
    mut listing: Listing,
) -> Result<Then, Gone> {
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
    let Ok(head) = Response::new(200, headers).encode() else { return Ok(Then::Close) };
    client.say(&head)?;
    let mut is_last = false;
    while !is_last {
        match spooler.look(|table| listing.page(table, context)) {
            Some(groups) => {
                for group in &groups {
                    if group.encode(&mut octets).is_err() {
                        // What was said cannot be taken back.
                        return Ok(Then::Close);
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
    Ok(if is_chunked { Then::More } else { Then::Close })
}

fn say_ipp(client: &mut Client, message: &Message) -> Result<Then, Gone> {
    match message.encode() {
        Ok(octets) => {
            let headers = Headers::default().with("Content-Type", "application/ipp");
            say(client, 200, headers, &octets, Then::More, false)
        }
        Err(error) => refuse(client, 500, &error.to_string()),
    }
}

fn page(
    client: &mut Client,
    spooler: &Arc<Spooler>,
    request: &Request,
    requester: &Requester,
) -> Result<Then, Gone> {
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
        return refuse(client, 403, "this is for those who may see the jobs of others");
    }
    let path = request.path.split(['?', '#']).next().unwrap_or_default();
    let gate = Arc::clone(&client.gate);
    // Who takes HTML is a browser; others have the same as plain text.
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

/// How large the icon of a path is.
fn icon_size(path: &str) -> Option<u32> {
    if path == "/icon.png" {
        return ICON_SIZES.first().copied();
    }
    let size = path.strip_prefix("/icon-")?.strip_suffix(".png")?;
    ICON_SIZES.into_iter().find(|one| size == one.to_string())
}

/// What keeps a browser from doing with a page what it is not for.
fn guarded(kind: &str) -> Headers {
    Headers::default()
        .with("Content-Type", kind)
        .with("Content-Security-Policy", page::POLICY)
        .with("X-Content-Type-Options", "nosniff")
        .with("Referrer-Policy", "same-origin")
        .with("Cache-Control", "no-store")
}

/// A deed of the page: it is asked for as any client of IPP may, and answered by the same
/// rules. Another page may send a form here, but it knows no token, and its browser says
/// where the form is from.
fn deed(
    client: &mut Client,
    spooler: &Arc<Spooler>,
    request: &Request,
    requester: &Arc<Requester>,
) -> Result<Then, Gone> {
    let no = |client: &mut Client, status, why: &str| {
        let text = page::refused(why);
        say(client, status, guarded(HTML), text.as_bytes(), Then::Close, false)
    };
    let length = match request.body() {
        Ok(BodyLength::Of(length)) if length <= MAX_FORM => length,
        _ => return refuse(client, 413, "that is no form of this page"),
    };
    let authority = request.authority().into_owned();
    let is_own = |origin: &[u8]| {
        let origin = String::from_utf8_lossy(origin).to_ascii_lowercase();
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host == Some(authority.to_ascii_lowercase().as_str())
    };
    if !request.headers.all("Origin").all(is_own) {
        return refuse(client, 403, "the form is of another page");
    }
    let by = client.deadline(client.limits.before());
    while (client.data().len() as u64) < length {
        client.fill_by(by)?;
    }
    let form = client.data()[..usize::try_from(length).unwrap_or(0)].to_vec();
    client.used(form.len());
    let Some(deed) = page::Deed::read(&form) else {
        return no(client, 400, "That is no form of this page.");
    };
    if client.gate.token.is_empty() || deed.token != client.gate.token {
        return no(client, 403, "The page is of another server, or of an earlier start: go back.");
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
        Told::Answer(answer) if answer.code < 0x0100 => {
            let headers = guarded(PLAIN).with("Location", "/");
            say(client, 303, headers, b"done\n", closes(request), false)
        }
        Told::Answer(answer) => {
            let why = answer.said("status-message").unwrap_or_default();
            let status =
                if answer.code == Status::FORBIDDEN.0 || answer.code == Status::NOT_AUTHORIZED.0 {
                    403
                } else {
                    409
                };
            no(client, status, &why)
        }
        Told::List(_) | Told::Garbled(_) => no(client, 400, "That is no form of this page."),
    }
}

/// Says no, and closes: what follows may be anything.
fn refuse(client: &mut Client, status: u16, why: &str) -> Result<Then, Gone> {
    let headers = Headers::default().with("Content-Type", PLAIN);
    say(client, status, headers, format!("{why}\n").as_bytes(), Then::Close, false)
}

/// Answers; to who asks for the head alone, without the body.
fn say(
    client: &mut Client,
    status: u16,
    headers: Headers,
    body: &[u8],
    then: Then,
    is_head: bool,
) -> Result<Then, Gone> {
    let head = Response::before(status, headers, body.len(), then == Then::Close);
    let Ok(mut octets) = head.encode() else { return Ok(Then::Close) };
    if !is_head {
        octets.extend_from_slice(body);
    }
    client.say(&octets)?;
    Ok(then)
}
