//! Rules for secrets: generation, comparison, and absence from statements, as far as text can show.

use super::{expect_none, tree::sources};

/// Exempt, because the timing cannot be measured: a program checks its own settings, once, when it
/// starts.
const AT_START: &str = "src/config/check.rs";

/// A comparison that ends at the first difference reveals by its timing how much of a guess was
/// right.
#[test]
fn no_secret_is_compared_with_an_ordinary_operator() {
    let compares = |line: &str| {
        let secret =
            ["reveal()", "expose_secret()", "signature"].iter().any(|name| line.contains(name));
        secret && (line.contains(" == ") || line.contains(" != ") || line.contains(".eq("))
    };
    let found: Vec<_> = sources()
        .iter()
        .filter(|source| {
            source.is_under(&["src/", "api/", "dashboard/", "workers/"]) && !source.is_test
        })
        .filter(|source| source.path != AT_START)
        .flat_map(|source| source.lines(compares))
        .collect();
    expect_none("compare with subtle, or look the hash up", &found);
}

/// Keys, secrets and bearer ids come only from the operating system's randomness; seeded values can
/// be guessed.
#[test]
fn nothing_random_is_seeded() {
    const SEEDED: [&str; 8] = [
        "SmallRng",
        "StdRng",
        "ChaCha",
        "seed_from_u64",
        "from_seed",
        "fastrand",
        "oorandom",
        "Pcg",
    ];
    // A cipher's name, not a generator's.
    let draws = |line: &str| {
        SEEDED.iter().any(|name| line.contains(name)) && !line.contains("ChaCha20Poly1305")
    };
    let found: Vec<_> = sources()
        .iter()
        .filter(|source| {
            source.is_under(&["src/", "api/", "dashboard/", "workers/"]) && !source.is_test
        })
        .flat_map(|source| source.lines(draws))
        .collect();
    expect_none("use rand::rng(), which the operating system seeds", &found);
}

/// Composes one statement, which names an index of a migration's own file: names cannot be bound.
const COMPOSED: &str = "src/storage/migrations.rs";

/// sqlx accepts only static text, unless the text is marked as safe.
#[test]
fn no_statement_is_put_together_from_text() {
    let found: Vec<_> = sources()
        .iter()
        .filter(|source| source.is_under(&["src/", "api/", "dashboard/", "workers/"]))
        .flat_map(|source| {
            source.lines(|line| line.contains("AssertSqlSafe") || line.contains("raw_sql"))
        })
        .collect();
    let (composed, found): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|line| line.starts_with(COMPOSED));
    expect_none("bind values; list the allowed orders", &found);
    assert_eq!(composed.len(), 2, "the import and its one use: {composed:?}");
}
