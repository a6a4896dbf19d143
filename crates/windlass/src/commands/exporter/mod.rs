//! `windlass exporter`: limits of this host's TCP connections, for Prometheus.

mod exposition;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass_base::{Failure, Schema};
use windlass_host::connections::groups::{OTHER, Rules, Service, Subnet};
use windlass_host::connections::{ConnectionCounter, Error, SharedCounter};
use windlass_output::{Output, Page, Record};
use windlass_ui::{Answer, PageRequest, Server};

use self::exposition::Format;
use super::unwritten;
use crate::arguments::{JsonArgs, port};
use crate::interrupt;

/// Default address: no other exporter is registered for this port.
const ADDRESS: &str = "127.0.0.1:9898";

/// Minimum time between two reads of all connections; a scrape before gets the last read, with
/// the connections closed since then.
const LEAST_AGE: Duration = Duration::from_secs(1);

/// Maximum length of the name of a service or a subnet, in bytes.
const MAX_NAME: usize = 64;

/// Address, services and subnets of the exporter.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass exporter --service print=9100,631,515 --service web=443
  windlass exporter --subnet office=10.1.0.0/16 --subnet home=2001:db8:7::/48
  windlass exporter --listen 0.0.0.0:9898
  curl http://127.0.0.1:9898/metrics

Metrics:
  For each service and subnet: connections, bytes, retransmitted segments, round trip times, and the
  seconds in which there was data to send. These seconds are split by limit: receiver's window, send
  buffer, retransmission timeouts, or unknown. No metric is of a single connection, so the output
  does not grow with their number. docs/exporter.md has each metric with its source.

Access:
  Anyone who can reach the address can read the metrics. For TLS, put a proxy in front.")]
pub struct ExporterArgs {
    /// Address and port to listen on
    #[arg(long, short_alias = 'l', value_name = "ADDRESS:PORT", default_value = ADDRESS)]
    pub listen: SocketAddr,

    /// Service: connections with one of these ports at either end; the rest are `other`
    #[arg(long = "service", value_name = "NAME=PORT,…", value_parser = service)]
    pub services: Vec<Service>,

    /// Subnet: connections whose other end is in this prefix; the rest are `other`
    #[arg(long = "subnet", value_name = "NAME=PREFIX", value_parser = subnet)]
    pub subnets: Vec<Subnet>,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Splits `NAME=…` into the name and the rest.
fn named(text: &str) -> Result<(String, &str), String> {
    let (name, rest) =
        text.split_once('=').ok_or("it begins with a name and =, such as print=9100")?;
    let is_fine = |one: char| !one.is_control();
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_fine) {
        return Err(format!("a name has 1 to {MAX_NAME} bytes"));
    }
    if name == OTHER {
        return Err(format!("the name {OTHER} is reserved for the rest"));
    }
    Ok((name.to_owned(), rest))
}

fn service(text: &str) -> Result<Service, String> {
    let (name, ports) = named(text)?;
    let ports = ports.split(',').map(port).collect::<Result<_, _>>()?;
    Ok(Service { name, ports })
}

fn subnet(text: &str) -> Result<Subnet, String> {
    let (name, network) = named(text)?;
    let allowed = || "a subnet is written as 10.1.0.0/16 or 2001:db8::/32".to_owned();
    let address = || Some(network.parse::<std::net::IpAddr>().ok()?.into());
    let network = network.parse().ok().or_else(address).ok_or_else(allowed)?;
    Ok(Subnet { name, network })
}

impl ExporterArgs {
    fn rules(&self) -> Result<Rules, Failure> {
        let twice = |names: Vec<&str>| {
            let mut names = names;
            names.sort_unstable();
            names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].to_owned())
        };
        let services = self.services.iter().map(|one| one.name.as_str()).collect();
        let subnets = self.subnets.iter().map(|one| one.name.as_str()).collect();
        if let Some(name) = twice(services).or_else(|| twice(subnets)) {
            let doing = "cannot set up services and subnets";
            return Err(Failure::usage(doing, format!("the name {name} is given twice")).advise(
                "Give several ports of a service as print=9100,631, and each subnet its own name.",
            ));
        }
        Ok(Rules { services: self.services.clone(), subnets: self.subnets.clone() })
    }
}

/// Address of the exporter.
#[derive(Debug, Serialize)]
struct ExporterReport {
    schema: Schema,
    address: String,
    services: Vec<String>,
    subnets: Vec<String>,
    /// Reason why connections shorter than an interval are not counted; none if they are.
    deaf: Option<String>,
}

impl ExporterReport {
    /// The shape of the JSON, described by `schemas/exporter.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.exporter", version: 1 };
}

impl Record for ExporterReport {
    fn text(&self, page: &mut Page) {
        page.line(self.address.as_str());
        if let Some(why) = &self.deaf {
            page.line(format!(
                "Connections that open and close between two scrapes are not counted, because the \
                 kernel does not report closed sockets here: {why}."
            ));
        }
        page.line("Stop with Ctrl-C.");
    }
}

/// Runs the command.
pub fn run(args: &ExporterArgs, output: &mut Output) -> anyhow::Result<()> {
    let doing = "cannot export metrics of this host's connections";
    let rules = args.rules()?;
    let stop = interrupt::listen(doing)?;
    let failed = |error: Error| {
        Failure::new(doing, error).advise(
            "windlass exporter needs the kernel's sock_diag for TCP (CONFIG_INET_DIAG; modprobe \
             tcp_diag). A container's seccomp filter may refuse it: run windlass on the host.",
        )
    };
    let counting = ConnectionCounter::open(rules).map_err(failed)?;
    let server = Server::of_readers(args.listen).map_err(|error| {
        Failure::new(format!("cannot listen on {}", args.listen), error)
            .advise("If another exporter runs there, choose another address or port with --listen.")
    })?;
    let report = ExporterReport {
        schema: ExporterReport::SCHEMA,
        address: format!("{}metrics", server.address()),
        services: args.services.iter().map(|one| one.name.clone()).collect(),
        subnets: args.subnets.iter().map(|one| one.name.clone()).collect(),
        deaf: counting.deaf.clone(),
    };
    output.print_line(&report).map_err(unwritten)?;
    output.flush().map_err(unwritten)?;
    let stops = || stop.load(Ordering::Relaxed);
    let serve = |sums: &SharedCounter| server.serve(&|asked| answer(asked, sums), &stops);
    Ok(counting.beside(&stop, serve).map_err(failed)?)
}

/// Answers a request for a page.
fn answer(asked: &PageRequest, sums: &SharedCounter) -> Answer {
    match asked.path.as_str() {
        "metrics" => {
            let format = Format::wanted(&asked.accept);
            match sums.groups(LEAST_AGE, |groups| exposition::write(groups, format)) {
                Ok(text) => Answer::of(format.kind(), text),
                Err(error) => {
                    let plain = "text/plain; charset=utf-8";
                    Answer::of(plain, format!("{error}\n")).with_status(503)
                }
            }
        }
        "" => Answer::html(INDEX),
        _ => Answer::of("text/plain; charset=utf-8", "see /metrics\n").with_status(404),
    }
}

/// Page at the root of the address.
const INDEX: &str = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\
                     <title>windlass exporter</title>\n<p>windlass exporter: \
                     <a href=\"metrics\">metrics</a></p>\n</html>\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_and_subnets_are_read_and_others_are_refused() {
        let print = service("print=9100,ipp").unwrap();
        assert_eq!((print.name.as_str(), print.ports), ("print", vec![9100, 631]));
        let office = subnet("office=10.1.0.0/16").unwrap();
        assert_eq!(
            (office.name.as_str(), office.network.to_string()),
            ("office", "10.1.0.0/16".into())
        );
        assert_eq!(subnet("one=10.1.2.3").unwrap().network.to_string(), "10.1.2.3/32");
        for wrong in ["print", "=9100", "print=", "print=0", "print=70000", "other=9100"] {
            assert!(service(wrong).is_err(), "{wrong}");
        }
        for wrong in ["office", "office=", "office=10.1.0.0/33", "other=10.0.0.0/8"] {
            assert!(subnet(wrong).is_err(), "{wrong}");
        }
    }
}
