//! `windlass-archive executor`.

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::error::BallistaError;
use ballista_core::extension::{SessionConfigExt as _, ballista_scalar_functions};
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::serde::protobuf::executor_grpc_server::ExecutorGrpcServer;
use ballista_core::utils::{create_grpc_server, default_config_producer};
use ballista_executor::ArrowFlightServerProvider;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::flight_service::BallistaFlightService;
use clap::Args;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::{Handle, Runtime};
use tonic::transport::server::TcpIncoming;
use windlass_base::{Bytes, Failure};

use super::address::{Address, guard, listen, listening, loopback};
use super::codec::{LogicalCodec, PhysicalCodec};
use super::stop::{Orders, Stops};
use super::stores::Stores;
use super::submit::Scheduler;
use super::task::Worker;
use super::tls::{Tls, TlsArgs};
use super::{MOST_MESSAGE, root};
use crate::sql::{functions, until_signal};

/// Maximum time until a scheduler is up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Maximum time for an executor to end its tasks and report that.
const PARTING: Duration = Duration::from_secs(5);

/// Scheduler and limits of an executor.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass-archive executor --scheduler localhost
  windlass-archive executor --scheduler 10.0.0.1 --listen 10.0.0.2 \\
      --tls-cert me.pem --tls-key me.key --tls-ca ca.pem")]
pub struct ExecutorArgs {
    /// Scheduler to work for; the executor waits up to a minute for it to start
    #[arg(long, value_name = "HOST[:PORT]")]
    scheduler: Address,

    /// Address and port at which clients and other executors fetch results; port 0 is any free
    /// port
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listening)]
    #[arg(default_value_t = loopback(0))]
    listen: SocketAddr,

    /// Name or address by which others reach this executor [default: the address from which it
    /// reaches the scheduler]
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,

    #[command(flatten)]
    tls: TlsArgs,

    /// Listen to other machines without TLS: anyone who can reach it could read results
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_key", "tls_ca"])]
    no_tls: bool,

    /// Number of tasks at once [default: number of processors]
    #[arg(long, value_name = "N")]
    concurrent_tasks: Option<NonZeroU16>,

    /// Memory limit of queries, shared by the tasks [default: 1 GiB for each]. More data goes to
    /// the working folder
    #[arg(long, value_name = "SIZE", value_parser = windlass_base::values::bytes)]
    memory: Option<Bytes>,

    /// Parent of the working folder, which is deleted at the end [default: the folder of temporary
    /// files]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
}

impl ExecutorArgs {
    fn tasks(&self) -> usize {
        let processors = || thread::available_parallelism().map_or(1, usize::from);
        self.concurrent_tasks.map_or_else(processors, |tasks| usize::from(tasks.get()))
    }

    fn memory(&self, tasks: usize) -> u64 {
        self.memory.map_or((tasks as u64) << 30, Bytes::get).max(tasks as u64)
    }

    fn work_folder(&self) -> Result<TempDir, Failure> {
        let mut builder = tempfile::Builder::new();
        let made = match &self.work_dir {
            Some(folder) => builder.prefix("windlass-executor-").tempdir_in(folder),
            None => builder.prefix("windlass-executor-").tempdir(),
        };
        made.map_err(|error| {
            let folder = self.work_dir.clone().unwrap_or_else(std::env::temp_dir);
            Failure::new(format!("cannot make a working folder in {}", folder.display()), error)
                .advise("Give a writable folder with --work-dir.")
        })
    }
}

/// Runs tasks until Ctrl-C or SIGTERM.
///
/// # Errors
/// Returns an error if the executor cannot listen or reach the scheduler.
pub fn run(args: &ExecutorArgs, runtime: &Runtime) -> anyhow::Result<()> {
    let tls = args.tls.read()?;
    guard(args.listen, tls.as_ref(), args.no_tls)?;
    let work = args.work_folder()?;
    let stops = Arc::new(Stops::default());
    let done = runtime.block_on(serve(args, tls, work.path(), &stops, runtime.handle()));
    let removed = removed(work);
    done?;
    removed.map_err(|error| Failure::new("cannot remove the working folder", error))?;
    Ok(())
}

/// Removes the working folder. Unfinished queries may write into it until this process ends.
fn removed(work: TempDir) -> io::Result<()> {
    let path = work.keep();
    let end = Instant::now() + PARTING;
    loop {
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) if Instant::now() < end => thread::sleep(Duration::from_millis(10)),
            done => return done,
        }
    }
}

async fn serve(
    args: &ExecutorArgs,
    tls: Option<Tls>,
    work: &Path,
    stops: &Arc<Stops>,
    runtime: &Handle,
) -> Result<(), Failure> {
    let (listener, address) = listen(args.listen).await?;
    let reached = Scheduler::await_up(&args.scheduler, tls.as_ref(), PATIENCE);
    let Some(reached) = until_signal(reached).await else { return Ok(()) };
    reached?;
    let host = match &args.advertise {
        Some(host) => host.clone(),
        None => own_address(&args.scheduler, address).await?,
    };
    let name = format!("{host}:{}", address.port());
    let worker = Worker::new(name.clone(), runtime.clone(), Arc::clone(stops));
    let tasks = args.tasks();
    let config = config(args, tasks, tls.as_ref(), work, worker)?;
    let config = ExecutorProcessConfig {
        bind_host: bracketed(address.ip()),
        external_host: Some(host),
        port: address.port(),
        // Requests of a scheduler to an executor go to the same port.
        grpc_port: address.port(),
        override_arrow_flight_service: Some(flight(listener, tls, Arc::clone(stops))),
        ..config
    };
    let mut out = io::stdout().lock();
    // The parent process waits for this line; a closed pipe is no error.
    let _ = writeln!(out, "executor at {name}, tasks at once: {tasks}").and_then(|()| out.flush());
    drop(out);
    // The library handles the same signals, and tells the scheduler that the executor ends.
    let mut process = tokio::spawn(start_executor_process(Arc::new(config)));
    let ended = match until_signal(&mut process).await {
        Some(ended) => ended,
        None => {
            stops.all();
            match tokio::time::timeout(PARTING, process).await {
                Ok(ended) => ended,
                // The scheduler hears no more of this executor, and other executors repeat its
                // tasks.
                Err(_) => return Ok(()),
            }
        }
    };
    let doing = || format!("cannot do the tasks of {}", args.scheduler);
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Failure::new(doing(), root(&error))),
        Err(_) => Err(Failure::new(doing(), "the executor failed")),
    }
}

fn bracketed(ip: IpAddr) -> String {
    match ip {
        IpAddr::V6(ip) => format!("[{ip}]"),
        IpAddr::V4(ip) => ip.to_string(),
    }
}

/// Returns the address by which others reach a listening address.
async fn own_address(scheduler: &Address, listen: SocketAddr) -> Result<String, Failure> {
    if !listen.ip().is_unspecified() {
        return Ok(bracketed(listen.ip()));
    }
    let text = scheduler.to_string();
    let stream = tokio::net::TcpStream::connect(&text).await;
    let own = stream.and_then(|stream| stream.local_addr());
    own.map(|own| bracketed(own.ip().to_canonical())).map_err(|error| {
        Failure::new(format!("cannot reach the scheduler at {text}"), error)
            .advise("Give the address by which others reach this executor with --advertise.")
    })
}

fn config(
    args: &ExecutorArgs,
    tasks: usize,
    tls: Option<&Tls>,
    work: &Path,
    worker: Worker,
) -> Result<ExecutorProcessConfig, Failure> {
    let Some(folder) = work.to_str().map(str::to_owned) else {
        let doing = format!("cannot work in {}", work.display());
        return Err(Failure::usage(doing, "its name is not UTF-8").advise("Give another folder."));
    };
    let mut known = BallistaFunctionRegistry::default();
    let scalar = functions::scalar().map(Arc::new);
    for function in ballista_scalar_functions().into_iter().chain(scalar) {
        known.scalar_functions.insert(function.name().to_owned(), function);
    }
    for function in functions::aggregate() {
        known.aggregate_functions.insert(function.name().to_owned(), Arc::new(function));
    }
    let spill = folder.clone();
    let stores = Arc::new(Stores::default());
    let (endpoints, is_encrypted) = (tls.map(Tls::endpoints), tls.is_some());
    let of_sessions = endpoints.clone();
    Ok(ExecutorProcessConfig {
        scheduler_host: args.scheduler.host().to_owned(),
        scheduler_port: args.scheduler.port(),
        vcores: tasks,
        task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
        work_dir: Some(folder),
        memory_pool_size: Some(args.memory(tasks)),
        grpc_max_decoding_message_size: MOST_MESSAGE,
        grpc_max_encoding_message_size: MOST_MESSAGE,
        override_function_registry: Some(Arc::new(known)),
        override_runtime_producer: Some(Arc::new(move |_| {
            RuntimeEnvBuilder::new()
                .with_temp_file_path(&spill)
                .with_object_store_registry(Arc::clone(&stores) as _)
                .build_arc()
        })),
        override_config_producer: Some(Arc::new(move || {
            let config = default_config_producer().with_ballista_use_tls(is_encrypted);
            match &of_sessions {
                Some(endpoints) => {
                    config.with_ballista_override_create_grpc_client_endpoint(Arc::clone(endpoints))
                }
                None => config,
            }
        })),
        override_logical_codec: Some(Arc::new(LogicalCodec::default())),
        override_physical_codec: Some(Arc::new(PhysicalCodec::of(Arc::new(worker)))),
        override_create_grpc_client_endpoint: endpoints,
        ..ExecutorProcessConfig::default()
    })
}

/// Returns the server of this listener, for results and for a scheduler's request to end a job.
fn flight(
    listener: TcpListener,
    tls: Option<Tls>,
    stops: Arc<Stops>,
) -> Arc<ArrowFlightServerProvider> {
    let listener = Mutex::new(Some(listener));
    Arc::new(move |work, _, mut shutdown, config| {
        let listener = listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (tls, stops) = (tls.clone(), Arc::clone(&stops));
        tokio::spawn(async move {
            let internal = BallistaError::Internal;
            let Some(listener) = listener else {
                return Err(internal("it was started twice".to_owned()));
            };
            let server = create_grpc_server(&config);
            let mut server = match tls {
                Some(tls) => tls.server(server).map_err(internal)?,
                None => server,
            };
            let most = usize::try_from(MOST_MESSAGE).unwrap_or(usize::MAX);
            let results = FlightServiceServer::new(BallistaFlightService::new(work))
                .max_decoding_message_size(most)
                .max_encoding_message_size(most);
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            server
                .add_service(results)
                .add_service(ExecutorGrpcServer::new(Orders(stops)))
                .serve_with_incoming_shutdown(incoming, shutdown.recv())
                .await
                .map_err(BallistaError::TonicError)
        })
    })
}
