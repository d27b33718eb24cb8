//! OpenAI's embeddings: vectors of texts. Texts of similar meaning have vectors of similar direction.
//!
//! A text is requested once in a session. The callers use the vectors.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_openai::Client;
use serde_json::{Value, json};

use super::{
    super::{
        ModelError,
        connection::Connection,
        pace::Spent,
        prices::Price,
        retry::{ExchangeFailure, persist},
        wire::failure_of_error,
    },
    Endpoint, Form, client, failure,
};
use crate::{
    message::TokenUsage,
    trajectory::{EmbeddingAccount, EmbeddingCost},
};

/// A client of an embedding model, with a cache of vectors by text.
pub struct Embeddings {
    connection: Connection,
    client: Client<Endpoint>,
    spent: Arc<Spent>,
    price: Option<Price>,
    account: EmbeddingAccount,
    known: HashMap<String, Vec<f32>>,
}

/// Texts of one request.
const TOGETHER: usize = 128;

impl Embeddings {
    /// Returns a model of a provider; its usage is added to the account of all sessions.
    pub fn new(connection: Connection, spent: Arc<Spent>, price: Option<Price>) -> Self {
        let client = client(&connection, Form::Whole);
        let account = EmbeddingCost { tokens: 0, price: price.map(|_| 0.0) };
        let account = Arc::new(Mutex::new(account));
        Self { connection, client, spent, price, account, known: HashMap::new() }
    }

    /// The account of its session.
    pub fn account(&self) -> EmbeddingAccount {
        Arc::clone(&self.account)
    }

    /// The vectors of texts, in their order.
    ///
    /// # Errors
    /// The provider fails or returns no usable vectors, also after retries.
    pub async fn of(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut open: Vec<&str> =
            texts.iter().copied().filter(|text| !self.known.contains_key(*text)).collect();
        open.sort_unstable();
        open.dedup();
        for texts in open.chunks(TOGETHER) {
            let body = json!({
                "model": self.connection.model,
                "input": texts,
                "encoding_format": "float",
            });
            let ask = || self.ask(&body, texts.len());
            let (vectors, usage) = persist(&self.connection.settings, ask).await?;
            let cost = self.price.map(|price| price.cost(usage));
            self.spent.took(usage.total(), cost.unwrap_or(0.0));
            let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
            account.tokens += usage.input;
            account.price = account.price.zip(cost).map(|(sum, cost)| sum + cost);
            drop(account);
            self.known.extend(texts.iter().map(|text| (*text).to_owned()).zip(vectors));
        }
        Ok(texts.iter().map(|text| self.known[*text].clone()).collect())
    }

    async fn ask(
        &self,
        body: &Value,
        texts: usize,
    ) -> Result<(Vec<Vec<f32>>, TokenUsage), ExchangeFailure> {
        let answer: Value = self.client.embeddings().create_byot(body).await.map_err(failure)?;
        if !answer["error"].is_null() {
            return Err(failure_of_error(&answer["error"]));
        }
        let mut vectors = vec![Vec::new(); texts];
        for (at, entry) in answer["data"].as_array().into_iter().flatten().enumerate() {
            let at = entry["index"].as_u64().map_or(at, |index| index as usize);
            let numbers = entry["embedding"].as_array().into_iter().flatten();
            if let Some(vector) = vectors.get_mut(at) {
                *vector = numbers.filter_map(Value::as_f64).map(|number| number as f32).collect();
            }
        }
        let length = vectors.first().map_or(0, Vec::len);
        if length == 0 || vectors.iter().any(|vector| vector.len() != length) {
            let message = format!(
                "the provider's answer for {texts} texts has vectors that are missing or differ in length"
            );
            return Err(ExchangeFailure::again(message));
        }
        let input = answer["usage"]["prompt_tokens"].as_u64().unwrap_or(0);
        Ok((vectors, TokenUsage { input, ..TokenUsage::default() }))
    }
}
