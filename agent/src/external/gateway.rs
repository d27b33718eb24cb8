//! The gateway: the only way of an external program to a model. It speaks OpenAI's chat completions on a
//! socket, counts tokens, keeps the caps of a session and records what is said.
//!
//! Requests are answered one after the other. A cap that is reached refuses everything from then on.

use std::{io, os::unix::net::UnixListener as StdListener, pin::Pin, rc::Rc, time::Duration};

use http::{Method, Response, StatusCode, header};
use hyper::{
    body::{Body, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::UnixListener, sync::Mutex, task::LocalSet};
use tools::Interrupt;

use super::chat::{answered, read_request, streamed};
use crate::{
    config::SessionLimits,
    message::Message,
    model::{Model, ModelError, ModelRequest, Spent},
    outcome::Outcome,
    trajectory::Trajectory,
};

/// The state behind the answers of a gateway.
pub struct Gateway<'a> {
    /// The model.
    pub model: Box<dyn Model>,
    /// The record.
    pub trajectory: Trajectory,
    /// The caps of this session.
    pub limits: &'a SessionLimits,
    /// The caps of all sessions.
    pub spent: &'a Spent,
    /// Messages of the conversation that are in the record.
    pub recorded: usize,
    /// Why nothing more is answered.
    pub refused: Option<Outcome>,
}

/// Bytes of a request that are read at most.
const LARGEST: usize = 64 << 20;

/// Answers on a socket until it is stopped; returns the gateway.
///
/// # Errors
/// The system refuses a loop or the socket.
pub fn serve<'a>(
    gateway: Gateway<'a>,
    listener: StdListener,
    stop: &Interrupt,
) -> io::Result<Gateway<'a>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let gateway = Rc::new(Mutex::new(Some(gateway)));
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        // Tasks of connections borrow for as long as the set lives, so they are kept in this scope.
        let mut open = futures_util::stream::FuturesUnordered::new();
        loop {
            use futures_util::StreamExt;
            tokio::select! {
                accepted = listener.accept() => {
                    let Ok((stream, _)) = accepted else { continue };
                    let gateway = Rc::clone(&gateway);
                    open.push(async move {
                        let answer = service_fn(move |request| {
                            let gateway = Rc::clone(&gateway);
                            async move { Ok::<_, std::convert::Infallible>(answer(&gateway, request).await) }
                        });
                        // A program that goes away is no trouble of ours.
                        drop(http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await);
                    });
                }
                Some(()) = open.next(), if !open.is_empty() => {}
                () = tokio::time::sleep(Duration::from_millis(50)) => {}
            }
            if stop.is_triggered() {
                return Ok::<_, io::Error>(());
            }
        }
    })?;
    let gateway = gateway.try_lock().ok().and_then(|mut held| held.take());
    gateway.ok_or_else(|| io::Error::other("the gateway is still at work"))
}

async fn answer(
    gateway: &Mutex<Option<Gateway<'_>>>,
    request: http::Request<Incoming>,
) -> Response<String> {
    let mut held = gateway.lock().await;
    let Some(gateway) = held.as_mut() else { return refuse(StatusCode::GONE, "it has ended") };
    let path = request.uri().path().trim_start_matches("/v1").to_owned();
    match (request.method(), path.as_str()) {
        (&Method::GET, "/models") => {
            let model = json!({ "id": gateway.model.name(), "object": "model" });
            respond(StatusCode::OK, "application/json", json!({ "data": [model] }).to_string())
        }
        (&Method::POST, "/chat/completions") => match read(request.into_body()).await {
            Ok(body) => gateway.complete(&body).await,
            Err(message) => refuse(StatusCode::BAD_REQUEST, &message),
        },
        _ => refuse(StatusCode::NOT_FOUND, "there are /v1/chat/completions and /v1/models"),
    }
}

impl Gateway<'_> {
    async fn complete(&mut self, body: &[u8]) -> Response<String> {
        let asked = match read_request(body) {
            Ok(asked) => asked,
            Err(message) => return refuse(StatusCode::BAD_REQUEST, &message),
        };
        if let Some(outcome) = self.refused.clone().or_else(|| self.reached()) {
            // A status that clients do not try again.
            let answer = refuse(StatusCode::FORBIDDEN, &outcome.to_string());
            self.refused = Some(outcome);
            return answer;
        }
        if let Err(error) = self.note(&asked.messages) {
            return refuse(StatusCode::INTERNAL_SERVER_ERROR, &error);
        }
        let request = ModelRequest { messages: &asked.messages, tools: &asked.tools };
        match self.model.answer(request).await {
            Ok(answer) => {
                if let Err(error) = self.trajectory.append(&Message::Assistant(answer.clone())) {
                    return refuse(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string());
                }
                let (model, number) = (self.model.name(), self.trajectory.steps());
                match asked.stream {
                    true => {
                        let text = streamed(&answer, model, number);
                        respond(StatusCode::OK, "text/event-stream", text)
                    }
                    false => {
                        let text = answered(&answer, model, number).to_string();
                        respond(StatusCode::OK, "application/json", text)
                    }
                }
            }
            Err(error) => {
                let message = error.to_string();
                let outcome = match error {
                    ModelError::Failed(message) => Outcome::ModelFailure { message },
                    ModelError::Paused(message) => Outcome::Paused { message },
                    ModelError::TooLong(message) => Outcome::ContextLimit { message },
                };
                self.refused = Some(outcome);
                refuse(StatusCode::FORBIDDEN, &message)
            }
        }
    }

    /// The cap that is reached, if one is.
    fn reached(&self) -> Option<Outcome> {
        let (limits, trajectory) = (self.limits, &self.trajectory);
        if trajectory.steps() >= limits.steps {
            Some(Outcome::StepLimit)
        } else if trajectory.usage().total() >= limits.tokens {
            Some(Outcome::TokenLimit)
        } else if limits.cost > 0.0 && trajectory.cost().unwrap_or(0.0) >= limits.cost {
            Some(Outcome::CostLimit)
        } else {
            self.spent.check().err()
        }
    }

    /// Records the new messages of a conversation, except for answers, which are recorded already.
    /// A conversation shorter than before is a new one.
    fn note(&mut self, messages: &[Message]) -> Result<(), String> {
        if messages.len() < self.recorded {
            self.recorded = 0;
        }
        for message in &messages[self.recorded..] {
            if !matches!(message, Message::Assistant(_)) {
                self.trajectory.append(message).map_err(|error| error.to_string())?;
            }
        }
        self.recorded = messages.len();
        Ok(())
    }
}

async fn read(mut body: Incoming) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(frame) =
        std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
    {
        let frame = frame.map_err(|error| error.to_string())?;
        bytes.extend(frame.data_ref().map(|data| data.as_ref()).unwrap_or_default());
        if bytes.len() > LARGEST {
            return Err("the request is too large".to_owned());
        }
    }
    Ok(bytes)
}

fn refuse(status: StatusCode, message: &str) -> Response<String> {
    let error: Value = json!({ "error": { "message": message, "type": "gistify", "code": null } });
    respond(status, "application/json", error.to_string())
}

fn respond(status: StatusCode, kind: &str, text: String) -> Response<String> {
    let answer = Response::builder().status(status).header(header::CONTENT_TYPE, kind);
    answer.body(text).expect("names and values are fixed")
}
