//! `ipam.resolvConf`: the plugin reads the file as its caller sees it, and no file stalls other requests.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::ExitCode;

use anyhow::ensure;
use serde_json::{Value, json};
use tenure_e2e::client::{Client, Failure};
use tenure_e2e::journal::Pod;
use tenure_e2e::{Attachment, Daemon, Suite};

const INVALID_CONFIG: u32 = 7;

fn main() -> ExitCode {
    Suite::new()
        .test("the_plugin_reads_the_file_that_its_caller_sees", &[], read_by_the_plugin)
        .test("files_that_block_or_never_end_are_refused_and_stall_nobody", &[], blocking_files)
        .run()
}

fn config(network: &str, resolv_conf: &Path) -> Value {
    json!({
        "cniVersion": "1.1.0",
        "name": network,
        "ipam": { "type": "tenure", "ranges": [[{ "subnet": "10.85.0.0/16" }]], "resolvConf": resolv_conf },
    })
}

/// Daemon and plugin have different working directories, so a path below `/proc/self/cwd` is a different file for each.
fn read_by_the_plugin() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let (here, there) = (daemon.path("here"), daemon.path("resolv.conf"));
    std::fs::create_dir(&here)?;
    std::fs::write(&there, "nameserver 192.0.2.99\n")?;
    std::fs::write(here.join("resolv.conf"), "nameserver 192.0.2.53\n")?;
    let config = config("net", Path::new("/proc/self/cwd/resolv.conf"));
    let result = daemon.shim()?.working_in(&here).call("ADD", &Attachment::of("pod"), &config)?.result()?;
    let servers = result.pointer("/dns/nameservers");
    ensure!(servers == Some(&json!(["192.0.2.53"])), "another file was read: {result}");
    Ok(())
}

/// With the current plugin, and with an older one that leaves reading the file to the daemon.
fn blocking_files() -> anyhow::Result<()> {
    const CALLERS: usize = 24;
    let daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let (fifo, socket) = (daemon.path("fifo"), daemon.path("socket"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU)?;
    let _listener = UnixListener::bind(&socket)?;
    let usual = json!({ "cniVersion": "1.1.0", "name": "beside", "ipam": { "ranges": [[{ "subnet": "10.86.0.0/16" }]] } });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let client = runtime.block_on(Client::connect(&daemon.run_directory()))?;
    for path in [fifo.as_path(), Path::new("/dev/zero"), &socket, Path::new("/")] {
        let config = config("net", path);
        let error = shim.call("ADD", &Attachment::of("pod"), &config)?.error_code(INVALID_CONFIG)?;
        let expected = format!("ipam.resolvConf: {}: not a regular file", path.display());
        ensure!(error.msg == expected, "{error:?}");
        let status = shim.call("STATUS", &Attachment::of("pod"), &config)?.error_code(INVALID_CONFIG)?;
        ensure!(status.msg == expected, "STATUS says otherwise than ADD: {status:?}");
        let refusals = (0..CALLERS).map(|number| {
            let (client, config) = (client.clone(), config.clone());
            let pod = Pod { network: "net".to_owned(), container: format!("pod-{number}") };
            async move { client.add(&pod, &config).await }
        });
        let refusals = runtime.block_on(futures_util::future::join_all(refusals));
        for refusal in refusals {
            // The daemon reads only a few files at a time; an ADD above that limit is refused with "try again".
            let told = matches!(refusal, Err(Failure::Refused { code: INVALID_CONFIG | 11, .. }));
            ensure!(told, "{}: {refusal:?}", path.display());
        }
        shim.call("ADD", &Attachment::of(format!("after-{}", path.display().to_string().len())), &usual)?
            .address()?;
    }
    ensure!(daemon.allocations("net")?.is_empty(), "an address leaked");
    Ok(())
}
