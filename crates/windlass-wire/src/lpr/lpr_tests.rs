#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;

use super::*;

#[test]
fn what_bsds_lpr_says_is_read() {
    // lpr of LPRng and of BSD, and Windows's with its streams.
    let queue = || b"lp".to_vec();
    assert_eq!(Command::decode(b"\x02lp").unwrap(), Command::ReceiveJob { queue: queue() });
    assert_eq!(Command::decode(b"\x01lp").unwrap(), Command::PrintWaiting { queue: queue() });
    assert_eq!(
        Command::decode(b"\x04lp root 12").unwrap(),
        Command::State { queue: queue(), long: true, list: vec![b"root".to_vec(), b"12".to_vec()] }
    );
    assert_eq!(
        Command::decode(b"\x05lp root 7").unwrap(),
        Command::Remove { queue: queue(), agent: b"root".to_vec(), list: vec![b"7".to_vec()] }
    );
    assert_eq!(
        JobCommand::decode(b"\x0281 cfA001host").unwrap(),
        JobCommand::ControlFile { size: 81, name: b"cfA001host".to_vec() }
    );
    assert_eq!(
        JobCommand::decode(b"\x03999999999999 dfA001host").unwrap(),
        JobCommand::DataFile { size: ENDLESS, name: b"dfA001host".to_vec() }
    );
    assert_eq!(JobCommand::decode(b"\x01"), Ok(JobCommand::Abort));
}

#[test]
fn what_is_no_command_is_told() {
    assert_eq!(Command::decode(b""), Err(Error::Empty));
    assert_eq!(Command::decode(b"\x02"), Err(Error::Operand));
    assert_eq!(Command::decode(b"\x05lp"), Err(Error::Operand));
    assert_eq!(Command::decode(b"GET / HTTP/1.1"), Err(Error::Unknown(b'G')));
    assert_eq!(JobCommand::decode(b"\x02 cfA001host"), Err(Error::Operand));
    assert_eq!(JobCommand::decode(b"\x03-1 dfA001host"), Err(Error::Size));
    assert_eq!(JobCommand::decode(b"\x0399999999999999999999999 df"), Err(Error::Size));
    assert_eq!(JobCommand::decode(b"\x0912 df"), Err(Error::Unknown(9)));
    // A queue of this name would be two operands, or two commands.
    for queue in ["a b", "a\nb", "a\x02"] {
        let command = Command::ReceiveJob { queue: queue.into() };
        assert_eq!(command.encode(), Err(Error::Unspeakable), "{queue:?}");
    }
    assert_eq!(Command::ReceiveJob { queue: Vec::new() }.encode(), Err(Error::Operand));
    let long = Command::ReceiveJob { queue: vec![b'q'; MAX_LINE] };
    assert_eq!(long.encode(), Err(Error::TooLong));
}

#[test]
fn a_line_ends_or_is_too_long() {
    assert_eq!(line(b"\x02lp\n\x02"), Ok(Some((&b"\x02lp"[..], 4))));
    assert_eq!(line(b"\x02lp"), Ok(None));
    assert_eq!(line(&[b'x'; MAX_LINE]), Ok(None));
    assert_eq!(line(&[b'x'; MAX_LINE + 1]), Err(Error::TooLong));
    let longest = [&[b'x'; MAX_LINE][..], b"\n"].concat();
    assert_eq!(line(&longest).unwrap().unwrap().1, MAX_LINE + 1);
}

#[test]
fn a_control_file_keeps_to_the_limits() {
    let mut file = ControlFile::default();
    file.push(b'H', &"h".repeat(40));
    file.push(b'P', "ann");
    file.push(b'J', &"ü".repeat(60));
    file.push(b'N', "a\nUdfA000other\nb");
    file.push(b'l', "dfA001host");
    assert_eq!(file.text(b'H').unwrap().len(), 31);
    // 99 is in the middle of a character.
    assert_eq!(file.text(b'J').unwrap(), "ü".repeat(49).as_bytes());
    assert_eq!(file.text(b'N').unwrap(), b"a UdfA000other b");
    assert_eq!(ControlFile::decode(&file.encode()), file);
    assert_eq!([b'H', b'P', b'C'].map(most), [Some(31); 3]);
    assert_eq!((most(b'J'), most(b'N'), most(b'U')), (Some(99), Some(131), None));
    // As LPRng sends it, without the last end of a line.
    let file = ControlFile::decode(b"Hhost\nPann\nCA\nldfA001host\nUdfA001host");
    assert_eq!(file.text(b'U'), Some(&b"dfA001host"[..]));
    assert_eq!(file.lines.len(), 5);
}

#[test]
fn acks_have_their_bytes() {
    for byte in 0..=255 {
        assert_eq!(Ack::new(byte).byte(), byte);
    }
    assert_eq!([0, 1, 2, 3].map(Ack::new), [Ack::Done, Ack::Refused, Ack::Later, Ack::Failed]);
}

fn any_word() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0x21_u8..=0x7e, 1..20)
}

fn any_command() -> impl Strategy<Value = Command> {
    let list = || prop::collection::vec(any_word(), 0..4);
    prop_oneof![
        any_word().prop_map(|queue| Command::PrintWaiting { queue }),
        any_word().prop_map(|queue| Command::ReceiveJob { queue }),
        (any_word(), any::<bool>(), list()).prop_map(|(queue, long, list)| Command::State {
            queue,
            long,
            list
        }),
        (any_word(), any_word(), list()).prop_map(|(queue, agent, list)| Command::Remove {
            queue,
            agent,
            list
        }),
    ]
}

proptest! {
    #[test]
    fn commands_are_read_as_they_were_written(command in any_command()) {
        let bytes = command.encode().unwrap();
        let (line, used) = line(&bytes).unwrap().unwrap();
        prop_assert_eq!(used, bytes.len());
        prop_assert_eq!(Command::decode(line), Ok(command));
    }

    #[test]
    fn subcommands_are_read_as_they_were_written(size in any::<u64>(), name in any_word(), is_control in any::<bool>()) {
        let command = match is_control {
            true => JobCommand::ControlFile { size, name },
            false => JobCommand::DataFile { size, name },
        };
        let bytes = command.encode().unwrap();
        let (line, _) = line(&bytes).unwrap().unwrap();
        prop_assert_eq!(JobCommand::decode(line), Ok(command));
    }

    #[test]
    fn any_bytes_are_lines_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        if let Ok(Some((text, used))) = line(&bytes) {
            prop_assert!(used == text.len() + 1 && text.len() <= MAX_LINE);
            let _ = (Command::decode(text), JobCommand::decode(text));
        }
        let file = ControlFile::decode(&bytes);
        prop_assert_eq!(ControlFile::decode(&file.encode()), file);
    }

    #[test]
    fn no_text_makes_lines_of_its_own(text in any::<String>(), letter in prop::sample::select(b"HPCJNLTUf".to_vec())) {
        let mut file = ControlFile::default();
        file.push(letter, &text);
        prop_assert!(most(letter).is_none_or(|most| file.lines[0].text.len() <= most));
        let bytes = file.encode();
        prop_assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 1);
        prop_assert!(String::from_utf8(bytes).is_ok());
    }
}
