//! Published messages between nodes of a cluster, one by one, for arrows.

use slowpath_datastore::{Hops, hops};
use slowpath_engine::{Cancelled, Options};
use slowpath_session::Experiment;

/// Those of one host, in the order of time.
#[derive(Clone, Debug, Default)]
pub struct StoreHops {
    /// The host's name.
    pub(super) host: String,
    pub(super) told: Hops,
}

/// Those of all hosts with data stores.
///
/// Takes memory for each message.
///
/// # Errors
/// Where it was cancelled.
pub fn store_hops(
    experiment: &Experiment,
    options: &Options<'_>,
) -> Result<Vec<StoreHops>, Cancelled> {
    let hosts = experiment.stores().into_iter().map(|host| {
        let mut told = hops(&host.source(), options)?.state.unwrap_or_default();
        told.hops.sort_by_key(|hop| (hop.sent_ns, hop.to_server));
        (told.deliveries).sort_by_key(|delivery| (delivery.received_ns, delivery.client));
        Ok(StoreHops {
            host: host.name,
            told,
        })
    });
    hosts.collect()
}
