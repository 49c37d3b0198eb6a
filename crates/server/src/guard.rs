//! Who may ask: addresses by which the server is known, origins, and a token beyond loopback.
//!
//! A page of any site can send requests to a server on loopback, and by its own name server it can
//! make its name mean loopback (DNS rebinding). So `Host` must be one of ours, and `Origin`, where a
//! browser sends one, too.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;

/// What is let through.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// Where the server listens.
    address: SocketAddr,
    /// Other origins whose pages may ask, for instance that of a trace viewer.
    origins: Vec<String>,
    /// What every request must carry; none on loopback.
    token: Option<String>,
}

/// The largest question.
pub(crate) const MOST_BYTES: usize = 1 << 20;
/// How long a question and its answer may take.
const MOST_TIME: Duration = Duration::from_secs(60);
const COOKIE: &str = "slowpath-token=";
const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; \
                      base-uri 'none'; form-action 'none'";

impl Guard {
    pub(crate) fn new(address: SocketAddr, origins: Vec<String>, token: Option<String>) -> Self {
        Self {
            address,
            origins,
            token,
        }
    }

    /// Whether `host`, as a request names it, is this server: an address of ours with our port.
    fn is_own(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
                (name, port.parse().ok())
            }
            _ => (host, Some(80)),
        };
        if port != Some(self.address.port()) {
            return false;
        }
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let name = name.trim_start_matches('[').trim_end_matches(']');
        // A name could be anybody's; an address cannot be made to mean another one.
        match name.parse::<IpAddr>() {
            Ok(address) => {
                address == self.address.ip()
                    || address.is_loopback()
                    || self.address.ip().is_unspecified()
            }
            Err(_) => false,
        }
    }

    /// Whether a page of `origin` may ask.
    fn is_welcome(&self, origin: &str) -> bool {
        let own = origin
            .strip_prefix("http://")
            .is_some_and(|host| self.is_own(host));
        own || self.origins.iter().any(|known| known == origin)
    }

    fn has_token(&self, headers: &HeaderMap, query: Option<&str>) -> bool {
        let Some(token) = &self.token else {
            return true;
        };
        let text = |name| {
            headers
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
        };
        let bearer = text(header::AUTHORIZATION).and_then(|text| text.strip_prefix("Bearer "));
        let cookies = text(header::COOKIE)
            .into_iter()
            .flat_map(|text| text.split("; "));
        let mut given = cookies
            .filter_map(|cookie| cookie.strip_prefix(COOKIE))
            .chain(bearer)
            .chain(token_in(query));
        given.any(|given| is_equal(given, token))
    }
}

fn token_in(query: Option<&str>) -> Option<&str> {
    query?
        .split('&')
        .find_map(|part| part.strip_prefix("token="))
}

/// Takes as long for a wrong text as for a right one.
fn is_equal(given: &str, token: &str) -> bool {
    let (given, token) = (given.as_bytes(), token.as_bytes());
    let differs = |(one, other): (&u8, &u8)| one ^ other;
    given.len() == token.len()
        && given
            .iter()
            .zip(token)
            .map(differs)
            .fold(0, |all, next| all | next)
            == 0
}

/// Lets a request through, or says why not; every answer says what a browser may do with it.
pub(crate) async fn guarded(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let host = text(header::HOST).unwrap_or_default();
    let origin = text(header::ORIGIN).map(str::to_owned);
    let query = request.uri().query();
    let mut response = if !guard.is_own(host) {
        refused(
            "this server does not go by that name\n  hint: use its address, as `slowpath serve` printed it",
        )
    } else if origin
        .as_deref()
        .is_some_and(|origin| !guard.is_welcome(origin))
    {
        refused("pages of that origin may not ask\n  hint: slowpath serve --allow-origin ORIGIN")
    } else if !guard.has_token(headers, query) {
        let mut response =
            refused("the token is missing\n  hint: open the address that `slowpath serve` printed");
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        response
    } else {
        let by_address = guard.token.as_ref().and(token_in(query)).map(str::to_owned);
        let is_question = request.method() == axum::http::Method::OPTIONS;
        let mut response = match is_question && origin.is_some() {
            true => StatusCode::NO_CONTENT.into_response(),
            false => in_time(request, next).await,
        };
        if let Some(token) = by_address
            && let Ok(cookie) = HeaderValue::from_str(&format!(
                "{COOKIE}{token}; HttpOnly; SameSite=Strict; Path=/"
            ))
        {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        response
    };
    let headers = response.headers_mut();
    if let Some(origin) = origin.filter(|origin| guard.origins.contains(origin))
        && let Ok(origin) = HeaderValue::from_str(&origin)
    {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let allowed = HeaderValue::from_static("content-type, authorization, accept");
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        let methods = HeaderValue::from_static("GET, POST, PUT, DELETE");
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    }
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    response
}

/// The answer, unless the question is too large or takes too long to come.
async fn in_time(request: Request, next: Next) -> Response {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > MOST_BYTES as u64) {
        return Problem::TooLong.into_response();
    }
    let answered = tokio::time::timeout(MOST_TIME, next.run(request)).await;
    answered.unwrap_or_else(|_| {
        let mut response = Problem::Bad("the question took too long".to_owned()).into_response();
        *response.status_mut() = StatusCode::REQUEST_TIMEOUT;
        response
    })
}

fn refused(text: &str) -> Response {
    let mut response = Problem::Bad(text.to_owned()).into_response();
    *response.status_mut() = StatusCode::FORBIDDEN;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str) -> Guard {
        Guard::new(
            address.parse().unwrap(),
            vec!["http://viewer:3000".to_owned()],
            Some("secret".to_owned()),
        )
    }

    #[test]
    fn only_names_that_nobody_else_can_have_are_ours() {
        let guard = guard("127.0.0.1:8080");
        for own in [
            "localhost:8080",
            "LOCALHOST:8080",
            "127.0.0.1:8080",
            "[::1]:8080",
        ] {
            assert!(guard.is_own(own), "{own}");
        }
        for other in [
            "evil.example:8080",
            "localhost",
            "127.0.0.1:80",
            "10.0.0.1:8080",
            "",
            "localhost:8080.evil",
        ] {
            assert!(!guard.is_own(other), "{other}");
        }
        assert!(guard.is_welcome("http://localhost:8080"));
        assert!(guard.is_welcome("http://viewer:3000"));
        assert!(!guard.is_welcome("http://evil.example"));
        assert!(!guard.is_welcome("null"));
    }

    #[test]
    fn an_address_of_all_interfaces_is_known_by_any_address() {
        let guard = guard("0.0.0.0:8080");
        assert!(guard.is_own("10.0.0.7:8080"));
        assert!(!guard.is_own("evil.example:8080"));
    }

    #[test]
    fn the_token_comes_by_header_cookie_or_address() {
        let guard = guard("127.0.0.1:8080");
        let with = |name, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            headers
        };
        assert!(guard.has_token(&with(header::AUTHORIZATION, "Bearer secret"), None));
        assert!(guard.has_token(&with(header::COOKIE, "a=b; slowpath-token=secret"), None));
        assert!(guard.has_token(&HeaderMap::new(), Some("x=1&token=secret")));
        assert!(!guard.has_token(&with(header::AUTHORIZATION, "Bearer secreT"), None));
        assert!(!guard.has_token(&HeaderMap::new(), None));
    }
}
