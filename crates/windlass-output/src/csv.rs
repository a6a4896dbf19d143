//! Tables of comma-separated values (RFC 4180).

/// Returns a field, in quotes if necessary.
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
