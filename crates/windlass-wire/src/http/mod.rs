//! The part of HTTP/1.1 that IPP needs (RFC 9112; RFC 8010, section 3): heads of requests and
//! responses, and bodies by length, in chunks, or up to the end of the connection.

mod auth;
mod body;
mod head;

pub use auth::{Challenge, MAX_CREDENTIALS, basic, basic_of};
pub use body::{Body, BodyError, BodyPiece, CHUNK_END, LAST_CHUNK, MAX_CHUNK, chunk_head};
pub use head::{BodyLength, HeadError, Headers, MAX_HEAD, MAX_HEADERS, Request, Response};

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
