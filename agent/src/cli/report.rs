//! `gistify report` and `gistify view`: the pages of a bench, as files or served while it goes on.

use std::{
    convert::Infallible,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use ::eval::Index;
use clap::Args;
use http::{Method, Request, Response, StatusCode, header};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::{
    Exit, Failure, OrExit, destination::check_directory, surroundings::Surroundings,
    tables::say_left_out,
};
use crate::pages::{ASSETS, Pages, PagesError};

#[derive(Debug, Args)]
pub struct ReportCommand {
    /// The bench's directory.
    directory: PathBuf,
    /// Directory for the pages [default: `report` in the bench's directory].
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Show them in a browser.
    #[arg(long)]
    open: bool,
}

#[derive(Debug, Args)]
pub struct ViewCommand {
    /// The bench's directory.
    directory: PathBuf,
    /// The port on loopback; 0 for one that is free.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Show them in a browser.
    #[arg(long)]
    open: bool,
}

impl ReportCommand {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let opened = Index::open_for_reading(&self.directory);
        let (index, unread) = opened.map_err(|error| unusable(error.into()))?;
        let into = self.output.unwrap_or_else(|| self.directory.join("report"));
        check_directory(&into)?;
        say_left_out(&unread);
        let pages = Pages::of_index(&self.directory, &index).map_err(unusable)?;
        pages.write(&into).map_err(unusable)?;
        let page = into.join("index.html");
        println!("{}", page.display());
        if self.open {
            open(around, page.as_os_str().to_string_lossy().as_ref())?;
        }
        Ok(Exit::Success)
    }
}

impl ViewCommand {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        // Kept as long as the pages are served, so that each request reads what is new and no more.
        let opened = Index::open_for_reading(&self.directory);
        let (index, unread) = opened.map_err(|error| unusable(error.into()))?;
        say_left_out(&unread);
        Pages::of_index(&self.directory, &index).map_err(unusable)?;
        let index = Arc::new(index);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.or_exit(Exit::Infrastructure)?;
        runtime.block_on(async {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
            let listener = TcpListener::bind(address).await.or_exit(Exit::Infrastructure)?;
            let local = listener.local_addr().or_exit(Exit::Infrastructure)?;
            let page = format!("http://{local}/");
            println!("{page}");
            if self.open {
                open(around, &page)?;
            }
            let directory: Arc<Path> = self.directory.as_path().into();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let Ok((stream, _)) = accepted else { continue };
                        let (directory, index) = (Arc::clone(&directory), Arc::clone(&index));
                        let answer = service_fn(move |request| {
                            let answer = answer(&directory, &index, &request, local);
                            async move { Ok::<_, Infallible>(answer) }
                        });
                        let served = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
                        // A browser that goes away is no trouble of ours.
                        tokio::spawn(async move { drop(served.await) });
                    }
                    () = tokio::time::sleep(Duration::from_millis(200)) => {}
                }
                if around.interrupt.is_triggered() {
                    return Ok(Exit::Success);
                }
            }
        })
    }
}

/// Returns the response for an address. Answers only a local browser that uses the server's own
/// address: another host name may be a DNS rebinding attack.
fn answer(
    directory: &Path,
    index: &Index,
    request: &Request<Incoming>,
    local: SocketAddr,
) -> Response<String> {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let own = [local.to_string(), format!("localhost:{}", local.port())];
    if !host.is_some_and(|host| own.iter().any(|name| name == host)) {
        return respond(StatusCode::FORBIDDEN, "text/plain", "not by this name".to_owned());
    }
    if request.method() != Method::GET {
        return respond(StatusCode::METHOD_NOT_ALLOWED, "text/plain", String::new());
    }
    let path = request.uri().path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    if let Some((_, kind, text)) = ASSETS.iter().find(|(name, _, _)| *name == path) {
        return respond(StatusCode::OK, kind, (*text).to_owned());
    }
    let refreshed = index.refresh().map_err(PagesError::from);
    let pages = match refreshed.and_then(|_| Pages::of_index(directory, index)) {
        Ok(pages) => pages,
        Err(error) => {
            return respond(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", error.to_string());
        }
    };
    let script = "text/javascript; charset=utf-8";
    let keyed = |kind: &str| path.strip_prefix("data/")?.strip_prefix(kind)?.strip_suffix(".js");
    let task = || keyed("task-").and_then(|key| pages.task(key));
    let source = || keyed("source-").and_then(|key| pages.text(key));
    match path {
        "data/index.js" => respond(StatusCode::OK, script, pages.index()),
        "data/version" => respond(StatusCode::OK, "text/plain", pages.version()),
        _ => match task().or_else(source) {
            Some(text) => respond(StatusCode::OK, script, text),
            None => {
                respond(StatusCode::NOT_FOUND, "text/plain", "there is no such page".to_owned())
            }
        },
    }
}

fn respond(status: StatusCode, kind: &str, text: String) -> Response<String> {
    let answer = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, kind)
        .header(header::CACHE_CONTROL, "no-store")
        .header("x-content-type-options", "nosniff");
    answer.body(text).expect("names and values are fixed")
}

fn open(around: &Surroundings, page: &str) -> Result<(), Failure> {
    let program = around.host.find("xdg-open").ok_or_else(|| {
        Failure::new(Exit::Environment, format!("no xdg-open (open {page} yourself)"))
    })?;
    let mut command = Command::new(program);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop).or_exit(Exit::Environment)
}

fn unusable(error: PagesError) -> Failure {
    let exit = match error {
        PagesError::Store(_) => Exit::Input,
        PagesError::Index(_) | PagesError::Write { .. } => Exit::Infrastructure,
    };
    Failure { exit, error: error.into() }
}
