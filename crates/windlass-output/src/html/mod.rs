//! Pages of their own: one file, no network, light and dark.

mod document;
mod figure;
pub(crate) mod markup;
pub mod plot;
#[cfg(target_os = "linux")]
pub mod run;
pub mod scale;
#[cfg(target_os = "linux")]
pub mod site;
pub mod sweep;

pub use self::document::Html;
pub use self::figure::{BAND_COLOURS, BAND_STYLE, Figure, Key};
pub use self::markup::{marked, rows_markup};

/// What all pages look like.
pub const STYLE: &str =
    concat!(include_str!("colours.css"), include_str!("style.css"), include_str!("plot.css"));

/// What plots look like.
pub const PLOT_STYLE: &str = include_str!("plot.css");

/// The colours of all pages, by day and by night.
pub const COLOURS: &str = include_str!("colours.css");

/// How a run looks, and what of captures looks the same, beside what all pages have.
pub fn run_style() -> String {
    [BAND_COLOURS, include_str!("run/style.css"), BAND_STYLE].concat()
}

/// Begins a page as far as `<main>`, with styles of its own behind those of all, and a script
/// that runs when it is there; it may be empty. Nothing else runs and nothing is fetched.
pub fn begin(title: &str, style: &str, script: &str) -> String {
    let scripts = if script.is_empty() { "" } else { "; script-src 'unsafe-inline'" };
    let script = match script {
        "" => String::new(),
        script => format!("<script>\n{script}</script>\n"),
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'{scripts}\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{STYLE}{style}</style>\n{script}</head>\n<body>\n<main>\n",
        escaped(title)
    )
}

/// Text in which nothing is markup. A host's name is what somebody typed, and a
/// scenario's title what somebody wrote.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // HTML has no such characters, not even by number.
            letter if letter.is_control() && letter != '\n' => out.push('\u{fffd}'),
            // What turns the direction of a line makes one thing look like another.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push('\u{fffd}');
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_written_becomes_markup() {
        assert_eq!(
            escaped("<b> & \"x\" 'y'\u{1b}[31m\u{202e}"),
            "&lt;b&gt; &amp; &quot;x&quot; &#39;y&#39;\u{fffd}[31m\u{fffd}"
        );
    }
}
