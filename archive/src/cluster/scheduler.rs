//! `windlass-archive scheduler`.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;

use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer;
use ballista_core::utils::{
    GrpcServerConfig, create_grpc_server, default_config_producer, default_session_builder,
};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::create_scheduler;
use clap::Args;
use datafusion::execution::SessionState;
use datafusion::execution::registry::FunctionRegistry as _;
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::runtime::Runtime;
use tonic::transport::server::TcpIncoming;
use windlass_base::Failure;

use super::address::{self, guard, listen, listening, unheard};
use super::codec::{LogicalCodec, PhysicalCodec};
use super::guard::GuardedScheduler;
use super::losses::{CountedState, Losses};
use super::tls::{Tls, TlsArgs};
use super::{MOST_MESSAGE, root};
use crate::sql::{functions, until_signal};

/// Number of checks for a silent executor within its timeout.
const LOOKS: u64 = 4;

/// Maximum attempts of a task whose executor had no room, or was stopped.
const TRIES: usize = 8;

/// Address and timeout of a scheduler.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass-archive scheduler
  windlass-archive scheduler --listen 10.0.0.1 --tls-cert me.pem --tls-key me.key --tls-ca ca.pem")]
pub struct SchedulerArgs {
    /// Address and port at which clients and executors reach it; port 0 is any free port
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listening)]
    #[arg(default_value_t = address::scheduler())]
    listen: SocketAddr,

    #[command(flatten)]
    tls: TlsArgs,

    /// Listen to other machines without TLS: anyone who can reach it could read and write files
    /// with the executors' rights
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_key", "tls_ca"])]
    no_tls: bool,

    /// Time without a message after which an executor counts as lost, and its tasks go to others.
    /// A busy executor sends a message every 5 s
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    #[arg(value_parser = clap::value_parser!(u64).range(10..=3600))]
    executor_timeout: u64,
}

/// Creates a session with windlass-archive's functions besides those of the engine.
fn session(config: SessionConfig) -> datafusion::common::Result<SessionState> {
    let mut state = default_session_builder(config)?;
    for function in functions::scalar() {
        state.register_udf(Arc::new(function))?;
    }
    for function in functions::aggregate() {
        state.register_udaf(Arc::new(function))?;
    }
    Ok(state)
}

/// Distributes tasks until Ctrl-C or SIGTERM.
///
/// # Errors
/// Returns an error if the scheduler cannot listen.
pub fn run(args: &SchedulerArgs, runtime: &Runtime) -> anyhow::Result<()> {
    let tls = args.tls.read()?;
    guard(args.listen, tls.as_ref(), args.no_tls)?;
    // The scheduler ends at once. Only the client of an unfinished job learns of that, because the
    // scheduler is gone.
    let served = runtime.block_on(until_signal(serve(args, tls)));
    Ok(served.transpose().map(|_| ())?)
}

async fn serve(args: &SchedulerArgs, tls: Option<Tls>) -> Result<(), Failure> {
    let failed = |wrong: String| unheard(args.listen, wrong);
    let (listener, address) = listen(args.listen).await?;
    let scheduler = scheduler(args, address, tls.as_ref()).await?;
    let server = create_grpc_server(&GrpcServerConfig::default());
    let mut server = match &tls {
        Some(tls) => tls.server(server).map_err(failed)?,
        None => server,
    };
    let most = usize::try_from(MOST_MESSAGE).unwrap_or(usize::MAX);
    let service = SchedulerGrpcServer::new(scheduler)
        .max_decoding_message_size(most)
        .max_encoding_message_size(most);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let mut out = io::stdout().lock();
    // The parent process waits for this line; a closed pipe is no error.
    let _ = writeln!(out, "scheduler at {address}").and_then(|()| out.flush());
    drop(out);
    let served = server.add_service(service).serve_with_incoming(incoming).await;
    served.map_err(|error| failed(root(&error)))
}

async fn scheduler(
    args: &SchedulerArgs,
    address: SocketAddr,
    tls: Option<&Tls>,
) -> Result<GuardedScheduler, Failure> {
    let host = match address.ip() {
        std::net::IpAddr::V6(ip) => format!("[{ip}]"),
        std::net::IpAddr::V4(ip) => ip.to_string(),
    };
    let config = SchedulerConfig {
        bind_host: host.clone(),
        external_host: host,
        bind_port: address.port(),
        scheduling_policy: TaskSchedulingPolicy::PullStaged,
        executor_timeout_seconds: args.executor_timeout,
        expire_dead_executor_interval_seconds: (args.executor_timeout / LOOKS).max(1),
        no_executors_grace_period_seconds: args.executor_timeout,
        task_max_failures: TRIES,
        // A stage that has read another one's results is not recomputed after a loss: see `losses`.
        stage_max_failures: 1,
        grpc_server_max_decoding_message_size: MOST_MESSAGE,
        grpc_server_max_encoding_message_size: MOST_MESSAGE,
        grpc_client_max_message_size: MOST_MESSAGE,
        override_session_builder: Some(Arc::new(session)),
        override_config_producer: Some(Arc::new(default_config_producer)),
        override_logical_codec: Some(Arc::new(LogicalCodec::default())),
        override_physical_codec: Some(Arc::new(PhysicalCodec::default())),
        override_create_grpc_client_endpoint: tls.map(Tls::endpoints),
        use_tls: tls.is_some(),
        ..SchedulerConfig::default()
    };
    let failed = |error: ballista_core::error::BallistaError| {
        Failure::new("cannot start the scheduler", root(&error))
    };
    config.validate().map_err(failed)?;
    let cluster = BallistaCluster::new_from_config(&config).await.map_err(failed)?;
    let losses = Losses::default();
    let counted = CountedState::new(cluster.cluster_state(), losses.clone());
    let cluster = BallistaCluster::new(Arc::new(counted), cluster.job_state());
    let scheduler =
        create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config));
    Ok(GuardedScheduler::new(scheduler.await.map_err(failed)?, losses))
}
