//! Serves a session's tools over the Model Context Protocol, for other clients.
//!
//! Calls are passed to the owner of the session, one at a time and in order; this module only
//! implements the protocol. The HTTP server answers hosts of this machine alone.

use std::{io, net::SocketAddr, sync::Arc, sync::mpsc::Sender};

use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use rmcp::{
    ErrorData, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::{RequestContext, RoleServer},
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use serde_json::Value;
use tokio::{net::TcpListener, sync::oneshot};

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
        let serving = self.serve(rmcp::transport::stdio()).await.map_err(io::Error::other)?;
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
