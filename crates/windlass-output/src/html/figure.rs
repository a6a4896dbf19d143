//! A plot with what is said below it.

use super::plot::Plot;

/// How a band looks.
pub const BAND_STYLE: &str = include_str!("band.css");
/// The colours that a band has beside those of all pages.
pub const BAND_COLOURS: &str = include_str!("band_colours.css");

/// A plot with what is said below it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What is drawn.
    pub plot: Plot,
    /// What is said below it.
    pub caption: String,
    /// What the colours of its band mean.
    pub keys: Vec<Key>,
}

/// What a colour of a band means.
#[derive(Clone, Debug)]
pub struct Key {
    /// What the style sheet calls it.
    pub class: &'static str,
    /// What people read beside it.
    pub means: String,
}
