//! Any bytes are a head of HTTP, or not whole, or an error; any bytes behind it
//! are a body, the same in pieces of any size.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_wire::http::{
    Body, BodyError, BodyLength, Challenge, Request, Response, basic, basic_of,
};

fn body(length: BodyLength, bytes: &[u8], piece: usize) -> (Vec<u8>, usize, Option<BodyError>) {
    let (mut body, mut data, mut sum) = (Body::new(length), Vec::new(), 0);
    for piece in bytes.chunks(piece) {
        let mut at = 0;
        while at < piece.len() && !body.is_done() {
            match body.take(&piece[at..]) {
                Ok(taken) => {
                    assert!(taken.used > 0 && taken.data.len() <= taken.used);
                    data.extend_from_slice(taken.data);
                    at += taken.used;
                }
                Err(error) => return (data, 0, Some(error)),
            }
        }
        sum += at;
    }
    (data, sum, None)
}

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    // What says who asks: any text is challenges, and a name and a password or none.
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Challenge::all(text);
        if let Some((user, password)) = basic_of(text) {
            assert_eq!(basic_of(&basic(&user, &password)), Some((user, password)));
        }
    }
    let mut lengths = vec![BodyLength::Chunked, BodyLength::Of(bytes.len() as u64 / 2)];
    if let Ok(Some((head, used))) = Request::decode(bytes) {
        assert!(used <= bytes.len());
        let _ = (head.waits(), head.closes());
        lengths.extend(head.body());
        if let Ok(again) = head.encode() {
            assert_eq!(Request::decode(&again), Ok(Some((head, again.len()))));
        }
    }
    if let Ok(Some((head, used))) = Response::decode(bytes) {
        assert!(used <= bytes.len());
        lengths.extend(head.body());
        if let Ok(again) = head.encode() {
            assert_eq!(Response::decode(&again), Ok(Some((head, again.len()))));
        }
    }
    for length in lengths {
        let whole = body(length, bytes, bytes.len().max(1));
        assert_eq!(whole, body(length, bytes, usize::from(piece) + 1));
    }
});
