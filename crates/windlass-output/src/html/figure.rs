//! Plot with a caption below it.

use super::plot::Plot;

/// Style sheet of a band.
pub const BAND_STYLE: &str = include_str!("band.css");
/// Colours of a band, besides those of all pages.
pub const BAND_COLOURS: &str = include_str!("band_colours.css");

/// Plot with a caption below it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Drawing of the figure.
    pub plot: Plot,
    /// Caption below the drawing.
    pub caption: String,
    /// Legend of the band's colours.
    pub keys: Vec<Key>,
}

/// Meaning of a colour of a band.
#[derive(Clone, Debug)]
pub struct Key {
    /// Name in the style sheet.
    pub class: &'static str,
    /// Text for people.
    pub means: String,
}
