//! Which format a document is in, by its first bytes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::media_type::essence;

/// A format whose pages are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// ISO 32000.
    Pdf,
    /// Adobe's language, whose comments say its pages (Document Structuring
    /// Conventions 3.0).
    PostScript,
    /// HP's Printer Command Language, up to version 5.
    Pcl,
    /// PCL XL, which is PCL 6.
    PclXl,
    /// PWG 5102.4, and CUPS raster, of which it is a part.
    PwgRaster,
    /// Apple's raster.
    Urf,
    /// A picture: one page.
    Picture,
    /// Plain text.
    Text,
    /// A job with commands of PJL around data of any of these.
    Pjl,
}

/// So many bytes tell every format.
pub const HEAD: usize = 16;

/// How each begins.
const BEGINNINGS: [(&[u8], Format); 25] = [
    (b"%PDF-", Format::Pdf),
    (b"%!", Format::PostScript),
    // Drivers of serial lines end what was before.
    (b"\x04%!", Format::PostScript),
    (b"\x1b%-12345X", Format::Pjl),
    (b"@PJL", Format::Pjl),
    (b"\x1bE", Format::Pcl),
    (b"\x1b&", Format::Pcl),
    (b"\x1b*", Format::Pcl),
    (b"\x1b(", Format::Pcl),
    (b"\x1b)", Format::Pcl),
    (b"\x1b%0", Format::Pcl),
    (b"\x1b%1", Format::Pcl),
    (b") HP-PCL XL;", Format::PclXl),
    (b"( HP-PCL XL;", Format::PclXl),
    (b"' HP-PCL XL;", Format::PclXl),
    (b"RaS2", Format::PwgRaster),
    (b"2SaR", Format::PwgRaster),
    (b"RaSt", Format::PwgRaster),
    (b"tSaR", Format::PwgRaster),
    (b"RaS3", Format::PwgRaster),
    (b"3SaR", Format::PwgRaster),
    (b"UNIRAST\0", Format::Urf),
    (b"\xff\xd8\xff", Format::Picture),
    (b"\x89PNG\r\n\x1a\n", Format::Picture),
    (b"\xef\xbb\xbf%!", Format::PostScript),
];

impl Format {
    /// Of the first [`HEAD`] bytes of a document, or of all where it has fewer.
    pub fn of(head: &[u8]) -> Option<Self> {
        BEGINNINGS.iter().find(|(start, _)| head.starts_with(start)).map(|(_, format)| *format)
    }

    /// Returns the media type of a document by its first [`HEAD`] bytes.
    pub fn media_type(head: &[u8]) -> Option<&'static str> {
        Some(match Self::of(head)? {
            Self::Pdf => "application/pdf",
            Self::PostScript => "application/postscript",
            Self::Pcl => "application/vnd.hp-PCL",
            Self::PclXl => "application/vnd.hp-PCLXL",
            Self::PwgRaster if head.starts_with(b"RaS2") => "image/pwg-raster",
            Self::PwgRaster => "application/vnd.cups-raster",
            Self::Urf => "image/urf",
            Self::Picture if head.starts_with(b"\xff") => "image/jpeg",
            Self::Picture => "image/png",
            // What is in it may be anything.
            Self::Text | Self::Pjl => return None,
        })
    }

    /// What a media type says, where it tells more than the bytes do.
    pub fn said(media_type: &str) -> Option<Self> {
        let is = |one: &str| essence(media_type).eq_ignore_ascii_case(one);
        if is("text/plain") {
            Some(Self::Text)
        } else if is("application/vnd.hp-PCL") {
            Some(Self::Pcl)
        } else {
            // All others have a beginning by which they are known.
            None
        }
    }

    /// Its name.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Pdf => "PDF",
            Self::PostScript => "PostScript",
            Self::Pcl => "PCL",
            Self::PclXl => "PCL XL",
            Self::PwgRaster => "PWG raster",
            Self::Urf => "URF",
            Self::Picture => "picture",
            Self::Text => "text",
            Self::Pjl => "PJL",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}
