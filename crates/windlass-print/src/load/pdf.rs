//! Sample documents: PDF 1.4 as ISO 32000-1 has it, of about a wanted size.

use std::io::Read;

use crate::document::{Document, Payload};

/// The eleven samples: their pages, and their size at the least. From a letter to
/// a scan of some pages.
pub(super) const SAMPLES: [(usize, usize); 11] = [
    (1, 2_000),
    (1, 10_000),
    (2, 25_000),
    (1, 50_000),
    (3, 100_000),
    (2, 200_000),
    (4, 350_000),
    (1, 500_000),
    (3, 1_000_000),
    (2, 1_500_000),
    (4, 3_000_000),
];

/// The text of a page has so many letters.
const LETTERS: usize = 1_600;

/// The objects before the pages: the catalogue, the tree of pages, the font, and
/// the picture.
const FIRST_PAGE: usize = 5;

/// The points of a line of the picture.
const WIDTH: usize = 64;

/// A document of so many pages, each with text and with a picture, of `size`
/// bytes or somewhat more.
pub(super) fn sample(pages: usize, size: usize) -> Vec<u8> {
    // The picture is what is missing to the size.
    let missing = size.saturating_sub(document(pages, 1).len());
    document(pages, 1 + missing.div_ceil(WIDTH))
}

/// One whose picture has so many lines: grey, and of noise, as a scan is.
fn document(pages: usize, height: usize) -> Vec<u8> {
    let picture = made(Payload::Random, WIDTH * height);
    let kids = (0..pages).map(|page| format!("{} 0 R", FIRST_PAGE + 2 * page));
    let kids = kids.collect::<Vec<_>>().join(" ");
    let mut pdf = Writer::new();
    pdf.object(b"<< /Type /Catalog /Pages 2 0 R >>");
    pdf.object(format!("<< /Type /Pages /Kids [{kids}] /Count {pages} >>").as_bytes());
    pdf.object(b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>");
    let about = format!(
        "/Type /XObject /Subtype /Image /Width {WIDTH} /Height {height} /ColorSpace /DeviceGray \
         /BitsPerComponent 8"
    );
    pdf.stream(&about, &picture);
    for page in 0..pages {
        let number = FIRST_PAGE + 2 * page + 1;
        pdf.object(
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {number} 0 R \
                 /Resources << /Font << /F1 3 0 R >> /XObject << /Im1 4 0 R >> >> >>"
            )
            .as_bytes(),
        );
        pdf.stream("", &content(page, pages));
    }
    pdf.finish()
}

/// What a page shows.
fn content(page: usize, pages: usize) -> Vec<u8> {
    let mut out = format!(
        "BT /F1 12 Tf 14 TL 50 790 Td (Sample of windlass, page {} of {pages}) Tj T* T*\n",
        page + 1
    )
    .into_bytes();
    // It has no parentheses and no backslashes, which would be signs of their own.
    let text = made(Payload::Text, LETTERS);
    for line in text.split(|byte| *byte == b'\n') {
        out.push(b'(');
        out.extend_from_slice(line);
        out.extend_from_slice(b") Tj T*\n");
    }
    out.extend_from_slice(b"ET q 400 0 0 300 50 80 cm /Im1 Do Q\n");
    out
}

/// Puts objects one behind the other, and knows where each begins.
struct Writer {
    out: Vec<u8>,
    offsets: Vec<usize>,
}

impl Writer {
    fn new() -> Self {
        // The comment says that there are bytes above 127.
        Self { out: b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec(), offsets: Vec::new() }
    }

    fn object(&mut self, body: &[u8]) {
        self.offsets.push(self.out.len());
        self.out.extend_from_slice(format!("{} 0 obj\n", self.offsets.len()).as_bytes());
        self.out.extend_from_slice(body);
        self.out.extend_from_slice(b"\nendobj\n");
    }

    fn stream(&mut self, about: &str, data: &[u8]) {
        let head = format!("<< {about} /Length {} >>\nstream\n", data.len());
        self.object(&[head.as_bytes(), data, b"\nendstream"].concat());
    }

    /// The table of objects. Each of its lines has 20 bytes.
    fn finish(mut self) -> Vec<u8> {
        let (table, count) = (self.out.len(), self.offsets.len() + 1);
        let mut end = format!("xref\n0 {count}\n0000000000 65535 f \n");
        for offset in &self.offsets {
            end.push_str(&format!("{offset:010} 00000 n \n"));
        }
        end.push_str(&format!(
            "trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n"
        ));
        self.out.extend_from_slice(end.as_bytes());
        self.out
    }
}

/// So many bytes that are made here: the same each time.
fn made(payload: Payload, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    // It does not fail, and has as many as it says.
    let _ = Document::of(payload, size as u64).read_exact(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the table back: each offset has its object.
    fn objects(pdf: &[u8]) -> usize {
        let text = String::from_utf8_lossy(&pdf[pdf.len() - 40..]).into_owned();
        let at = text.split("startxref\n").nth(1).unwrap().lines().next().unwrap();
        let table = &pdf[at.parse::<usize>().unwrap()..];
        let table = String::from_utf8(table.to_vec()).unwrap();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "xref");
        let count: usize = lines[1].strip_prefix("0 ").unwrap().parse().unwrap();
        for (number, line) in lines[3..2 + count].iter().enumerate() {
            let offset: usize = line[..10].parse().unwrap();
            let head = format!("{} 0 obj\n", number + 1);
            assert!(pdf[offset..].starts_with(head.as_bytes()), "{head}");
        }
        count - 1
    }

    #[test]
    fn samples_are_documents_of_their_size() {
        for (pages, size) in SAMPLES {
            let pdf = sample(pages, size);
            assert!((size..size + size / 10 + 3_000).contains(&pdf.len()), "{size}: {}", pdf.len());
            assert_eq!(objects(&pdf), 4 + 2 * pages);
        }
    }
}
