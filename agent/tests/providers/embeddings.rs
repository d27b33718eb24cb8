//! Vectors of a provider's in the place of shared words.

use gistify::SimilarityMeasure;

use super::*;

fn order(
    ranking: &mut SimilarityMeasure,
    texts: &[&str],
    question: &str,
) -> Result<Vec<usize>, ModelError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let order = runtime.block_on(ranking.order(texts, question))?;
    Ok(order.into_iter().map(|(at, _)| at).collect())
}

fn vectors(all: &[(usize, [f64; 2])]) -> Does {
    let data = all.iter().map(|(index, vector)| json!({ "index": index, "embedding": vector }));
    let data: Vec<Value> = data.collect();
    let usage = json!({ "prompt_tokens": 30, "total_tokens": 30 });
    Does::Answer(200, JSON, json!({ "data": data, "usage": usage }).to_string())
}

#[test]
fn texts_are_ordered_by_what_they_mean() {
    // Sent sorted: "cat", "kitten", "stock", each in another order than it came back in.
    let all = [(2, [0.0, 1.0]), (0, [1.0, 0.1]), (1, [1.0, 0.0])];
    let down = Does::Answer(503, "", "down".to_owned());
    let server = Server::start(vec![down, vectors(&all)]);
    let sets = ["context.ranking=embeddings", "model.total_tokens=40"];
    let supply = supply(&server, "offline", &sets);
    let (_, mut ranking) = supply.open(Path::new("")).unwrap();
    assert_eq!(order(&mut ranking, &["stock", "cat"], "kitten"), Ok(vec![1, 0]));
    assert_eq!(supply.spent().check(), Ok(()));
    // What is known is not asked for again.
    assert_eq!(order(&mut ranking, &["cat", "stock", " "], "kitten"), Ok(vec![0, 1, 2]));
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen[1].head.contains("POST /v1/embeddings"));
    let body: Value = serde_json::from_str(&seen[1].body).unwrap();
    assert_eq!(body["model"], "text-embedding-3-small");
    assert_eq!(body["input"], json!(["cat", "kitten", "stock"]));
    // 30 tokens, at 0.02 dollars for a million.
    let account = ranking.account().unwrap();
    let cost = *account.lock().unwrap();
    assert_eq!((cost.tokens, cost.price), (30, Some(30.0 * 0.02 / 1e6)));
}

#[test]
fn as_many_texts_are_embedded_as_the_setting_says() {
    let both = |count: usize| {
        let all: Vec<(usize, [f64; 2])> = (0..count).map(|at| (at, [1.0, 0.0])).collect();
        vectors(&all)
    };
    let server = Server::start(vec![both(2), both(2)]);
    let sets = ["context.ranking=embeddings", "context.embedded_texts=1"];
    let supply = supply(&server, "offline", &sets);
    let (_, mut ranking) = supply.open(Path::new("")).unwrap();
    // Of both texts the one with the word is sent, then the other one as well.
    assert_eq!(order(&mut ranking, &["stock", "a cat"], "cat"), Ok(vec![1, 0]));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let all = runtime.block_on(ranking.order_all(&["stock", "a cat", "bond"], "cat")).unwrap();
    assert_eq!(all.len(), 3);
    let input = |at: usize| {
        let body: Value = serde_json::from_str(&server.seen()[at].body).unwrap();
        body["input"].clone()
    };
    assert_eq!((input(0), input(1)), (json!(["a cat", "cat"]), json!(["bond", "stock"])));
}

#[test]
fn vectors_that_do_not_come_are_a_failure() {
    let server = Server::start(vec![vectors(&[(0, [1.0, 0.0])])]);
    let supply = supply(&server, "offline", &["context.ranking=embeddings"]);
    let (_, mut ranking) = supply.open(Path::new("")).unwrap();
    let error = order(&mut ranking, &["a"], "b").unwrap_err().to_string();
    assert_eq!(
        error,
        "the provider's answer for 2 texts has vectors that are missing or differ in length"
    );
}

#[test]
fn words_need_nobody() {
    let server = Server::start(vec![hello()]);
    let supply = supply(&server, "offline", &[]);
    let (_, mut ranking) = supply.open(Path::new("")).unwrap();
    assert_eq!(order(&mut ranking, &["a stock", "a cat"], "the cat"), Ok(vec![1, 0]));
    assert!(server.seen().is_empty());
}
