//! Whom a server answers that is for the browser of this machine alone.
//!
//! Others can reach it, too: every user of this machine, and every page that its browser opens,
//! which may send requests here (CSRF) or let its own name lead here (DNS rebinding). So a request
//! has to know the token, to be for this server by its `Host`, and to be of this server's own
//! pages by its `Origin` where it may change something.

use std::net::{Ipv4Addr, SocketAddr};

use windlass_wire::http::Request;

use crate::Token;

/// Who is let through.
#[derive(Clone, Debug)]
pub struct Guard {
    /// What the server may be called, in small letters: `127.0.0.1:8080`; nothing where by any
    /// name.
    names: Option<Vec<String>>,
    /// What a path has to begin with; nothing where anybody may read.
    token: Option<Token>,
}

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status of HTTP.
    pub status: u16,
    /// Why, and what to do.
    pub why: String,
}

/// A request that was let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Whether something is to be done, and not only shown.
    pub(crate) is_post: bool,
    /// Whether the head of the answer alone is wanted.
    pub(crate) is_head: bool,
    /// What is behind the token, without a slash before it.
    pub(crate) path: String,
    /// What is behind the question mark.
    pub(crate) query: String,
}

impl Refusal {
    pub(crate) fn new(status: u16, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }
}

impl Guard {
    /// That of a server on this port of 127.0.0.1.
    pub fn new(port: u16, token: Token) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self { names: Some(names(address)), token: Some(token) }
    }

    /// That of a server whose pages anybody may read who reaches it, and where nothing can be done.
    /// On loopback these are the users of this machine, but not the pages that their browsers open
    /// (DNS rebinding), so it is asked by its own names alone.
    pub fn of_readers(address: SocketAddr) -> Self {
        Self { names: address.ip().is_loopback().then(|| names(address)), token: None }
    }

    /// The token; nothing where anybody may read.
    pub const fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Looks at the head of a request.
    pub(crate) fn check(&self, request: &Request) -> Result<Passed, Refusal> {
        let host = self.host(request)?;
        let (path, query) = self.path(request)?;
        let is_post = match request.method.as_str() {
            "GET" | "HEAD" => false,
            "POST" if self.token.is_some() => true,
            _ => return Err(Refusal::new(405, "this method is not known here: try GET")),
        };
        origin(request, &host, is_post)?;
        Ok(Passed { is_post, is_head: request.method == "HEAD", path, query })
    }

    /// The name by which it is asked.
    fn host(&self, request: &Request) -> Result<String, Refusal> {
        let mut hosts = request.headers.all("Host");
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(Refusal::new(400, "the request does not name one host"));
        };
        let host = String::from_utf8_lossy(host).trim().to_ascii_lowercase();
        if self.names.as_ref().is_none_or(|names| names.contains(&host)) {
            return Ok(host);
        }
        let why = "this server is asked by the address that windlass printed, and by no other name";
        Err(Refusal::new(421, why))
    }

    /// What is asked for, behind the token.
    fn path(&self, request: &Request) -> Result<(String, String), Refusal> {
        // A target with a host in it would be another's (RFC 9112, section 3.2.2).
        let Some(target) = request.path.strip_prefix('/') else {
            return Err(Refusal::new(400, "the target of the request is no path"));
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Some(own) = &self.token else { return Ok((path.to_owned(), query.to_owned())) };
        let (token, rest) = path.split_once('/').unwrap_or((path, ""));
        if !own.is(token) {
            let why = "open the whole address that windlass ui printed: the token in it is what \
                       lets you in, and each start has another";
            return Err(Refusal::new(403, why));
        }
        Ok((rest.to_owned(), query.to_owned()))
    }
}

/// What a server at this address may be called.
fn names(address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let mut names = vec![address.to_string(), format!("localhost:{port}")];
    if port == 80 {
        // The usual port is not said.
        let ip = match address {
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        };
        names.extend([ip, "localhost".to_owned()]);
    }
    names
}

/// From what page a request comes (RFC 6454, section 7; Fetch Metadata): where a browser says it,
/// it must be one of this server, and where something may change a browser says it.
fn origin(request: &Request, host: &str, is_post: bool) -> Result<(), Refusal> {
    let no = |why: &str| Err(Refusal::new(403, why));
    let own = format!("http://{host}");
    let mut origins = request.headers.all("Origin");
    match (origins.next(), origins.next()) {
        (None, None) if is_post => {
            return no("the request does not say of which page it is");
        }
        (None, None) => {}
        (Some(one), None) if one.trim_ascii().eq_ignore_ascii_case(own.as_bytes()) => {}
        _ => return no("the request is of another page"),
    }
    let says = |name| request.headers.text(name).map(|value| value.trim().to_owned());
    match says("Sec-Fetch-Site").as_deref() {
        None | Some("same-origin") => Ok(()),
        // To open a page from a terminal, a bookmark or a file changes nothing; to take it into
        // another page is something else.
        Some(site) if !is_post => match says("Sec-Fetch-Mode").as_deref() {
            None | Some("navigate") => Ok(()),
            _ if site == "none" => Ok(()),
            _ => no("another site may not take this into a page"),
        },
        Some(_) => no("the request is of another site"),
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
        // Who does not know the name learns nothing of the token.
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
