//! Work on many machines: a scheduler and executors of Ballista, extended for archives.
//!
//! `add` and `query` are the client's side, by `submit`; `scheduler` and `executor` are the
//! processes. An executor runs a `map` over `pack`s of sources, each as a `task`.

pub mod add;
mod address;
mod codec;
pub mod executor;
mod guard;
mod losses;
mod map;
mod pack;
pub mod query;
mod scalars;
pub mod scheduler;
mod stop;
mod stores;
mod submit;
mod task;
mod tls;
mod told;

use address::Address;
use clap::Args;
use tls::TlsArgs;
use windlass_base::Failure;

pub use query::Cluster;

/// Maximum size of a message: a plan with the names of captures, or with the files of a table.
const MOST_MESSAGE: u32 = 64 << 20;

/// Arguments that select a cluster.
#[derive(Args, Clone, Debug)]
pub struct ClusterArgs {
    /// Let the executors of a cluster do the work, by the address of its scheduler. Executors must
    /// see captures and archive by the same paths
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Cluster")]
    cluster: Option<Address>,

    #[command(flatten)]
    tls: TlsArgs,
}

impl ClusterArgs {
    /// Returns the cluster, if one was named.
    ///
    /// # Errors
    /// Returns an error if the certificates cannot be read.
    pub fn cluster(&self) -> Result<Option<Cluster>, Failure> {
        let tls = self.tls.read()?;
        match (&self.cluster, &tls) {
            (Some(address), _) => Ok(Some(Cluster::new(address.clone(), tls))),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(Failure::usage(
                "cannot use certificates here",
                "certificates are only used with a cluster",
            )
            .advise("Add --cluster HOST.")),
        }
    }
}

/// Returns the root cause of an error in one line: the library's errors have their message there.
fn root(error: &dyn std::error::Error) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    at.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
