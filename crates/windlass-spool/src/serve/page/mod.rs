//! The web page of the spool: printers, jobs, their rates, and buttons for actions. It loads
//! nothing from other servers, and shows texts of clients as text only.

mod deed;
mod html;
mod rates;
mod seen;

use std::sync::Arc;

use crate::spooler::Spooler;

pub(super) use self::deed::Deed;
pub(super) use self::rates::Rates;

use self::html::Html;
use self::seen::PageState;

/// Style sheet of the page.
pub(super) const STYLE: &str = include_str!("page.css");
/// Script of the page.
pub(super) const SCRIPT: &str = include_str!("page.js");

/// Content security policy: only resources of this server, and no frames of other pages.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                                 connect-src 'self'; img-src 'self'; form-action 'self'; \
                                 base-uri 'none'; frame-ancestors 'none'";

/// Returns the whole page.
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

/// Returns the part of the page that changes.
pub(super) fn live(spooler: &Arc<Spooler>, rates: &Rates, token: &str) -> String {
    let seen = PageState::of(spooler, rates);
    let mut html = Html::default();
    seen.write(&mut html, token);
    html.text
}

/// Returns a page with the reason why an action failed.
pub(super) fn refused(why: &str) -> String {
    let mut html = Html::default();
    html.raw(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>action failed</title>\n<link rel=\"stylesheet\" href=\"/page.css\">\n</head>\n<body>\n\
         <main><h1>Action failed</h1><p>",
    );
    html.say(why);
    html.raw("</p><p><a href=\"/\">Back</a></p></main>\n</body>\n</html>\n");
    html.text
}
