//! Ranks texts by their similarity to a question: by their words, or by their meaning.
//!
//! It only orders; the callers select.

use crate::{
    chunks::ranked,
    model::{Embeddings, ModelError},
    trajectory::EmbeddingAccount,
};

/// The measure of similarity between a text and a question.
pub enum SimilarityMeasure {
    /// By words that they share (BM25).
    Words,
    /// By vectors of a model.
    Meaning {
        /// The model.
        embeddings: Box<Embeddings>,
        /// Texts that are sent to it for one question at most, those with the likeliest words.
        most: usize,
    },
}

impl SimilarityMeasure {
    /// The account of its vectors, if it compares by meaning.
    pub fn account(&self) -> Option<EmbeddingAccount> {
        match self {
            Self::Words => None,
            Self::Meaning { embeddings, .. } => Some(embeddings.account()),
        }
    }

    /// Texts by their likeness to a question, the most alike first: index and score. Equals keep their
    /// order; what is not alike at all has no score above 0.
    ///
    /// # Errors
    /// The provider gives no vectors.
    pub async fn order(
        &mut self,
        texts: &[&str],
        question: &str,
    ) -> Result<Vec<(usize, f64)>, ModelError> {
        let most = match self {
            Self::Words => 0,
            Self::Meaning { most, .. } => *most,
        };
        self.order_by(texts, question, most).await
    }

    /// The same with all texts compared, however many there are.
    ///
    /// # Errors
    /// The provider gives no vectors.
    pub async fn order_all(
        &mut self,
        texts: &[&str],
        question: &str,
    ) -> Result<Vec<(usize, f64)>, ModelError> {
        self.order_by(texts, question, usize::MAX).await
    }

    async fn order_by(
        &mut self,
        texts: &[&str],
        question: &str,
        most: usize,
    ) -> Result<Vec<(usize, f64)>, ModelError> {
        let by_words = ranked(texts, question);
        let Self::Meaning { embeddings, .. } = self else { return Ok(by_words) };
        // Providers refuse empty texts.
        let compared = by_words.iter().map(|(at, _)| *at);
        let compared = compared.filter(|at| !texts[*at].trim().is_empty()).take(most);
        let mut compared: Vec<usize> = compared.collect();
        compared.sort_unstable();
        let mut sent: Vec<&str> = compared.iter().map(|at| texts[*at]).collect();
        if sent.is_empty() {
            return Ok(by_words);
        }
        sent.push(if question.trim().is_empty() { "?" } else { question });
        let vectors = embeddings.of(&sent).await?;
        let Some((asked, vectors)) = vectors.split_last() else { return Ok(by_words) };
        let mut scores = vec![0.0; texts.len()];
        for (at, vector) in compared.iter().zip(vectors) {
            scores[*at] = cosine(vector, asked);
        }
        let mut order: Vec<(usize, f64)> = scores.into_iter().enumerate().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(order)
    }
}

impl std::fmt::Debug for SimilarityMeasure {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Words => "Words",
            Self::Meaning { .. } => "Meaning",
        })
    }
}

/// The cosine of the angle between two vectors of one length; 0 where one has none.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
}
