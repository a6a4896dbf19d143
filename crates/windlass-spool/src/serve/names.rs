//! Host names by which clients may address this server. A page of another site can point its own
//! name at an address of this host. A browser then takes this server for a part of that site (DNS
//! rebinding). So names that are not this server's are refused.

use std::net::IpAddr;

use windlass_wire::http::Request;

/// Host names of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Names in lower case, without a trailing dot.
    own: Vec<String>,
    /// True if any name is accepted.
    any: bool,
}

/// Refusal of a request because of its host name or origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MisdirectedRequest {
    /// HTTP status.
    pub(super) status: u16,
    /// Reason and remedy.
    pub(super) why: String,
}

fn plain(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Returns the host of `HOST[:PORT]`.
fn host_of(authority: &str) -> &str {
    if authority.starts_with('[') {
        return authority.split_inclusive(']').next().unwrap_or_default();
    }
    authority.split(':').next().unwrap_or_default()
}

fn is_address(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    // The zone after `%` is the sender's choice (RFC 6874).
    let bare = bare.split('%').next().unwrap_or_default();
    bare.parse::<IpAddr>().is_ok()
}

impl Names {
    /// Creates the names of a host: its own name, and those of the settings; `*` allows any name.
    pub fn new(host_name: &str, more: &[String]) -> Self {
        let host_name = plain(host_name);
        let first = host_name.split('.').next().unwrap_or_default();
        let mut own = vec!["localhost".to_owned()];
        if !first.is_empty() {
            // The last name is the one of multicast DNS (RFC 6762).
            own.extend([host_name.clone(), first.to_owned(), format!("{first}.local")]);
        }
        own.extend(more.iter().map(|name| plain(name)));
        Self { own, any: more.iter().any(|name| name == "*") }
    }

    /// Allows any name.
    pub fn any() -> Self {
        Self { own: Vec::new(), any: true }
    }

    /// Returns whether a client may address this server by this name. Addresses are always allowed:
    /// no other site can use them as a name.
    fn has(&self, authority: &str) -> bool {
        let host = host_of(authority.trim());
        self.any || is_address(host) || self.own.contains(&plain(host))
    }

    /// Checks the host name and the origin of a request.
    pub(super) fn check(&self, request: &Request) -> Result<(), MisdirectedRequest> {
        self.check_host(request)?;
        // Requests that change nothing are safe: a browser hides the answer from pages of other
        // sites.
        if matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS") {
            return Ok(());
        }
        check_origin(request)
    }

    fn check_host(&self, request: &Request) -> Result<(), MisdirectedRequest> {
        let no = |status, why: String| Err(MisdirectedRequest { status, why });
        let mut hosts = request.headers.all("Host");
        let host = hosts.next().map(String::from_utf8_lossy);
        if hosts.next().is_some() {
            return no(400, "the request has two Host headers".to_owned());
        }
        // A host in the request target takes precedence over the header (RFC 9112, section 3.2.2).
        let of_target = request.path.split_once("://").map(|(_, rest)| {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            &rest[..end]
        });
        if let Some(host) = of_target
            && !self.has(host)
        {
            return no(421, misdirected(host));
        }
        match host {
            Some(host) if self.has(&host) => Ok(()),
            Some(host) => no(421, misdirected(&host)),
            // HTTP/1.0 has no `Host` header (RFC 9112, section 3.2).
            None if request.minor == 0 => Ok(()),
            None => no(400, "the request has no Host header".to_owned()),
        }
    }
}

fn misdirected(host: &str) -> String {
    let host: String = host.chars().filter(|one| !one.is_control()).take(255).collect();
    format!(
        "this server is not called {host:?}: use its address, localhost or its host name, or add the \
         name to names in its settings"
    )
}

/// Checks the origin of a request, which browsers send (RFC 6454, section 7; `Sec-Fetch-Site` of
/// Fetch Metadata). Only this server's own pages may change anything. Other clients send no origin.
fn check_origin(request: &Request) -> Result<(), MisdirectedRequest> {
    let no = |page: &str| {
        let page: String = page.chars().filter(|one| !one.is_control()).take(255).collect();
        let why = format!("a page of {page:?} may not change anything here");
        Err(MisdirectedRequest { status: 403, why })
    };
    if let Some(site) = request.headers.text("Sec-Fetch-Site")
        && !matches!(site.trim(), "same-origin" | "none")
    {
        return no("another site");
    }
    let host = request.headers.text("Host").unwrap_or_default().to_ascii_lowercase();
    for origin in request.headers.all("Origin") {
        let origin = String::from_utf8_lossy(origin).to_ascii_lowercase();
        let of = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if of.is_none_or(|of| of.is_empty() || of != host.trim()) {
            return no(&origin);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_wire::http::Headers;

    fn request(method: &str, headers: &[(&str, &str)]) -> Request {
        let headers =
            headers.iter().fold(Headers::default(), |all, (name, value)| all.with(name, value));
        Request { method: method.to_owned(), path: "/".to_owned(), minor: 1, headers }
    }

    fn status(names: &Names, request: &Request) -> u16 {
        names.check(request).map_or_else(|wrong| wrong.status, |()| 200)
    }

    fn names() -> Names {
        Names::new("Print1.example.com", &["spool.example.org".to_owned()])
    }

    #[test]
    fn a_server_is_called_by_its_names_and_by_addresses() {
        let of = |host: &str| status(&names(), &request("GET", &[("Host", host)]));
        for own in [
            "localhost",
            "LOCALHOST:8631",
            "print1.example.com",
            "print1.example.com.:631",
            "print1",
            "print1.local",
            "spool.example.org",
            "127.0.0.1:8631",
            "192.0.2.7",
            "[::1]:8631",
            "[fe80::1%25eth0]:631",
        ] {
            assert_eq!(of(own), 200, "{own}");
        }
        for other in [
            "evil.example",
            "evil.example:8631",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "print1.example.com.evil.example",
            "",
            "[::1",
            "127.0.0.1@evil.example",
        ] {
            assert_eq!(of(other), 421, "{other:?}");
        }
        let any = Names::new("h", &["*".to_owned()]);
        assert_eq!(status(&any, &request("GET", &[("Host", "evil.example")])), 200);
    }

    #[test]
    fn a_request_is_for_one_host() {
        let two = [("Host", "localhost"), ("Host", "localhost")];
        assert_eq!(status(&names(), &request("GET", &two)), 400);
        assert_eq!(status(&names(), &request("GET", &[])), 400);
        let old = Request { minor: 0, ..request("GET", &[]) };
        assert_eq!(status(&names(), &old), 200);
        let target = "http://evil.example/printers/a".to_owned();
        let by_target = Request { path: target, ..request("GET", &[("Host", "localhost")]) };
        assert_eq!(status(&names(), &by_target), 421);
    }

    #[test]
    fn pages_of_others_change_nothing() {
        let of = |method: &str, name, value| {
            status(&names(), &request(method, &[("Host", "localhost:8631"), (name, value)]))
        };
        assert_eq!(of("POST", "Origin", "http://localhost:8631"), 200);
        assert_eq!(of("POST", "Origin", "https://LOCALHOST:8631"), 200);
        for origin in [
            "http://evil.example",
            "null",
            "",
            "http://localhost",
            "http://localhost:80",
            "file://",
        ] {
            assert_eq!(of("POST", "Origin", origin), 403, "{origin:?}");
            assert_eq!(of("DELETE", "Origin", origin), 403, "{origin:?}");
            assert_eq!(of("GET", "Origin", origin), 200, "{origin:?}");
        }
        assert_eq!(of("POST", "Sec-Fetch-Site", "cross-site"), 403);
        assert_eq!(of("POST", "Sec-Fetch-Site", "same-site"), 403);
        assert_eq!(of("POST", "Sec-Fetch-Site", "same-origin"), 200);
        assert_eq!(of("POST", "Accept", "*/*"), 200);
    }
}
