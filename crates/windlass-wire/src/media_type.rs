//! Media types as HTTP and IPP write them.

/// Returns the media type without its parameters (RFC 9110, section 8.3.1), its essence in the
/// words of WHATWG's MIME Sniffing: `text/plain` of `text/plain; charset=utf-8`.
pub fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}
