//! By what names clients may call this server. A page of another site can let its name
//! lead to an address of this host, and a browser then takes what is here for a part of
//! that site (DNS rebinding). So a name that is not this server's is refused.

use std::net::IpAddr;

use windlass_wire::http::Request;

/// The names of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// In small letters, without a dot at the end.
    own: Vec<String>,
    /// Whether any name is taken.
    any: bool,
}

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misdirected {
    /// The status of HTTP.
    pub(super) status: u16,
    /// Why, and what to do.
    pub(super) why: String,
}

fn plain(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// The host of `HOST[:PORT]`.
fn host_of(authority: &str) -> &str {
    if authority.starts_with('[') {
        return authority.split_inclusive(']').next().unwrap_or_default();
    }
    authority.split(':').next().unwrap_or_default()
}

fn is_address(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    // With the interface that it is on, which is up to who writes it (RFC 6874).
    let bare = bare.split('%').next().unwrap_or_default();
    bare.parse::<IpAddr>().is_ok()
}

impl Names {
    /// Of a host of this name, and whatever its settings say; `*` is any.
    pub fn new(host_name: &str, more: &[String]) -> Self {
        let host_name = plain(host_name);
        let first = host_name.split('.').next().unwrap_or_default();
        let mut own = vec!["localhost".to_owned()];
        if !first.is_empty() {
            // The last one is its name where names are found without a server (RFC 6762).
            own.extend([host_name.clone(), first.to_owned(), format!("{first}.local")]);
        }
        own.extend(more.iter().map(|name| plain(name)));
        Self { own, any: more.iter().any(|name| name == "*") }
    }

    /// Any name.
    pub fn any() -> Self {
        Self { own: Vec::new(), any: true }
    }

    /// Whether a client may call this server so. An address is no name that another site
    /// could have.
    fn has(&self, authority: &str) -> bool {
        let host = host_of(authority.trim());
        self.any || is_address(host) || self.own.contains(&plain(host))
    }

    /// Looks at who a request is for, and at what page it comes from.
    pub(super) fn check(&self, request: &Request) -> Result<(), Misdirected> {
        self.check_host(request)?;
        // Whoever asks and changes nothing has only the answer, which a browser keeps from
        // the pages of others.
        if matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS") {
            return Ok(());
        }
        check_origin(request)
    }

    fn check_host(&self, request: &Request) -> Result<(), Misdirected> {
        let no = |status, why: String| Err(Misdirected { status, why });
        let mut hosts = request.headers.all("Host");
        let host = hosts.next().map(String::from_utf8_lossy);
        if hosts.next().is_some() {
            return no(400, "the request names two hosts".to_owned());
        }
        // A target with a host in it counts more than the header (RFC 9112, section 3.2.2).
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
            // Before HTTP/1.1 there was none (RFC 9112, section 3.2).
            None if request.minor == 0 => Ok(()),
            None => no(400, "the request does not say which host it is for".to_owned()),
        }
    }
}

fn misdirected(host: &str) -> String {
    let host: String = host.chars().filter(|one| !one.is_control()).take(255).collect();
    format!(
        "this server is not called {host:?}: ask it by an address, as localhost, or by the name of \
         its host; another name of it belongs into names of its settings"
    )
}

/// A browser says what page a request comes from (RFC 6454, section 7; the
/// `Sec-Fetch-Site` of Fetch Metadata): only this server's own pages may change something.
/// What is no browser says nothing of that.
fn check_origin(request: &Request) -> Result<(), Misdirected> {
    let no = |page: &str| {
        let page: String = page.chars().filter(|one| !one.is_control()).take(255).collect();
        let why = format!("a page of {page:?} may not change anything here");
        Err(Misdirected { status: 403, why })
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
