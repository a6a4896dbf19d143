#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;

use super::*;

/// cupsd 2.4.2, whose spool is full.
const FULL: &[u8] = b"HTTP/1.1 413 Request Entity Too Large\r\n\
    Connection: close\r\n\
    Content-Language: en_US\r\n\
    Content-Length: 12\r\n\
    Content-Type: text/html; charset=utf-8\r\n\
    Date: Sun, 22 Nov 2026 03:00:00 GMT\r\n\
    \r\n<!DOCTYPE ht";

#[test]
fn a_response_is_read() {
    for short in 0..FULL.len() - 12 {
        assert_eq!(Response::decode(&FULL[..short]), Ok(None), "{short}");
    }
    let (head, used) = Response::decode(FULL).unwrap().unwrap();
    assert_eq!((head.status, head.reason.as_str()), (413, "Request Entity Too Large"));
    assert_eq!(&FULL[used..], b"<!DOCTYPE ht");
    assert_eq!(head.body(), Ok(BodyLength::Of(12)));
    assert!(head.closes() && !head.is_interim());
    let text = head.headers.text("content-type").unwrap();
    assert_eq!(text, "text/html; charset=utf-8");
    let (interim, _) = Response::decode(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap().unwrap();
    assert!(interim.is_interim());
    assert_eq!(interim.body(), Ok(BodyLength::Of(0)));
}

#[test]
fn a_request_is_written_and_read() {
    let headers = Headers::default()
        .with("Host", "printer:631")
        .with("Content-Type", "application/ipp")
        .with("Transfer-Encoding", "chunked")
        .with("Expect", "100-continue");
    let request = Request { method: "POST".into(), path: "/ipp/print".into(), minor: 1, headers };
    let bytes = request.encode().unwrap();
    assert!(bytes.starts_with(b"POST /ipp/print HTTP/1.1\r\nHost: printer:631\r\n"));
    let (read, used) = Request::decode(&bytes).unwrap().unwrap();
    assert_eq!((&read, used), (&request, bytes.len()));
    assert_eq!(read.body(), Ok(BodyLength::Chunked));
    assert!(read.waits() && !read.closes());
}

#[test]
fn a_server_is_called_what_can_stand_in_a_uri() {
    let long = "a".repeat(256);
    for (host, authority) in [
        (Some("printer:631"), "printer:631"),
        (Some("[fe80::1]:631"), "[fe80::1]:631"),
        (Some("printer/../x"), "localhost"),
        (Some("a b"), "localhost"),
        (Some(""), "localhost"),
        (Some(long.as_str()), "localhost"),
        (None, "localhost"),
    ] {
        let headers =
            host.map_or_else(Headers::default, |host| Headers::default().with("Host", host));
        let request = Request { method: "GET".into(), path: "/".into(), minor: 1, headers };
        assert_eq!(request.authority(), authority, "{host:?}");
    }
}

#[test]
fn an_answer_has_the_usual_words() {
    let headers = Headers::default().with("Content-Length", "0");
    let answer = Response::new(404, headers.clone()).encode().unwrap();
    assert_eq!(answer, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    // No words are needed (RFC 9112, section 4).
    let answer = Response::new(499, headers).encode().unwrap();
    assert_eq!(Response::decode(&answer).unwrap().unwrap().0.status, 499);
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let response = |headers: &str| {
        let text = format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n");
        Response::decode(text.as_bytes()).unwrap().unwrap().0.body()
    };
    assert_eq!(response("Content-Length: 5\r\nContent-Length: 6"), Err(HeadError::Length));
    assert_eq!(response("Content-Length: 5\r\nContent-Length: 5"), Ok(BodyLength::Of(5)));
    assert_eq!(response("Content-Length: +5"), Err(HeadError::Length));
    assert_eq!(response("Content-Length: 99999999999999999999"), Err(HeadError::Length));
    let both = "Content-Length: 5\r\nTransfer-Encoding: chunked";
    assert_eq!(response(both), Err(HeadError::Length));
    assert_eq!(response("Transfer-Encoding: gzip"), Err(HeadError::Encoding));
    assert_eq!(response("Transfer-Encoding: gzip, chunked"), Err(HeadError::Encoding));
    assert_eq!(response("Server: x"), Ok(BodyLength::UntilClose));
    for (name, value) in [("a\r\nb", "c"), ("a", "b\r\nc: d"), ("", "x"), ("a:", "x")] {
        let headers = Headers::default().with(name, value);
        let head = Response { status: 200, reason: "OK".into(), minor: 1, headers };
        assert_eq!(head.encode(), Err(HeadError::Unspeakable), "{name:?}");
    }
}

#[test]
fn a_head_without_an_end_is_too_long() {
    let mut endless = b"HTTP/1.1 200 OK\r\n".to_vec();
    for number in 0..4_000 {
        endless.extend(format!("X-{number}: y\r\n").as_bytes());
    }
    assert_eq!(Response::decode(&endless), Err(HeadError::TooMany));
    let mut endless = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    endless.resize(MAX_HEAD - 1, b'y');
    assert_eq!(Response::decode(&endless), Ok(None));
    endless.push(b'y');
    assert_eq!(Response::decode(&endless), Err(HeadError::TooLong));
    assert!(matches!(Response::decode(b"SSH-2.0-OpenSSH\r\n\r\n"), Err(HeadError::Wrong(_))));
}

/// All data of a body that comes in pieces, and the bytes that were its.
fn data(length: BodyLength, pieces: &[&[u8]]) -> Result<(Vec<u8>, usize, bool), BodyError> {
    let (mut body, mut all, mut sum) = (Body::new(length), Vec::new(), 0);
    for piece in pieces {
        let mut at = 0;
        loop {
            let taken = body.take(&piece[at..])?;
            if taken.used == 0 {
                break;
            }
            all.extend(taken.data);
            at += taken.used;
        }
        sum += at;
    }
    Ok((all, sum, body.is_done()))
}

#[test]
fn chunks_are_put_together() {
    let bytes = b"4\r\nWiki\r\n7;ext=1\r\npedia i\r\nB\r\nn \r\nchunks.\r\n0\r\nX: y\r\n\r\nHTTP";
    let expected = b"Wikipedia in \r\nchunks.";
    for size in 1..bytes.len() {
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        let (all, used, done) = data(BodyLength::Chunked, &pieces).unwrap();
        assert_eq!((all.as_slice(), used, done), (&expected[..], bytes.len() - 4, true), "{size}");
    }
}

#[test]
fn data_that_nobody_looks_at_is_passed_over() {
    let mut body = Body::new(BodyLength::Chunked);
    assert_eq!(body.skip(9), 0, "a chunk's size is no data");
    assert_eq!(body.take(b"ff\r\n").unwrap().used, 4);
    assert_eq!((body.skip(200), body.skip(200), body.skip(200)), (200, 55, 0));
    body.take(b"\r\n0\r\n\r\n").unwrap();
    assert!(body.is_done() && body.skip(1) == 0);
    let mut body = Body::new(BodyLength::Of(u64::MAX));
    assert_eq!((body.skip(u64::MAX), body.is_done()), (u64::MAX, true));
}

#[test]
fn hostile_chunks_are_refused() {
    let chunked = |bytes: &[u8]| data(BodyLength::Chunked, &[bytes]);
    assert_eq!(chunked(b"1000000000000000\r\n"), Err(BodyError::TooLarge));
    assert_eq!(chunked(b"fffffffffffffffff\r\n"), Err(BodyError::TooLarge));
    assert_eq!(chunked(b"-1\r\n"), Err(BodyError::Size));
    assert_eq!(chunked(b"\r\n"), Err(BodyError::Size));
    assert_eq!(chunked(b"3\r\nabcd"), Err(BodyError::End));
    assert_eq!(chunked(&[b'1'; 300]), Err(BodyError::TooLong));
    let trailers = [&b"0\r\n"[..], &b"x: y\r\n".repeat(5_000)].concat();
    assert_eq!(chunked(&trailers), Err(BodyError::TooLong));
    let mut body = Body::new(BodyLength::Of(3));
    body.take(b"ab").unwrap();
    assert_eq!(body.closed(), Err(BodyError::CutOff));
    let mut body = Body::new(BodyLength::UntilClose);
    assert_eq!(body.take(b"ab").unwrap().data, b"ab");
    assert_eq!(body.closed(), Ok(()));
    assert!(body.is_done());
}

proptest! {
    #[test]
    fn chunks_are_read_as_they_were_written(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..8),
        size in 1_usize..100,
    ) {
        let mut bytes = Vec::new();
        for chunk in &chunks {
            bytes.extend(chunk_head(chunk.len()));
            bytes.extend(chunk);
            bytes.extend(CHUNK_END);
        }
        bytes.extend(LAST_CHUNK);
        let whole = bytes.len();
        bytes.extend(b"next");
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        prop_assert_eq!(data(BodyLength::Chunked, &pieces), Ok((chunks.concat(), whole, true)));
    }

    #[test]
    fn any_bytes_are_taken_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        length in prop_oneof![
            any::<u64>().prop_map(BodyLength::Of),
            Just(BodyLength::Chunked),
            Just(BodyLength::UntilClose),
        ],
    ) {
        let _ = (Request::decode(&bytes), Response::decode(&bytes));
        if let Ok((all, used, _)) = data(length, &[&bytes]) {
            prop_assert!(all.len() <= used && used <= bytes.len());
        }
    }

    #[test]
    fn heads_are_read_as_they_were_written(
        status in 100_u16..600,
        reason in "[A-Za-z ]{0,20}",
        headers in prop::collection::vec(("[A-Za-z-]{1,10}", "[!-~]([ -~]{0,20}[!-~])?"), 0..10),
    ) {
        let mut all = Headers::default();
        for (name, value) in &headers {
            all.push(name, value);
        }
        let head = Response { status, reason: reason.trim().to_owned(), minor: 1, headers: all };
        let bytes = head.encode().unwrap();
        let (read, used) = Response::decode(&bytes).unwrap().unwrap();
        prop_assert_eq!((read, used), (head, bytes.len()));
    }
}
