//! Documents made by hand, and any bytes in any pieces.

use proptest::prelude::*;

use super::{Counter, DocumentFormat, Pages, UnknownReason};

const DAMAGED: Pages = Pages::Unknown(UnknownReason::Damaged);
const UNSAID: Pages = Pages::Unknown(UnknownReason::Unsaid);

fn count_as(media_type: &str, bytes: &[u8]) -> Pages {
    let mut counter = Counter::new(media_type);
    counter.feed(bytes);
    counter.finish()
}

/// At once, byte by byte, and with what need not be seen left out: all give the same.
fn count(bytes: &[u8]) -> Pages {
    let at_once = count_as("application/octet-stream", bytes);
    let mut counter = Counter::new("application/octet-stream");
    bytes.chunks(1).for_each(|piece| counter.feed(piece));
    assert_eq!(counter.finish(), at_once);
    let (mut counter, mut rest) = (Counter::new("application/octet-stream"), bytes);
    while !rest.is_empty() {
        let skips = usize::try_from(counter.skips()).unwrap_or(usize::MAX).min(rest.len());
        counter.skip(skips as u64);
        let piece = (rest.len() - skips).min(7);
        counter.feed(&rest[skips..][..piece]);
        rest = &rest[skips + piece..];
    }
    assert_eq!(counter.finish(), at_once);
    at_once
}

/// A PDF of these objects, numbered from 1, with this trailer.
fn pdf(objects: &[&str], trailer: &str) -> Vec<u8> {
    let mut text = "%PDF-1.7\n%\u{e2}\u{e3}\n".to_owned();
    for (place, object) in objects.iter().enumerate() {
        text += &format!("{} 0 obj\n{object}\nendobj\n", place + 1);
    }
    text += &format!("trailer\n<< {trailer} >>\nstartxref\n9\n%%EOF\n");
    text.into_bytes()
}

const CATALOG: &str = "<< /Type /Catalog /Pages 2 0 R /Names << /Type /Pages /Count 9 >> >>";
const TWO: &str = "<< /Type /Pages /Count 2 /Kids [ 3 0 R 4 0 R ] >>";
const PAGE: &str = "<< /Type /Page /Parent 2 0 R /Contents 5 0 R >>";

#[test]
fn a_pdf_has_the_leaves_of_its_tree() {
    let stream =
        "<< /Length 44 >>\nstream\n9 0 obj << /Type /Pages /Count 7 >> endobj   \nendstream";
    assert_eq!(
        count(&pdf(&[CATALOG, TWO, PAGE, PAGE, stream], "/Root 1 0 R /Size 6")),
        Pages::Counted(2)
    );
    // A length that stands elsewhere, with almost an end in the data.
    let stream = "<< /Length 6 0 R >>\r\nstream\r\nendstreendstrea endstreamendstream";
    assert_eq!(
        count(&pdf(&[CATALOG, TWO, PAGE, PAGE, stream, "44"], "/Root 1 0 R")),
        Pages::Counted(2)
    );
    // A name may be written otherwise, and a word may hide in a text.
    let page = "<</#54ype/P#61ge/Title(endobj \\) 3 0 obj)/Parent 2 0 R>>";
    assert_eq!(count(&pdf(&[CATALOG, TWO, page, PAGE], "/Root 1 0 R")), Pages::Counted(2));
}

#[test]
fn a_pdf_that_contradicts_itself_is_unknown() {
    let root = "/Root 1 0 R";
    for (objects, trailer) in [
        // The count is another.
        (vec![CATALOG, "<< /Type /Pages /Count 3 /Kids [ 3 0 R 4 0 R ] >>", PAGE, PAGE], root),
        // A page is missing, the tree goes in circles, and there is no root.
        (vec![CATALOG, TWO, PAGE], root),
        (vec![CATALOG, "<< /Type /Pages /Count 2 /Kids [ 2 0 R 2 0 R ] >>"], root),
        (vec![CATALOG, TWO, PAGE, PAGE], "/Size 5"),
        (vec![], root),
        // A stream is not as long as it says.
        (vec![CATALOG, TWO, PAGE, PAGE, "<< /Length 3 >>\nstream\nabcdef\nendstream"], root),
        (vec![CATALOG, TWO, PAGE, PAGE, "<< /Length 99999 >>\nstream\nabc\nendstream"], root),
    ] {
        assert_eq!(count(&pdf(&objects, trailer)), DAMAGED, "{objects:?}");
    }
    let encrypted = pdf(&[CATALOG, TWO, PAGE, PAGE], "/Root 1 0 R /Encrypt 9 0 R");
    assert_eq!(count(&encrypted), Pages::Unknown(UnknownReason::Encrypted));
    let whole = pdf(&[CATALOG, TWO, PAGE, PAGE], root);
    for length in 16..whole.len() - 30 {
        assert_eq!(count(&whole[..length]), DAMAGED, "{length}");
    }
}

#[test]
fn what_is_appended_to_a_pdf_counts() {
    let mut text = pdf(&[CATALOG, TWO, PAGE, PAGE], "/Root 1 0 R");
    text.extend_from_slice(
        b"2 0 obj << /Type /Pages /Count 1 /Kids [ 4 0 R ] >> endobj\ntrailer << /Prev 9 >>\n",
    );
    assert_eq!(count(&text), Pages::Counted(1));
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn with_objects(entries: &str, data: &[u8]) -> Vec<u8> {
    let mut text = b"%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n".to_vec();
    let head = format!("6 0 obj << /Type /ObjStm {entries} /Length {} >>\nstream\n", data.len());
    text.extend_from_slice(head.as_bytes());
    text.extend_from_slice(data);
    text.extend_from_slice(b"\nendstream endobj trailer << /Root 1 0 R >>");
    text
}

#[test]
fn objects_of_a_pdf_may_be_packed() {
    let places = "2 0 3 52 4 101 ";
    let objects = format!("{TWO:<52}{PAGE:<49}{PAGE}");
    let data = format!("{places}{objects}");
    let first = places.len();
    let flate = format!("/N 3 /First {first} /Filter /FlateDecode");
    assert_eq!(count(&with_objects(&flate, &packed(data.as_bytes()))), Pages::Counted(2));
    let flate = format!("/N 3 /First {first} /Filter [ /FlateDecode ]");
    assert_eq!(count(&with_objects(&flate, &packed(data.as_bytes()))), Pages::Counted(2));
    let plain = format!("/N 3 /First {first}");
    assert_eq!(count(&with_objects(&plain, data.as_bytes())), Pages::Counted(2));
    // Too few, too many, out of order, cut, or packed in another way.
    for entries in [
        format!("/N 2 /First {first}"),
        format!("/N 4 /First {first}"),
        "/N 3 /First 9999".to_owned(),
        "/First 9".to_owned(),
        format!("/N 3 /First {first} /Filter /FlateDecode"),
    ] {
        assert_eq!(count(&with_objects(&entries, data.as_bytes())), DAMAGED, "{entries}");
    }
    let cut = &packed(data.as_bytes())[..30];
    assert_eq!(count(&with_objects(&flate, cut)), DAMAGED);
    for other in [
        "/LZWDecode",
        "[ /FlateDecode /FlateDecode ]",
        "/FlateDecode /DecodeParms << /Predictor 12 /Columns 4 >>",
    ] {
        let entries = format!("/N 3 /First {first} /Filter {other}");
        let pages = count_as("", &with_objects(&entries, &packed(data.as_bytes())));
        assert_eq!(pages, Pages::Unknown(UnknownReason::Format), "{other}");
    }
}

#[test]
fn a_bomb_in_a_pdf_is_not_unpacked() {
    let data = packed(&vec![b' '; 2 << 20]);
    assert!(data.len() < 1 << 14);
    let pages = count_as("", &with_objects("/N 0 /First 0 /Filter /FlateDecode", &data));
    assert_eq!(pages, Pages::Unknown(UnknownReason::TooMuch));
    let kids = "3 0 R ".repeat(300_000);
    let node = format!("<< /Type /Pages /Count 300000 /Kids [ {kids} ] >>");
    let pages = count_as("", &pdf(&[CATALOG, &node, PAGE], "/Root 1 0 R"));
    assert_eq!(pages, Pages::Unknown(UnknownReason::TooMuch));
    // Deep nests and endless words take nothing.
    assert_eq!(count_as("", &[b"%PDF-1.4 1 0 obj".as_slice(), &[b'['; 1 << 20]].concat()), DAMAGED);
    assert_eq!(count_as("", &[b"%PDF-1.4 1 0 obj".as_slice(), &[b'('; 1 << 20]].concat()), DAMAGED);
}

const DSC: &str = "%!PS-Adobe-3.0\n";

#[test]
fn postscript_says_its_pages_in_comments() {
    let pages = "%%Page: 1 1\nshowpage\n%%Page: (ii) 2\nshowpage\n";
    let of = |text: &str| count(text.as_bytes());
    assert_eq!(of(&format!("{DSC}%%Pages: 2\n%%EndComments\n{pages}%%EOF\n")), Pages::Counted(2));
    assert_eq!(
        of(&format!("{DSC}%%Pages: (atend)\n{pages}%%Trailer\n%%Pages: 2\n")),
        Pages::Counted(2)
    );
    assert_eq!(of(&format!("{DSC}{pages}")), Pages::Counted(2));
    assert_eq!(of(&format!("{DSC}%%Pages: 7\nshowpage\n")), Pages::Counted(7));
    assert_eq!(of(&format!("{DSC}%%Pages: 3\n{pages}")), DAMAGED);
    assert_eq!(of(DSC), UNSAID);
    assert_eq!(of("%!PS\nshowpage\nshowpage\nshowpage\n"), UNSAID);
    // Lines end as they may.
    assert_eq!(of(&format!("{DSC}%%Pages: 2\n{pages}").replace('\n', "\r\n")), Pages::Counted(2));
    assert_eq!(of(&format!("{DSC}%%Pages: 2\n{pages}").replace('\n', "\r")), Pages::Counted(2));
    // An embedded document has pages of its own, and data may hold anything.
    let embedded = format!("%%BeginDocument: x\n{DSC}%%Pages: 9\n%%Page: 1 1\n%%EndDocument\n");
    let data = "%%BeginData: 12 Binary Bytes\n%%Page: 9 9\n%%EndData\n%%BeginData: 2 ASCII Lines\n\
                %%Page: 8 8\n%%Page: 9 9\n%%EndData\n%%BeginBinary: 12\n%%Page: 9 9\n%%EndBinary\n";
    assert_eq!(of(&format!("{DSC}%%Pages: 2\n{embedded}{data}{pages}")), Pages::Counted(2));
    assert_eq!(
        of(&format!("{DSC}%%Pages: 2\n{embedded}{data}{pages}")
            .replace('\n', "\r\n")
            .replace("%%Page: 9 9\r\n%%End", "%%Page: 9 9\n%%End")),
        Pages::Counted(2)
    );
    // Copies that it sets itself, and two documents in one.
    assert_eq!(
        of(&format!("{DSC}%%Pages: 2\n<< /NumCopies 3 >> setpagedevice\n{pages}")),
        Pages::Counted(6)
    );
    assert_eq!(
        of(&format!("{DSC}%%Pages: 2\n/NumCopies exch def\n/#copies 2 def\n{pages}")),
        Pages::Counted(4)
    );
    assert_eq!(of(&format!("{DSC}/#copies 2 def\n/NumCopies 3\n{pages}")), UNSAID);
    assert_eq!(of(&format!("{DSC}{pages}{DSC}{pages}")), Pages::Counted(4));
}

#[test]
fn pcl_ejects_pages() {
    let of = |text: &str| count(text.as_bytes());
    assert_eq!(of("\x1bEone\x0ctwo\x0c\x1bE"), Pages::Counted(2));
    assert_eq!(of("\x1bEone\x0ctwo"), Pages::Counted(2));
    assert_eq!(of("\x1bEone\x1b&l0Htwo\x1bE\x1bE"), Pages::Counted(2));
    assert_eq!(of("\x1bE\x1b&l1H\x1bE"), Pages::Counted(0));
    // Form feeds in data are none.
    assert_eq!(of("\x1bE\x1b*r1A\x1b*b3W\x0c\x0c\x0c\x1b*rB\x0c"), Pages::Counted(1));
    assert_eq!(of("\x1bE\x1b*b2m3v\x0c\x0c\x0c3W\x0c\x0c\x0c\x0c"), Pages::Counted(1));
    assert_eq!(of("\x1b(s3W\x0c\x0c\x0c\x1b&p2X\x0c\x1bx\x0c"), Pages::Counted(1));
    // Copies, of pages from then on.
    assert_eq!(of("\x1bEone\x0c\x1b&l3Xtwo\x0cthree\x0c\x1bEfour\x0c"), Pages::Counted(8));
    assert_eq!(of("\x1b&l0o3xa\x0c"), Pages::Counted(3));
    assert_eq!(of("\x1b&l0o3Xa\x0c"), Pages::Counted(3));
    assert_eq!(of("\x1b&l0Xone\x0c"), DAMAGED);
    // A form feed in HP-GL/2 is none; what a macro prints is known where it ejects nothing.
    assert_eq!(of("\x1bE\x1b%0BPD1,1;\x0c\x1b%0A\x0c\x1bE"), Pages::Counted(1));
    assert_eq!(of("\x1bE\x1b&f0Xlogo\x1b&f1X\x1b&f2Xone\x0c"), Pages::Counted(1));
    assert_eq!(of("\x1bE\x1b&f0Xlogo\x0c\x1b&f1X\x1b&f2Xone\x0c"), UNSAID);
    // The printer determines how much text fits on a page.
    assert_eq!(of(&format!("\x1bE{}", "line\r\n".repeat(60))), Pages::Counted(1));
    assert_eq!(of(&format!("\x1bE{}", "line\r\n".repeat(61))), UNSAID);
    assert_eq!(of("\x1bE\x1b*b9W\x0c"), DAMAGED);
    assert_eq!(count_as("application/vnd.hp-PCL", b"no escape\x0cat first"), Pages::Counted(2));
}

/// A stream of PCL XL with these tags.
fn pcl_xl(tags: &[u8]) -> Vec<u8> {
    [b") HP-PCL XL;2;0;comment\n".as_slice(), tags].concat()
}

#[test]
fn pcl_xl_ends_pages() {
    let page = [0x43, 0x44];
    let session = |inside: &[u8]| pcl_xl(&[&[0x41], inside, &[0x42]].concat());
    assert_eq!(count(&session(&page)), Pages::Counted(1));
    assert_eq!(count(&session(&page.repeat(3))), Pages::Counted(3));
    // An array, embedded data and a box hold what looks like pages.
    let hidden = [
        &[0xc8, 0xc1, 3, 0, 0x44, 0x44, 0x44, 0xf8, 9][..],
        &[0xfa, 2, 0, 0, 0, 0x44, 0x44, 0xfb, 1, 0x44],
        &[0xe1, 0x44, 0x44, 0x44, 0x44, 0x44, 0x44, 0x44, 0x44, 0xf9, 1, 0],
        &page,
    ];
    assert_eq!(count(&session(&hidden.concat())), Pages::Counted(1));
    // Copies of a page.
    assert_eq!(count(&session(&[0x43, 0xc1, 3, 0, 0xf8, 49, 0x44, 0x43, 0x44])), Pages::Counted(4));
    assert_eq!(count(&session(&[0x44])), DAMAGED);
    assert_eq!(count(&session(&[0x43])), DAMAGED);
    assert_eq!(count(&pcl_xl(&[0x41, 0x43, 0x44])), DAMAGED);
    assert_eq!(count(&session(&[0xff])), DAMAGED);
}

#[test]
fn commands_around_data_say_how_often() {
    let wrapped = |commands: &str, data: &str| {
        count(format!("\x1b%-12345X@PJL\r\n{commands}{data}\x1b%-12345X").as_bytes())
    };
    let pcl = "@PJL ENTER LANGUAGE = PCL\r\n\x1bEone\x0ctwo\x0c\x1bE";
    assert_eq!(wrapped("", pcl), Pages::Counted(2));
    assert_eq!(wrapped("@PJL SET COPIES=3\r\n", pcl), Pages::Counted(6));
    assert_eq!(wrapped("@PJL SET QTY = 2\r\n@PJL set copies = 3\r\n", pcl), Pages::Counted(12));
    assert_eq!(
        wrapped("@PJL SET COPIES=3\r\n", &pcl.replace("\x1bEone", "\x1bE\x1b&l1Xone")),
        Pages::Counted(2),
        "what the data says counts more"
    );
    assert_eq!(wrapped("@PJL SET COPIES=0\r\n", pcl), DAMAGED);
    assert_eq!(wrapped("@PJL SET COPIES=99999999999\r\n", pcl), DAMAGED);
    assert_eq!(wrapped("@PJL COMMENT SET COPIES=3\r\n", pcl), Pages::Counted(2));
    let two = format!("{pcl}\x1b%-12345X@PJL EOJ\r\n\x1b%-12345X@PJL JOB\r\n{pcl}");
    assert_eq!(wrapped("@PJL SET QTY=2\r\n", &two), Pages::Counted(6));
    let dsc = format!("@PJL ENTER LANGUAGE=POSTSCRIPT\n{DSC}%%Pages: 2\n");
    assert_eq!(wrapped("@PJL SET COPIES=3\n", &dsc), Pages::Counted(6));
    // If no language is stated, the data tells it.
    assert_eq!(wrapped("", &format!("{DSC}%%Pages: 2\n")), Pages::Counted(2));
    assert_eq!(wrapped("@PJL INFO STATUS\r\n", ""), Pages::Counted(0));
    assert_eq!(
        wrapped("@PJL ENTER LANGUAGE=ZPL\r\n", "^XA^FDsomething^XZ"),
        Pages::Unknown(UnknownReason::Format)
    );
    assert_eq!(
        count(b"@PJL SET COPIES=2\r\n@PJL ENTER LANGUAGE=PCL\r\n\x1bEone\x1bE"),
        Pages::Counted(2)
    );
    // An end within data is none.
    assert_eq!(
        wrapped("", "@PJL ENTER LANGUAGE=PCL\n\x1bE\x1b*b9W\x1b%-12345Xx\x0c"),
        Pages::Counted(1)
    );
}

/// A page of PWG raster, of 2 × 4 pixels of 24 bits.
fn raster_page(little: bool) -> Vec<u8> {
    let mut header = vec![0; 1_796];
    header[..9].copy_from_slice(b"PwgRaster");
    for (at, value) in [(372, 2_u32), (376, 4), (384, 8), (388, 24), (392, 6)] {
        let bytes = if little { value.to_le_bytes() } else { value.to_be_bytes() };
        header[at..at + 4].copy_from_slice(&bytes);
    }
    header
}

#[test]
fn raster_has_a_header_for_each_page() {
    // A line of two like pixels three times, and one of two others.
    let lines = [2, 1, 9, 9, 9, 0, 255, 1, 2, 3, 4, 5, 6];
    for (word, is_little) in [(b"RaS2", false), (b"2SaR", true)] {
        let page = [raster_page(is_little), lines.to_vec()].concat();
        let file = |pages: usize| [word.to_vec(), page.repeat(pages)].concat();
        assert_eq!(count(&file(1)), Pages::Counted(1));
        assert_eq!(count(&file(3)), Pages::Counted(3));
        assert_eq!(count(&file(2)[..file(2).len() - 1]), DAMAGED);
        assert_eq!(count(&[file(1), vec![0]].concat()), DAMAGED);
    }
    // A run that is longer than its line, and a page without one.
    let long = [b"RaS2".to_vec(), raster_page(false), vec![0, 2, 9, 9, 9]].concat();
    assert_eq!(count(&long), DAMAGED);
    assert_eq!(count(&[b"RaS2".to_vec(), vec![0; 1_796]].concat()), DAMAGED);
    let plain = [raster_page(true), vec![7; 24]].concat();
    assert_eq!(count(&[b"3SaR".to_vec(), plain.repeat(2)].concat()), Pages::Counted(2));
    assert_eq!(count(&[b"3SaR".to_vec(), plain].concat()[..1_820]), DAMAGED);
    let first = [&raster_page(true)[..420], &[7; 24]].concat();
    assert_eq!(count(&[b"tSaR".to_vec(), first.repeat(2)].concat()), Pages::Counted(2));
}

#[test]
fn urf_says_its_pages_and_has_them() {
    let mut page = vec![24, 1, 0, 4];
    page.extend([0_u32, 0, 2, 4, 300, 0, 0].iter().flat_map(|one| one.to_be_bytes()));
    // The rest of a line is white.
    page.extend([2, 128, 0, 255, 1, 2, 3, 4, 5, 6]);
    let file = |said: u32, pages: usize| {
        [b"UNIRAST\0".to_vec(), said.to_be_bytes().to_vec(), page.repeat(pages)].concat()
    };
    assert_eq!(count(&file(2, 2)), Pages::Counted(2));
    assert_eq!(count(&file(0, 2)), Pages::Counted(2));
    assert_eq!(count(&file(3, 2)), DAMAGED);
    assert_eq!(count(&file(2, 2)[..60]), DAMAGED);
}

#[test]
fn pictures_are_a_page_and_text_has_form_feeds() {
    assert_eq!(count(b"\xff\xd8\xff\xe0 anything \x1b%-12345X"), Pages::Counted(1));
    assert_eq!(count(b"\x89PNG\r\n\x1a\n and what follows"), Pages::Counted(1));
    let of = |text: &str| count_as("text/plain; charset=utf-8", text.as_bytes());
    assert_eq!(of(""), Pages::Counted(0));
    assert_eq!(of("one"), Pages::Counted(1));
    assert_eq!(of("one\n\x0ctwo\n\x0c"), Pages::Counted(2));
    assert_eq!(of(&"line\n".repeat(60)), Pages::Counted(1));
    assert_eq!(of(&"line\n".repeat(61)), UNSAID);
    assert_eq!(of(&"é".repeat(80)), Pages::Counted(1));
    assert_eq!(of(&"é".repeat(81)), UNSAID);
    assert_eq!(of("\t\t\t\t\t\t\t\t\t\tx"), UNSAID);
    assert_eq!(of("a \x1b[1m terminal"), UNSAID);
    // A text that is a PDF is a PDF.
    assert_eq!(of("%PDF-1.4 of nothing"), DAMAGED);
    assert_eq!(count(b"no text that anybody said is one"), Pages::Unknown(UnknownReason::Format));
    assert_eq!(count(b""), Pages::Counted(0));
}

#[test]
fn what_is_unknown_needs_nothing_more() {
    let mut counter = Counter::new("application/octet-stream");
    assert_eq!(counter.skips(), 0);
    counter.feed(&[b'j'; 16]);
    assert!(counter.is_decided());
    assert_eq!(counter.skips(), u64::MAX);
    let mut counter = Counter::new("");
    counter.feed(b"\x89PNG\r\n\x1a\n and more");
    assert_eq!(counter.skips(), u64::MAX);
    assert_eq!(DocumentFormat::of(b"%PDF-1.7"), Some(DocumentFormat::Pdf));
    assert_eq!(DocumentFormat::of(&[]), None);
}

/// Pieces of documents, so that random ones go further than their first byte.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        pdf(&[CATALOG, TWO, PAGE, PAGE], "/Root 1 0 R"),
        pdf(
            &[CATALOG, TWO, PAGE, PAGE, "<< /Length 6 >>\nstream\nabcdef\nendstream"],
            "/Root 1 0 R",
        ),
        with_objects("/N 0 /First 0 /Filter /FlateDecode", &packed(b"")),
        b"%PDF-1.4\n".to_vec(),
        b"endstream endobj 3 0 obj <<".to_vec(),
        b"%!PS-Adobe-3.0\r\n%%Pages: 1\r%%BeginData: 5 Bytes\r\nabcde\r%%Page: 1 1\n".to_vec(),
        b"\x1b%-12345X@PJL SET COPIES=2\n@PJL ENTER LANGUAGE=PCL\n\x1bEone\x0c\x1b*b5Wabcde"
            .to_vec(),
        b"\x1b%-12345".to_vec(),
        b"\x1b%-12345X@PJL\n".to_vec(),
        pcl_xl(&[0x41, 0x43, 0xfa, 3, 0, 0, 0, 1, 2, 3, 0x44, 0x42]),
        [b"RaS2".to_vec(), raster_page(false), vec![3, 1, 9, 9, 9]].concat(),
        b"UNIRAST\0\0\0\0\0".to_vec(),
        b"text\n\x0c".to_vec(),
    ]);
    let any = prop::collection::vec(any::<u8>(), 0..40);
    prop::collection::vec(prop_oneof![4 => known, 1 => any], 0..6).prop_map(|all| all.concat())
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_count_the_same(
        bytes in pieces(),
        sizes in prop::collection::vec(1_usize..60, 1..20),
        as_text in any::<bool>(),
    ) {
        let media_type = if as_text { "text/plain" } else { "application/octet-stream" };
        let at_once = count_as(media_type, &bytes);
        let mut counter = Counter::new(media_type);
        let (mut rest, mut sizes) = (bytes.as_slice(), sizes.iter().cycle());
        while !rest.is_empty() {
            let size = sizes.next().copied().unwrap_or(1).min(rest.len());
            counter.feed(&rest[..size]);
            rest = &rest[size..];
        }
        prop_assert_eq!(counter.finish(), at_once);
        if !as_text {
            prop_assert_eq!(count(&bytes), at_once);
        }
    }
}
