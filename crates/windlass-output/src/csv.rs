//! Tables of comma-separated values (RFC 4180).

/// A field: in quotes where it has to be.
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
