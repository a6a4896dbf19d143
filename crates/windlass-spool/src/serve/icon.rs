//! Printer icon, drawn as a PNG: for clients that show printers (`printer-icons`, PWG 5100.13,
//! section 6.5.18), and for browsers.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Returns the icon as a PNG of `size` by `size` pixels.
pub(super) fn png(size: u32) -> Vec<u8> {
    let mut rows = Vec::new();
    for y in 0..size {
        // Each row begins with its filter type: none.
        rows.push(0);
        for x in 0..size {
            // The middle of the pixel, on a sheet of 64 by 64.
            let place = |at: u32| (f64::from(at) + 0.5) * 64.0 / f64::from(size);
            rows.extend_from_slice(&color(place(x), place(y)));
        }
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to a vector cannot fail.
    let _ = packed.write_all(&rows);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    // 8 bits of red, green, blue and opacity each (PNG, section 11.2.1).
    let head = [&size.to_be_bytes()[..], &size.to_be_bytes(), &[8, 6, 0, 0, 0]].concat();
    for (kind, data) in
        [(b"IHDR", head), (b"IDAT", packed.finish().unwrap_or_default()), (b"IEND", Vec::new())]
    {
        let length = u32::try_from(data.len()).unwrap_or(0);
        png.extend_from_slice(&length.to_be_bytes());
        let start = png.len();
        png.extend_from_slice(kind);
        png.extend_from_slice(&data);
        let sum = crc32fast::hash(&png[start..]);
        png.extend_from_slice(&sum.to_be_bytes());
    }
    png
}

/// Returns the color at a position of the sheet.
fn color(x: f64, y: f64) -> [u8; 4] {
    let within = |left: f64, top: f64, right: f64, bottom: f64| {
        (left..right).contains(&x) && (top..bottom).contains(&y)
    };
    // Lines on the paper that comes out, the paper, a lamp, the printer, the paper above.
    if within(20.0, 44.0, 44.0, 46.0) || within(20.0, 50.0, 38.0, 52.0) {
        [0x57, 0x60, 0x6a, 0xff]
    } else if within(16.0, 40.0, 48.0, 58.0) {
        [0xff, 0xff, 0xff, 0xff]
    } else if within(48.0, 28.0, 52.0, 32.0) {
        [0x2d, 0xa4, 0x4e, 0xff]
    } else if within(6.0, 22.0, 58.0, 48.0) {
        [0x32, 0x4a, 0x66, 0xff]
    } else if within(16.0, 6.0, 48.0, 22.0) {
        [0xd0, 0xd7, 0xde, 0xff]
    } else {
        [0, 0, 0, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_icon_is_a_png() {
        let icon = png(48);
        assert!(icon.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x30\0\0\0\x30\x08\x06"));
        assert!(icon.ends_with(b"\0\0\0\0IEND\xaeB`\x82"));
        assert_eq!(color(32.0, 30.0), [0x32, 0x4a, 0x66, 0xff]);
        assert_eq!(color(0.5, 0.5)[3], 0);
    }
}
