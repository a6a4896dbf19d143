//! The page for people: printers, jobs, how fast they go and what holds them, and the
//! deeds that there are for them. It needs nothing from elsewhere, and shows what clients
//! said as text alone.

mod deed;
mod html;
mod rates;
mod seen;

use std::sync::Arc;

use crate::spooler::Spooler;

pub(super) use self::deed::Deed;
pub(super) use self::rates::Rates;

use self::html::Html;
use self::seen::Seen;

/// How the page looks, and what keeps it live.
pub(super) const STYLE: &str = include_str!("page.css");
/// See above.
pub(super) const SCRIPT: &str = include_str!("page.js");

/// What a browser may load for it and do with it: what it has from here, and nothing in
/// the frame of another page.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                                 connect-src 'self'; img-src 'self'; form-action 'self'; \
                                 base-uri 'none'; frame-ancestors 'none'";

/// The whole page.
pub(super) fn whole(spooler: &Arc<Spooler>, rates: &Rates, token: &str) -> String {
    let mut html = Html::default();
    html.raw(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>windlass spool</title>\n<link rel=\"stylesheet\" href=\"/page.css\">\n\
         <link rel=\"icon\" href=\"/icon.png\">\n\
         <script src=\"/page.js\" defer></script>\n\
         <noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>\n</head>\n<body>\n\
         <main id=\"live\">\n",
    );
    html.raw(&live(spooler, rates, token));
    html.raw("</main>\n</body>\n</html>\n");
    html.text
}

/// What of it changes.
pub(super) fn live(spooler: &Arc<Spooler>, rates: &Rates, token: &str) -> String {
    let seen = Seen::of(spooler, rates);
    let mut html = Html::default();
    seen.write(&mut html, token);
    html.text
}

/// A page that says why a deed was not done.
pub(super) fn refused(why: &str) -> String {
    let mut html = Html::default();
    html.raw(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>not done</title>\n<link rel=\"stylesheet\" href=\"/page.css\">\n</head>\n<body>\n\
         <main><h1>Not done</h1><p>",
    );
    html.say(why);
    html.raw("</p><p><a href=\"/\">Back</a></p></main>\n</body>\n</html>\n");
    html.text
}
