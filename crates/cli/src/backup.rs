//! `punctual backup`: writes all objects of one revision to a file, while the server runs or not.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use futures::AsyncReadExt as _;
use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use punctual_client::ApiError;
use punctual_store::{BackupChunks, Salvage, read_backup, read_store};

use crate::args::DataDirArg;
use crate::private_file::PrivateFile;
use crate::{output, transport};

/// The path of the server that returns a backup.
const BACKUP_PATH: &str = "/backup";
/// How long to wait for the first bytes of a running server.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
const BUFFER_BYTES: usize = 64 << 10;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The backup contains all objects of one revision, even if others are written meanwhile. It contains
Secrets, so only its owner can read the file. It does not contain certificates, tokens, the audit
log or the logs and volumes of Pods.

Without a running server the command reads the data directory. It refuses a damaged store.

Example: punctual backup /var/backups/punctual-$(date +%F).backup")]
pub(crate) struct BackupArgs {
    /// File to write; it is replaced if it exists. - writes to standard output
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    data_dir: DataDirArg,
    /// Kubeconfig of an administrator of the running server [default: the one in the data directory]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

pub(crate) fn run(args: &BackupArgs) -> anyhow::Result<()> {
    if args.file.as_os_str() == "-" {
        return write_backup(args, &mut io::stdout().lock());
    }
    let shown = args.file.display();
    let mut file = PrivateFile::create(&args.file)
        .with_context(|| format!("could not create a file next to {shown}"))?;
    write_backup(args, &mut file)?;
    let backup = read_file(file.temporary_path()).context("the backup is not readable")?;
    file.commit().with_context(|| format!("could not write {shown}"))?;
    let Salvage { revision, entries, .. } = backup;
    output::print(&format!(
        "backed up {} objects at revision {revision} to {shown}\n",
        entries.len()
    ))
}

/// Reads and verifies a backup.
pub(crate) fn read_file(path: &Path) -> anyhow::Result<Salvage> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("could not open {shown}"))?;
    read_backup(BufReader::new(file)).with_context(|| format!("could not use the backup {shown}"))
}

fn write_backup(args: &BackupArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let data_dir = args.data_dir.resolve()?;
    let path = data_dir.join("store");
    if !path.exists() {
        bail!("{} has no store; set --data-dir", data_dir.display());
    }
    let stored = match read_store(&path) {
        Err(punctual_store::Error::Locked { .. }) => {
            let kubeconfig = args.kubeconfig.clone();
            let kubeconfig = kubeconfig.unwrap_or_else(|| data_dir.join("kubeconfig"));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            return runtime.block_on(copy_from_server(&kubeconfig, out));
        }
        stored => stored?,
    };
    if !stored.damage.is_none() {
        bail!("{} is damaged; run `punctual check` and `punctual salvage`", path.display());
    }
    let chunks = BackupChunks::new(stored.snapshot(), None);
    for chunk in chunks.with_archive_contents(stored.archive) {
        out.write_all(&chunk)?;
    }
    Ok(out.flush()?)
}

/// Copies the backup that the running server streams.
async fn copy_from_server(kubeconfig: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    let shown = kubeconfig.display();
    let config = Kubeconfig::read_from(kubeconfig)
        .with_context(|| format!("could not read {shown}; set --kubeconfig"))?;
    let config =
        kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    let client = transport::build_client(config, 0)?;
    let request = Request::get(BACKUP_PATH).body(Vec::new())?;
    let response = tokio::time::timeout(RESPONSE_TIMEOUT, client.request_stream(request)).await;
    let response = response.context("the server does not respond")?;
    let mut body =
        std::pin::pin!(response.map_err(|error| anyhow!("no backup: {}", ApiError::from(error)))?);
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let len = body.read(&mut buffer).await.context("the connection failed; try again")?;
        match buffer.get(..len) {
            None | Some([]) => return Ok(out.flush()?),
            Some(bytes) => out.write_all(bytes)?,
        }
    }
}
