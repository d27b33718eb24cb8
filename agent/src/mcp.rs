//! Serves a session's tools over the Model Context Protocol, for other clients.
//!
//! Calls are passed to the owner of the session, one at a time and in order; this module only
//! implements the protocol. The HTTP server answers hosts of this machine alone.

use std::{
    io::{self, Write},
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, mpsc::Sender},
    task::Poll,
};

use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use rmcp::{
    ErrorData, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::{RequestContext, RoleServer, ServerInitializeError},
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, ReadBuf},
    net::TcpListener,
    sync::oneshot,
};

use crate::model::ToolSpec;

/// A call on its way to the owner of the session.
pub struct QueuedCall {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// The channel for the reply: the text for the client, or the reason of a refusal.
    pub reply: oneshot::Sender<Result<String, String>>,
}

/// Speaks the protocol.
#[derive(Clone)]
pub struct Speaker {
    tools: Arc<Vec<ToolSpec>>,
    jobs: Sender<QueuedCall>,
}

impl Speaker {
    /// Offers tools; calls of them go to `jobs`.
    pub fn new(tools: Vec<ToolSpec>, jobs: Sender<QueuedCall>) -> Self {
        Self { tools: Arc::new(tools), jobs }
    }

    /// Serves standard input and output to its end.
    ///
    /// # Errors
    /// The streams fail.
    pub async fn stdio(self) -> io::Result<()> {
        let (input, output) = rmcp::transport::stdio();
        let input = WatchedInput { input, line: Vec::new() };
        let serving = self.serve((input, output)).await.map_err(|error| match error {
            ServerInitializeError::ConnectionClosed(_) => {
                io::Error::other("the input ended before a client sent `initialize`")
            }
            error => io::Error::other(error),
        })?;
        serving.waiting().await.map_err(io::Error::other)?;
        Ok(())
    }

    /// Serves HTTP at `/mcp` until the future is dropped.
    ///
    /// # Errors
    /// The listener fails.
    pub async fn http(self, listener: TcpListener) -> io::Result<()> {
        let local: SocketAddr = listener.local_addr()?;
        let config = StreamableHttpServerConfig::default();
        let config = match local.ip().is_loopback() {
            // Only names of this machine are answered: pages of others cannot reach it by a name of theirs.
            true => config,
            false => config.disable_allowed_hosts(),
        };
        let service = StreamableHttpService::new(
            move || Ok(self.clone()),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        loop {
            let (stream, _) = listener.accept().await?;
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                let connection = hyper::server::conn::http1::Builder::new();
                // A client that goes away is no failure of ours.
                let _ = connection.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    }
}

/// Input that reports lines that are no JSON on standard error. The library ignores them without a reply, so that two
/// programs never answer each other's errors.
struct WatchedInput {
    input: tokio::io::Stdin,
    /// The part of a line that was read, up to [`LONGEST`].
    line: Vec<u8>,
}

/// Bytes of the longest line that is looked at, as the library's own limit.
const LONGEST: usize = rmcp::transport::async_rw::DEFAULT_MAX_LINE_LENGTH;

impl WatchedInput {
    fn watch(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LONGEST.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                self.report();
                self.line.clear();
            }
        }
    }

    fn report(&self) {
        let line = self.line.trim_ascii();
        if line.is_empty() || self.line.len() >= LONGEST {
            return;
        }
        if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(line) {
            let shown: String = String::from_utf8_lossy(line).chars().take(80).collect();
            let message =
                format!("a line of the input is no JSON and is ignored: {error}: {shown:?}");
            // Nobody can be told that it failed.
            let _ = writeln!(io::stderr(), "gistify: {message}");
        }
    }
}

impl AsyncRead for WatchedInput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.input).poll_read(context, buffer);
        self.watch(&buffer.filled()[before..]);
        read
    }
}

impl ServerHandler for Speaker {
    fn get_info(&self) -> ServerConfig {
        let us = Implementation::new("gistify", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_server_info(us)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |tool: &ToolSpec| {
            let schema = tool.parameters.as_object().cloned().unwrap_or_default();
            Tool::new(tool.name.clone(), tool.description.clone(), Arc::new(schema))
        };
        Ok(ListToolsResult::with_all_items(self.tools.iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.tools.iter().any(|tool| tool.name == request.name) {
            let known: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            let text = format!("no tool {:?} (there are {})", request.name, known.join(", "));
            return Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into());
        }
        let gone = || ErrorData::internal_error("the session is over", None);
        let (reply, replied) = oneshot::channel();
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let job = QueuedCall { tool: request.name.into_owned(), arguments, reply };
        self.jobs.send(job).map_err(|_| gone())?;
        let result = match replied.await.map_err(|_| gone())? {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        };
        Ok(result.into())
    }
}
