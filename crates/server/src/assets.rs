//! The browser application, which lies in the binary.
//!
//! `web/dist` is embedded as it was when the binary was built (`make web`); without it a page says so.

use axum::body::Body;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Application;

/// A file of the application as text; `None` where it is not in the binary.
pub(crate) fn text(path: &str) -> Option<String> {
    let file = Application::get(path)?;
    String::from_utf8(file.data.into_owned()).ok()
}

const INDEX: &str = "index.html";

/// A file of the application; for every other path that is none of the interfaces', its page: the
/// application itself looks at the rest of the address.
pub(crate) async fn asset(uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    let is_file = path
        .rsplit('/')
        .next()
        .is_some_and(|name| name.contains('.'));
    let found = Application::get(path).map(|file| (path, file));
    let found = match found {
        None if is_file => return StatusCode::NOT_FOUND.into_response(),
        None => Application::get(INDEX).map(|file| (INDEX, file)),
        found => found,
    };
    let Some((path, file)) = found else {
        let text = "This slowpath was built without the browser application.\n\
                    hint: make web, then build it again. /api and /tsp/api work.\n";
        return (StatusCode::NOT_FOUND, text).into_response();
    };
    // Names of assets carry a hash of what is in them.
    let lasting = match path == INDEX {
        true => "no-cache",
        false => "public, max-age=31536000, immutable",
    };
    let headers = [
        (header::CONTENT_TYPE, file.metadata.mimetype().to_owned()),
        (header::CACHE_CONTROL, lasting.to_owned()),
    ];
    (headers, Body::from(file.data.into_owned())).into_response()
}
