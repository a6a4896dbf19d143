//! Where no path to a host is measured. One that is named is refused with the reason.

use clap::Args;

/// The host, which is taken to be refused.
#[derive(Args, Clone, Debug)]
pub struct HostArgs {
    /// The host at the other end of the path.
    #[arg(value_name = "HOST", hide = true)]
    pub host: Option<String>,
}

/// What is set on the packets of IP: there is no option.
#[derive(Args, Clone, Copy, Debug)]
pub struct IpArgs {}

impl IpArgs {
    /// Whether something is.
    pub const fn is_set(self) -> bool {
        false
    }
}
