//! The many ways in which nodes say no.

/// Returns whether a node refuses an answer for its size: of a query's results, or of its bytes.
/// Waiting does not cure that.
pub fn is_too_large(message: &str) -> bool {
    const WORDS: [&str; 8] = [
        "query returned more",
        "more than 10000 results",
        "block range",
        "response size",
        "response is too large",
        "response too large",
        "result set too large",
        "too many logs",
    ];
    let message = message.to_lowercase();
    WORDS.iter().any(|word| message.contains(word))
}

/// Returns whether a node of an EVM network no longer keeps the state of the block that was asked
/// for. The codes say nothing: -32000 and -32603 stand for other faults as well.
pub fn is_state_gone(message: &str) -> bool {
    // Of go-ethereum and what descends from it (Bor, BSC), of Nethermind, Erigon, OpenEthereum and
    // Besu.
    const WORDS: [&str; 7] = [
        "missing trie node",
        "historical state",
        "no state available for block",
        "pruned history unavailable",
        "old data not available due to pruning",
        "node is running with state pruning",
        "world state unavailable",
    ];
    let message = message.to_lowercase();
    // Reth names the block in the middle.
    let is_reths = message.starts_with("state at block") && message.ends_with("is pruned");
    is_reths || WORDS.iter().any(|word| message.contains(word))
}

/// Providers agree on no code. -32005 alone is also used for a query whose answer would be too
/// large.
pub fn is_rate_limit(code: i64, message: &str) -> bool {
    const WORDS: [&str; 7] = [
        "rate limit",
        "ratelimit",
        "too many requests",
        "request limit",
        "requests per second",
        "compute units per second",
        // Tron nodes say it in place of an answer, with status 200.
        "lack of computing resources",
    ];
    let message = message.to_lowercase();
    (matches!(code, 429 | -32005 | -32029) && !is_too_large(&message))
        || WORDS.iter().any(|word| message.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_rate_limit_answer_is_recognised() {
        for (code, message, expected) in [
            (429, "", true),
            (-32005, "limit exceeded", true),
            (-32029, "", true),
            (-32000, "Too Many Requests", true),
            (-32097, "daily Rate Limit reached", true),
            (-32007, "15/second request limit reached", true),
            (0, "Error: lack of computing resources", true),
            (-32005, "query returned more than 10000 results", false),
            (-32005, "exceeds the allowed block range", false),
            (-32005, "Log response size exceeded", false),
            (-32005, "too many logs: limit exceeded", false),
            (-32601, "method not found", false),
            (-32000, "header not found", false),
        ] {
            assert_eq!(is_rate_limit(code, message), expected, "{code} {message}");
        }
    }
}
