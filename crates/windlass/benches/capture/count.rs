//! Count of the packets in a capture file: independent, so that no program is asked about itself.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// An Enhanced Packet Block of pcapng.
const PACKET: u32 = 6;

/// The whole packets in a file of this machine's byte order.
pub(crate) fn packets(path: &Path) -> Result<u64> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut magic = [0; 4];
    file.read_exact(&mut magic).context("the file is empty")?;
    match u32::from_ne_bytes(magic) {
        0xa1b2_c3d4 | 0xa1b2_3c4d => {
            file.seek_relative(20)?;
            records(&mut file)
        }
        0x0a0d_0d0a => {
            file.seek_relative(-4)?;
            blocks(&mut file)
        }
        other => bail!("{} is no capture: it begins with {other:08x}", path.display()),
    }
}

/// pcap: a header of 16 bytes, of which the third word is the length.
fn records(file: &mut BufReader<File>) -> Result<u64> {
    let mut count = 0;
    while let Some(header) = next::<16>(file)? {
        let [.., a, b, c, d, _, _, _, _] = header;
        if !skip(file, u32::from_ne_bytes([a, b, c, d]).into())? {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// pcapng: a type and a length that counts itself.
fn blocks(file: &mut BufReader<File>) -> Result<u64> {
    let mut count = 0;
    while let Some([a, b, c, d, e, f, g, h]) = next::<8>(file)? {
        let (kind, length) = (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]));
        ensure!(length >= 12, "a block has {length} bytes");
        if !skip(file, u64::from(length) - 8)? {
            break;
        }
        count += u64::from(kind == PACKET);
    }
    Ok(count)
}

/// The next bytes; nothing at the end, or where they are cut off.
fn next<const N: usize>(file: &mut BufReader<File>) -> Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    match file.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Leaves bytes out; tells whether they were there.
fn skip(file: &mut BufReader<File>, bytes: u64) -> Result<bool> {
    Ok(std::io::copy(&mut file.by_ref().take(bytes), &mut std::io::sink())? == bytes)
}
