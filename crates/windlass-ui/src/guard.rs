//! Access checks of a server for the browser of this machine.
//!
//! Others can reach it, too: every user of this machine, and every page in its browser. Such a page
//! may send requests here (CSRF) or point its own name here (DNS rebinding). So a request must
//! contain the token, and name this server in `Host`. A request that may change something must also
//! come from this server's own pages, by its `Origin`.

use std::net::{Ipv4Addr, SocketAddr};

use windlass_wire::http::Request;

use crate::Token;

/// Access checks of requests.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Accepted values of `Host`, in lower case: `127.0.0.1:8080`; none if any is accepted.
    names: Option<Vec<String>>,
    /// Token at the start of a path; none if anyone may read.
    token: Option<Token>,
}

/// Reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Status code of HTTP.
    pub status: u16,
    /// The reason, with advice.
    pub why: String,
}

/// Request that passed the checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckedRequest {
    /// True for a POST request, which may change something.
    pub(crate) is_post: bool,
    /// True if only the head of the answer is wanted.
    pub(crate) is_head: bool,
    /// Path after the token, without a leading slash.
    pub(crate) path: String,
    /// Query: the part after the question mark.
    pub(crate) query: String,
}

impl Refusal {
    pub(crate) fn new(status: u16, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }
}

impl Guard {
    /// Creates the checks of a server on this port of 127.0.0.1.
    pub fn new(port: u16, token: Token) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self { names: Some(names(address)), token: Some(token) }
    }

    /// Creates the checks of a read-only server, whose pages anyone who can reach it may read. On
    /// loopback these are the users of this machine. Pages in their browsers are not (DNS
    /// rebinding), so only requests for the server's own names are accepted.
    pub fn of_readers(address: SocketAddr) -> Self {
        Self { names: address.ip().is_loopback().then(|| names(address)), token: None }
    }

    /// Returns the token; none if anyone may read.
    pub const fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Checks the head of a request.
    pub(crate) fn check(&self, request: &Request) -> Result<CheckedRequest, Refusal> {
        let host = self.host(request)?;
        let (path, query) = self.path(request)?;
        let is_post = match request.method.as_str() {
            "GET" | "HEAD" => false,
            "POST" if self.token.is_some() => true,
            _ => return Err(Refusal::new(405, "this method is not supported: use GET")),
        };
        origin(request, &host, is_post)?;
        Ok(CheckedRequest { is_post, is_head: request.method == "HEAD", path, query })
    }

    /// Checks the `Host` of a request, and returns it.
    fn host(&self, request: &Request) -> Result<String, Refusal> {
        let mut hosts = request.headers.all("Host");
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(Refusal::new(400, "the request must name one host"));
        };
        let host = String::from_utf8_lossy(host).trim().to_ascii_lowercase();
        if self.names.as_ref().is_none_or(|names| names.contains(&host)) {
            return Ok(host);
        }
        let why = "use the address that windlass printed: this server answers to no other name";
        Err(Refusal::new(421, why))
    }

    /// Checks the token, and returns the path and the query after it.
    fn path(&self, request: &Request) -> Result<(String, String), Refusal> {
        // A target with a host in it would be for another server (RFC 9112, section 3.2.2).
        let Some(target) = request.path.strip_prefix('/') else {
            return Err(Refusal::new(400, "the target of the request is not a path"));
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Some(own) = &self.token else { return Ok((path.to_owned(), query.to_owned())) };
        let (token, rest) = path.split_once('/').unwrap_or((path, ""));
        if !own.is(token) {
            let why = "open the whole address that windlass ui printed: it has the token, \
                       which is new at each start";
            return Err(Refusal::new(403, why));
        }
        Ok((rest.to_owned(), query.to_owned()))
    }
}

/// Returns the accepted values of `Host` for a server at this address.
fn names(address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let mut names = vec![address.to_string(), format!("localhost:{port}")];
    if port == 80 {
        // Clients leave out the default port.
        let ip = match address {
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        };
        names.extend([ip, "localhost".to_owned()]);
    }
    names
}

/// Checks the page that a request comes from (RFC 6454, section 7; Fetch Metadata). If a browser
/// names the page, it must be on this server; for a POST a browser always names one.
fn origin(request: &Request, host: &str, is_post: bool) -> Result<(), Refusal> {
    let no = |why: &str| Err(Refusal::new(403, why));
    let own = format!("http://{host}");
    let mut origins = request.headers.all("Origin");
    match (origins.next(), origins.next()) {
        (None, None) if is_post => {
            return no("the request has no Origin");
        }
        (None, None) => {}
        (Some(one), None) if one.trim_ascii().eq_ignore_ascii_case(own.as_bytes()) => {}
        _ => return no("the request is from another page"),
    }
    let says = |name| request.headers.text(name).map(|value| value.trim().to_owned());
    match says("Sec-Fetch-Site").as_deref() {
        None | Some("same-origin") => Ok(()),
        // Opening a page from a terminal, a bookmark or a file changes nothing. Embedding it in
        // another page is refused.
        Some(site) if !is_post => match says("Sec-Fetch-Mode").as_deref() {
            None | Some("navigate") => Ok(()),
            _ if site == "none" => Ok(()),
            _ => no("another site may not embed this page"),
        },
        Some(_) => no("the request is from another site"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_wire::http::Headers;

    fn guard() -> Guard {
        Guard::new(8_080, Token::by_chance().unwrap())
    }

    fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> Request {
        let headers =
            headers.iter().fold(Headers::default(), |all, (name, value)| all.with(name, value));
        Request { method: method.to_owned(), path: path.to_owned(), minor: 1, headers }
    }

    fn status(guard: &Guard, method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
        guard.check(&request(method, path, headers)).map_or_else(|no| no.status, |_| 200)
    }

    const HOST: (&str, &str) = ("Host", "127.0.0.1:8080");
    const ORIGIN: (&str, &str) = ("Origin", "http://127.0.0.1:8080");

    #[test]
    fn the_token_is_in_the_path() {
        let guard = guard();
        let token = guard.token().unwrap().as_str().to_owned();
        let of = |path: &str| guard.check(&request("GET", path, &[HOST]));
        let passed = of(&format!("/{token}/runs/x?a=b?c")).unwrap();
        assert_eq!((passed.path.as_str(), passed.query.as_str()), ("runs/x", "a=b?c"));
        assert!(!passed.is_post && !passed.is_head);
        assert_eq!(of(&format!("/{token}")).unwrap().path, "");
        for wrong in [
            "/".to_owned(),
            "/runs".to_owned(),
            format!("/?token={token}"),
            format!("/{token}0/"),
            format!("/{}/", &token[1..]),
            format!("//{token}/"),
            format!("/x/{token}/"),
            format!("/%{:02x}{}/", token.as_bytes()[0], &token[1..]),
        ] {
            assert_eq!(of(&wrong).unwrap_err().status, 403, "{wrong}");
        }
        for wrong in ["*".to_owned(), format!("http://127.0.0.1:8080/{token}/"), token.clone()] {
            assert_eq!(of(&wrong).unwrap_err().status, 400, "{wrong}");
        }
    }

    #[test]
    fn other_names_of_this_host_are_refused() {
        let guard = guard();
        let path = format!("/{}/", guard.token().unwrap().as_str());
        let of = |host: &str| status(&guard, "GET", &path, &[("Host", host)]);
        assert_eq!((of("127.0.0.1:8080"), of("LOCALHOST:8080")), (200, 200));
        for other in [
            "evil.example:8080",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1:8080.evil.example",
            "127.0.0.2:8080",
            "[::1]:8080",
            "localhost.evil.example:8080",
            "",
        ] {
            assert_eq!(of(other), 421, "{other:?}");
        }
        assert_eq!(status(&guard, "GET", &path, &[]), 400);
        assert_eq!(status(&guard, "GET", &path, &[HOST, HOST]), 400);
        // A client with a wrong name learns nothing about the token.
        assert_eq!(status(&guard, "GET", "/x/", &[("Host", "evil.example")]), 421);
        let usual = Guard::new(80, Token::by_chance().unwrap());
        let path = format!("/{}/", usual.token().unwrap().as_str());
        assert_eq!(status(&usual, "GET", &path, &[("Host", "127.0.0.1")]), 200);
    }

    #[test]
    fn only_own_pages_change_something() {
        let guard = guard();
        let path = format!("/{}/measure", guard.token().unwrap().as_str());
        let of = |method: &str, more: &[(&str, &str)]| {
            status(&guard, method, &path, &[&[HOST], more].concat())
        };
        assert_eq!(of("POST", &[ORIGIN]), 200);
        assert_eq!(of("POST", &[ORIGIN, ("Sec-Fetch-Site", "same-origin")]), 200);
        assert_eq!(of("POST", &[]), 403, "a browser says where a form is from");
        assert_eq!(of("POST", &[ORIGIN, ORIGIN]), 403);
        assert_eq!(of("POST", &[ORIGIN, ("Sec-Fetch-Site", "cross-site")]), 403);
        for origin in [
            "http://evil.example",
            "null",
            "",
            "http://localhost:8080",
            "https://127.0.0.1:8080",
            "http://127.0.0.1:8081",
            "http://127.0.0.1",
        ] {
            assert_eq!(of("POST", &[("Origin", origin)]), 403, "{origin:?}");
            assert_eq!(of("GET", &[("Origin", origin)]), 403, "{origin:?}");
        }
        for method in ["PUT", "DELETE", "OPTIONS", "CONNECT", "post", "TRACE"] {
            assert_eq!(of(method, &[ORIGIN]), 405, "{method}");
        }
    }

    #[test]
    fn a_page_may_be_opened_from_elsewhere_and_not_taken_in() {
        let guard = guard();
        let path = format!("/{}/", guard.token().unwrap().as_str());
        let of = |site: &str, mode: &str| {
            let headers = [HOST, ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode)];
            status(&guard, "GET", &path, &headers)
        };
        assert_eq!((of("none", "navigate"), of("cross-site", "navigate")), (200, 200));
        assert_eq!((of("same-origin", "cors"), of("none", "no-cors")), (200, 200));
        assert_eq!((of("cross-site", "no-cors"), of("same-site", "cors")), (403, 403));
    }

    #[test]
    fn what_anybody_may_read_is_asked_by_its_own_name_on_loopback() {
        let of = |guard: &Guard, method, host: &str| {
            status(guard, method, "/metrics", &[("Host", host)])
        };
        let here = Guard::of_readers("127.0.0.1:9898".parse().unwrap());
        assert_eq!(
            (of(&here, "GET", "127.0.0.1:9898"), of(&here, "HEAD", "localhost:9898")),
            (200, 200)
        );
        assert_eq!(
            (of(&here, "GET", "evil.example:9898"), of(&here, "POST", "localhost:9898")),
            (421, 405)
        );
        let usual = Guard::of_readers("[::1]:80".parse().unwrap());
        assert_eq!((of(&usual, "GET", "[::1]"), of(&usual, "GET", "[::1]:80")), (200, 200));
        let everywhere = Guard::of_readers("0.0.0.0:9898".parse().unwrap());
        assert_eq!(of(&everywhere, "GET", "printserver.example:9898"), 200);
    }
}
