//! Which ports are listened at.
//!
//! Every port answers gRPC and HTTP alike, so that one is enough for all exporters.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use super::SpansChoice;
use crate::error::RecordError;

/// Where exporters look by themselves: OTLP's port for gRPC, and the one for HTTP.
const USUAL_PORTS: [u16; 2] = [4317, 4318];

/// Opens the ports.
pub(crate) fn listen(
    choice: &SpansChoice,
    talk: &mut dyn FnMut(&str),
) -> Result<Vec<TcpListener>, RecordError> {
    match choice {
        SpansChoice::Off => Ok(Vec::new()),
        SpansChoice::At(addresses) => addresses.iter().map(bind).collect(),
        SpansChoice::Auto => listen_as_usual(&USUAL_PORTS, talk),
    }
}

/// Whether the addresses that were asked for can be had, before anything else is touched.
pub(crate) fn check_addresses(choice: &SpansChoice) -> Result<(), RecordError> {
    match choice {
        SpansChoice::At(addresses) => addresses.iter().try_for_each(|one| bind(one).map(drop)),
        SpansChoice::Auto | SpansChoice::Off => Ok(()),
    }
}

fn listen_as_usual(
    ports: &[u16],
    talk: &mut dyn FnMut(&str),
) -> Result<Vec<TcpListener>, RecordError> {
    let at = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut listeners = Vec::new();
    let mut taken = Vec::new();
    for port in ports {
        match bind(&at(*port)) {
            Ok(listener) => listeners.push(listener),
            Err(_) => taken.push(port.to_string()),
        }
    }
    if listeners.is_empty() {
        listeners.push(bind(&at(0))?);
    }
    if !taken.is_empty() {
        let addresses: Vec<SocketAddr> = listeners
            .iter()
            .filter_map(|one| one.local_addr().ok())
            .collect();
        talk(&format!(
            "somebody else listens at port {} of 127.0.0.1: spans are received at {}; a command \
             given here is told, start others with OTEL_EXPORTER_OTLP_ENDPOINT={}",
            taken.join(" and "),
            addresses
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" and "),
            endpoint(&addresses),
        ));
    }
    Ok(listeners)
}

fn bind(address: &SocketAddr) -> Result<TcpListener, RecordError> {
    TcpListener::bind(address).map_err(|cause: io::Error| RecordError::SpanAddress {
        address: *address,
        cause,
    })
}

/// The URL of the last of `addresses`, seen from this machine.
pub(crate) fn endpoint(addresses: &[SocketAddr]) -> String {
    let mut address = match addresses.last() {
        Some(address) => *address,
        None => SocketAddr::from((Ipv4Addr::LOCALHOST, USUAL_PORTS[1])),
    };
    match address.ip() {
        IpAddr::V4(any) if any.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(any) if any.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("http://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_port_is_found_and_told_where_the_usual_ones_are_taken() {
        let held = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = held.local_addr().expect("its address").port();
        let mut said = String::new();
        let listeners = listen_as_usual(&[port], &mut |line| said += line).expect("another port");
        assert_eq!(listeners.len(), 1);
        let other = listeners[0].local_addr().expect("its address");
        assert_ne!(other.port(), port);
        assert!(said.contains(&format!("port {port} of")), "{said}");
        assert!(said.contains(&format!("ENDPOINT=http://{other}")), "{said}");
        // One that was asked for is not replaced by another.
        let choice = SpansChoice::At(vec![held.local_addr().expect("its address")]);
        let error = check_addresses(&choice).expect_err("it is taken");
        assert!(error.to_string().contains(&port.to_string()), "{error}");
    }

    #[test]
    fn the_endpoint_can_be_reached_from_here() {
        for (addresses, expected) in [
            (
                &["127.0.0.1:4317", "127.0.0.1:4318"][..],
                "http://127.0.0.1:4318",
            ),
            (&["0.0.0.0:99"], "http://127.0.0.1:99"),
            (&["[::]:99"], "http://[::1]:99"),
        ] {
            let parsed = addresses.iter().map(|one| one.parse().expect("an address"));
            assert_eq!(endpoint(&parsed.collect::<Vec<_>>()), expected);
        }
    }
}
