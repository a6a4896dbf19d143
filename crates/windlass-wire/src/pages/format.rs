//! Detection of a document's format by its first bytes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::media_type::essence;

/// A format whose pages are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentFormat {
    /// ISO 32000.
    Pdf,
    /// Adobe's PostScript, whose comments count its pages (Document Structuring Conventions 3.0).
    PostScript,
    /// HP's Printer Command Language, up to version 5.
    Pcl,
    /// PCL XL (PCL 6).
    PclXl,
    /// PWG raster (PWG 5102.4) and CUPS raster, which includes it.
    PwgRaster,
    /// Apple's raster.
    Urf,
    /// A picture, which has one page.
    Picture,
    /// Plain text.
    Text,
    /// A job with PJL commands around data of any of these formats.
    Pjl,
}

/// Number of first bytes that tell every format.
pub const HEAD: usize = 16;

/// First bytes of each format.
const BEGINNINGS: [(&[u8], DocumentFormat); 25] = [
    (b"%PDF-", DocumentFormat::Pdf),
    (b"%!", DocumentFormat::PostScript),
    // Drivers of serial lines end the previous job first.
    (b"\x04%!", DocumentFormat::PostScript),
    (b"\x1b%-12345X", DocumentFormat::Pjl),
    (b"@PJL", DocumentFormat::Pjl),
    (b"\x1bE", DocumentFormat::Pcl),
    (b"\x1b&", DocumentFormat::Pcl),
    (b"\x1b*", DocumentFormat::Pcl),
    (b"\x1b(", DocumentFormat::Pcl),
    (b"\x1b)", DocumentFormat::Pcl),
    (b"\x1b%0", DocumentFormat::Pcl),
    (b"\x1b%1", DocumentFormat::Pcl),
    (b") HP-PCL XL;", DocumentFormat::PclXl),
    (b"( HP-PCL XL;", DocumentFormat::PclXl),
    (b"' HP-PCL XL;", DocumentFormat::PclXl),
    (b"RaS2", DocumentFormat::PwgRaster),
    (b"2SaR", DocumentFormat::PwgRaster),
    (b"RaSt", DocumentFormat::PwgRaster),
    (b"tSaR", DocumentFormat::PwgRaster),
    (b"RaS3", DocumentFormat::PwgRaster),
    (b"3SaR", DocumentFormat::PwgRaster),
    (b"UNIRAST\0", DocumentFormat::Urf),
    (b"\xff\xd8\xff", DocumentFormat::Picture),
    (b"\x89PNG\r\n\x1a\n", DocumentFormat::Picture),
    (b"\xef\xbb\xbf%!", DocumentFormat::PostScript),
];

impl DocumentFormat {
    /// Detects the format by the first [`HEAD`] bytes of a document, or by all bytes if it has
    /// fewer.
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
            // The content may be anything.
            Self::Text | Self::Pjl => return None,
        })
    }

    /// Returns the format of a media type that tells more than the first bytes.
    pub fn said(media_type: &str) -> Option<Self> {
        let is = |one: &str| essence(media_type).eq_ignore_ascii_case(one);
        if is("text/plain") {
            Some(Self::Text)
        } else if is("application/vnd.hp-PCL") {
            Some(Self::Pcl)
        } else {
            // All other formats are recognised by their first bytes.
            None
        }
    }

    /// Returns its name.
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

impl fmt::Display for DocumentFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}
