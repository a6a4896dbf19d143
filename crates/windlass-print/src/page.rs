//! Pages of a server over HTTP, beside IPP.

use std::time::Duration;

use windlass_wire::http::{Body, Headers, Request, Response};
use windlass_wire::target::Target;

use crate::dial::{Dial, connected};
use crate::error::Error;
use crate::link::{Link, ReadOutcome};
use crate::monitor::Monitor;

const ASKING: &str = "windlass asked for a page";

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Status of the answer.
    pub status: u16,
    /// Content of the page.
    pub bytes: Vec<u8>,
}

/// Gets a page of a server, up to a maximum size. `more` are headers beside those of each request.
///
/// # Errors
/// Fails without an HTTP answer within the patience, or if the page is too long.
pub fn get(
    server: &Target,
    path: &str,
    more: &[(&str, &str)],
    monitor: &Monitor,
    dial: &Dial<'_>,
    patience: Duration,
    most: usize,
) -> Result<Page, Error> {
    let wrong = |error: &dyn std::fmt::Display| Error::Protocol(error.to_string());
    let mut headers =
        Headers::default().with("Host", server.authority()).with("Connection", "close");
    more.iter().for_each(|(name, value)| headers.push(name, value));
    if let Some(first) = dial.authorization(server).map_err(Error::Dial)? {
        headers.push("Authorization", first);
    }
    let request = Request { method: "GET".to_owned(), path: path.to_owned(), minor: 1, headers };
    let request = request.encode().map_err(|error| Error::Asked(error.to_string()))?;
    let mut link = Link::new(connected(dial, server)?, monitor, patience)?;
    link.say(&request, ASKING)?;
    let (head, used) = loop {
        if let Some(found) = Response::decode(&link.inbox).map_err(|error| wrong(&error))? {
            break found;
        }
        if link.more(ASKING)? == ReadOutcome::End {
            return Err(Error::Gone { during: ASKING });
        }
    };
    link.inbox.drain(..used);
    let mut body = Body::new(head.body().map_err(|error| wrong(&error))?);
    let mut bytes = Vec::new();
    while !body.is_done() {
        let taken = body.take(&link.inbox).map_err(|error| wrong(&error))?;
        let used = taken.used;
        bytes.extend_from_slice(taken.data);
        if bytes.len() > most {
            return Err(Error::Protocol(format!("the page has more than {most} bytes")));
        }
        link.inbox.drain(..used);
        if used == 0 && link.more(ASKING)? == ReadOutcome::End {
            body.closed().map_err(|error| wrong(&error))?;
            break;
        }
    }
    Ok(Page { status: head.status, bytes })
}
