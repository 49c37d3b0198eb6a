//! The server itself: where it listens, what it answers, how it ends.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::any;
use axum::{Router, middleware};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::guard::{Guard, MOST_BYTES, guarded};
use crate::problem::Problem;
use crate::recording::Recording;
use crate::tsp::{self, Registry};
use crate::{api, assets};

/// How to serve.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address to listen on.
    pub address: IpAddr,
    /// The port; 0 takes any that is free.
    pub port: u16,
    /// Other origins whose pages may ask.
    pub origins: Vec<String>,
    /// What requests must carry; needed beyond loopback.
    pub token: Option<String>,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum NotServed {
    /// The address is not to be had.
    #[error("cannot listen on {address}: {cause}\n  hint: --port 0 takes any port that is free")]
    Address {
        /// Where.
        address: SocketAddr,
        /// Why.
        cause: io::Error,
    },
    /// The server ended by an error.
    #[error("the server ended: {0}")]
    Ended(#[from] io::Error),
}

/// Questions that are worked on at a time.
const AT_A_TIME: usize = 64;

/// What every question can use.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) recording: Arc<Recording>,
    pub(crate) registry: Arc<Registry>,
    places: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn of(recording: Arc<Recording>) -> Self {
        Self {
            registry: Arc::new(Registry::of(&recording)),
            recording,
            places: Arc::new(Semaphore::new(AT_A_TIME)),
        }
    }

    /// Answers on a thread that may be busy for a while.
    pub(crate) async fn answer<T: Send + 'static>(
        self,
        answer: impl FnOnce(&Recording) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let broken = || Problem::Broken("the answer could not be made".to_owned());
        let place = self.places.acquire_owned().await.map_err(|_| broken())?;
        let answered = tokio::task::spawn_blocking(move || {
            let answer = answer(&self.recording);
            drop(place);
            answer
        });
        answered.await.map_err(|_| broken())?
    }
}

/// Serves `recording` until the user ends it (Ctrl-C, SIGTERM). `listening` is told the address.
///
/// # Errors
/// Where it cannot listen, or breaks.
pub fn serve(
    recording: Arc<Recording>,
    settings: &Settings,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), NotServed> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let wanted = SocketAddr::new(settings.address, settings.port);
    let ended = runtime.block_on(async {
        let listener = TcpListener::bind(wanted).await;
        let listener = listener.map_err(|cause| NotServed::Address {
            address: wanted,
            cause,
        })?;
        let address = listener.local_addr()?;
        let guard = Guard::new(address, settings.origins.clone(), settings.token.clone());
        let shared = Shared::of(Arc::clone(&recording));
        recording.start();
        listening(address);
        axum::serve(listener, router(shared, guard))
            .with_graceful_shutdown(asked_to_end())
            .await?;
        Ok(())
    });
    recording.stop();
    // Nobody waits for answers any more.
    runtime.shutdown_background();
    ended
}

fn router(shared: Shared, guard: Guard) -> Router {
    unguarded(shared)
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .layer(middleware::from_fn_with_state(guard, guarded))
}

/// All questions, whoever asks.
pub(crate) fn unguarded(shared: Shared) -> Router {
    let unknown = || async {
        Problem::Unknown("there is no such question\n  hint: docs/reference/http.md".to_owned())
    };
    let (api, _) = api::routes().split_for_parts();
    Router::new()
        .nest("/api", api.fallback(any(unknown)))
        .nest("/tsp/api", tsp::routes())
        .fallback(assets::asset)
        .method_not_allowed_fallback(async || Problem::WrongMethod)
        .with_state(shared)
}

async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}
