//! Adapts async-openai for all of OpenAI's interfaces, with our own types: the addresses of
//! requests, their headers, and the meaning of a failure.
//!
//! It tolerates servers that deviate from the protocol, as far as possible. Retries, rates and
//! records are in `wire` and `retry`, which replace the library's own.

use async_openai::{Client, config::Config, error::OpenAIError, middleware::HttpRequestFactory};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use secrecy::{ExposeSecret, SecretString};

use super::{
    connection::Connection,
    retry::ExchangeFailure,
    wire::{Received, Wire},
};

mod chat;
mod embeddings;
mod responses;

pub use chat::OpenAiChat;
pub use embeddings::Embeddings;
pub use responses::OpenAiResponses;

/// The form in which the library receives a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As events; what came at once becomes one.
    Events,
    /// At once.
    Whole,
}

/// The library's client, with all that it sends going through our wire.
fn client(connection: &Connection, form: Form) -> Client<Endpoint> {
    let wire = std::sync::Arc::clone(&connection.wire);
    let http = wire.client().clone();
    // This replaces the library's own retries too: there is one policy, and it is ours.
    let service = tower::service_fn(move |request: HttpRequestFactory| {
        let wire = std::sync::Arc::clone(&wire);
        async move { send(&wire, request, form).await }
    });
    Client::build(http, Endpoint::new(connection)).with_http_service(service)
}

async fn send(
    wire: &Wire,
    request: HttpRequestFactory,
    form: Form,
) -> Result<reqwest::Response, OpenAIError> {
    let received = wire.exchange(request.build().await?).await;
    received
        .map(|received| response(&received, form))
        .map_err(|failure| OpenAIError::Boxed(Box::new(failure)))
}

/// The address and the headers of the library's requests.
struct Endpoint {
    base_url: String,
    headers: HeaderMap,
    key: SecretString,
}

impl Endpoint {
    fn new(connection: &Connection) -> Self {
        let Connection { provider, key, .. } = connection;
        let mut headers = HeaderMap::new();
        for (name, value) in &provider.headers {
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
                headers.insert(name, value);
            }
        }
        if let Some(key) = key {
            let (name, value) = match provider.key_header.as_str() {
                "bearer" => (header::AUTHORIZATION, format!("Bearer {}", key.expose_secret())),
                name => {
                    (name.parse().unwrap_or(header::AUTHORIZATION), key.expose_secret().to_owned())
                }
            };
            if let Ok(mut value) = HeaderValue::try_from(value) {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        let (base_url, key) = (provider.base_url.clone(), key.clone().unwrap_or_default());
        Self { base_url, headers, key }
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base_url
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

/// A body as the library reads it. Bytes that are no text become marks, which whoever reads the answer
/// sees.
fn response(received: &Received, form: Form) -> reqwest::Response {
    let text = String::from_utf8_lossy(&received.body);
    let body = match (form, received.kind.as_str()) {
        // A line break would end the event.
        (Form::Events, "application/json") => {
            format!("data: {}\n\n", text.replace(['\r', '\n'], " "))
        }
        (Form::Events | Form::Whole, _) => text.into_owned(),
    };
    http::Response::new(body).into()
}

fn failure(error: OpenAIError) -> ExchangeFailure {
    match error {
        OpenAIError::Boxed(error) => match error.downcast::<ExchangeFailure>() {
            Ok(failure) => *failure,
            Err(error) => ExchangeFailure::again(error.to_string()),
        },
        OpenAIError::JSONDeserialize(error, _) => {
            ExchangeFailure::again(format!("a part of the answer is no JSON: {error}"))
        }
        OpenAIError::StreamError(error) => ExchangeFailure::again(error.to_string()),
        error => ExchangeFailure::Refused(error.to_string()),
    }
}
