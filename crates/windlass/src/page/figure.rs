//! A plot with what is said below it.

use super::plot::Plot;

/// How a band looks, and the colours that it has beside those of all pages.
pub(crate) const BAND_STYLE: &str = include_str!("band.css");
pub(crate) const BAND_COLOURS: &str = include_str!("band_colours.css");

/// A plot with what is said below it.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) plot: Plot,
    pub(crate) caption: String,
    /// What the colours of its band mean.
    pub(crate) keys: Vec<Key>,
}

/// What a colour of a band means.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// What the style sheet calls it.
    pub(crate) class: &'static str,
    pub(crate) means: String,
}
