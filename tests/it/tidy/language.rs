//! The language of comments and identifiers: standard terms, short lines, and doc comments that
//! begin with a noun or a verb. `docs/glossary.md` has the terms.

use super::{
    expect_none,
    tree::{Source, sources, take_apart},
};

const COLUMNS_MAX: usize = 100;

#[test]
fn no_comment_is_wider_than_100_columns() {
    let found: Vec<_> = sources().iter().flat_map(too_wide).collect();
    expect_none("break these lines at 100 columns", &found);
}

fn too_wide(source: &Source) -> Vec<String> {
    // The lexer replaces each character by one, so the code is as wide as the text was.
    let lines: Vec<_> = source.code.lines().collect();
    let width = |line: usize| lines.get(line - 1).map_or(0, |line| line.chars().count());
    let comments = source.comments.iter().map(|(line, _)| (*line, width(*line)));
    let wide = comments.filter(|(_, width)| *width > COLUMNS_MAX);
    wide.map(|(line, width)| format!("{}:{line} {width} columns", source.path)).collect()
}

/// Words that this project once used in a meaning of its own, with the term of the field.
const METAPHORS: &[(&[&str], &str)] = &[
    (&["usurp"], "conflict with, double-spend"),
    (&["usurper"], "conflicting transaction"),
    (&["purse"], "spendable outputs"),
    (&["pull", "along"], "bump with a child (CPFP)"),
    (&["pulls", "along"], "bumps with a child (CPFP)"),
    (&["pulled", "along"], "bumped with a child (CPFP)"),
    (&["heir"], "successor"),
    (&["crumb"], "remainder"),
    (&["crumbs"], "remainder"),
    (&["door"], "listener"),
    (&["doors"], "listeners"),
    (&["drawer"], "generic name"),
    (&["needs", "a", "person"], "requires action by an operator"),
];

#[test]
fn comments_and_identifiers_use_no_private_metaphors() {
    let found: Vec<_> = sources().iter().flat_map(metaphors).collect();
    expect_none("use the term of the field (docs/glossary.md)", &found);
}

fn metaphors(source: &Source) -> Vec<String> {
    let code = source.code.lines().enumerate().map(|(index, text)| (index + 1, text));
    let comments = source.comments.iter().map(|(line, text)| (*line, text.as_str()));
    let mut found = Vec::new();
    for (line, text) in code.chain(comments) {
        let words = words(text);
        for (metaphor, term) in METAPHORS {
            if words.windows(metaphor.len()).any(|these| these == *metaphor) {
                let path = &source.path;
                found.push(format!("{path}:{line} \"{}\": {term}", metaphor.join(" ")));
            }
        }
    }
    found
}

/// The words of a line in lower case, with names taken apart: `read_all` and `ReadAll` are two.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last_is_lower = false;
    for letter in text.chars() {
        let begins = last_is_lower && letter.is_uppercase();
        if (begins || !letter.is_alphabetic()) && words.last().is_some_and(|word| !word.is_empty())
        {
            words.push(String::new());
        }
        if letter.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        last_is_lower = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Occurrences that 1,000 words of comments may have. A sentence that needs such a word often hides
/// its subject or its verb.
const PER_THOUSAND: [(&str, usize); 4] = [("what", 3), ("who", 1), ("tell", 1), ("nobody", 1)];

#[test]
fn comments_name_their_subjects() {
    let sources = sources();
    let total: usize = sources.iter().flat_map(|source| &source.comments).map(count).sum();
    assert!(total > 10_000, "only {total} words of comments were found");
    for (word, most) in PER_THOUSAND {
        let found: Vec<_> = sources.iter().flat_map(|source| uses(source, word)).collect();
        if found.len() * 1_000 > most * total {
            let number = found.len();
            let rule = format!("{number} times \"{word}\" in {total} words; name the subject");
            expect_none(&rule, &found);
        }
    }
}

fn count((_, text): &(usize, String)) -> usize {
    words(text).len()
}

fn uses(source: &Source, word: &str) -> Vec<String> {
    let comments = source.comments.iter();
    let used = comments.filter(|(_, text)| words(text).iter().any(|other| other == word));
    used.map(|(line, text)| format!("{}:{line} {}", source.path, text.trim())).collect()
}

/// Share of doc comments that may open with one of [`QUESTIONS`].
const QUESTIONS_PERCENT_MAX: usize = 4;
const QUESTIONS: [&str; 4] = ["What", "Whether", "Who", "How"];

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    let blocks: Vec<_> = sources().iter().flat_map(openings).collect();
    let asks = |(_, text): &&(String, String)| {
        QUESTIONS.contains(&text.split([' ', ',']).next().unwrap_or_default())
    };
    let found: Vec<_> =
        blocks.iter().filter(asks).map(|(at, text)| format!("{at} {text}")).collect();
    assert!(blocks.len() > 1_000, "only {} doc comments were found", blocks.len());
    if found.len() * 100 > QUESTIONS_PERCENT_MAX * blocks.len() {
        expect_none("begin these with a noun or a verb", &found);
    }
}

/// The first line of each doc comment, with its place.
fn openings(source: &Source) -> Vec<(String, String)> {
    let mut openings = Vec::new();
    let mut last: Option<(usize, &str)> = None;
    for (line, text) in &source.comments {
        let marker = ["///", "//!"].into_iter().find(|marker| text.starts_with(marker));
        let Some(marker) = marker.filter(|_| !text.starts_with("////")) else { continue };
        if last != Some((line - 1, marker)) {
            let text = text[marker.len()..].trim().to_owned();
            openings.push((format!("{}:{line}", source.path), text));
        }
        last = Some((*line, marker));
    }
    openings
}

#[test]
fn faults_of_language_would_be_found() {
    let wide = format!("{}// wide", " ".repeat(COLUMNS_MAX));
    let text = format!(
        "//! How it goes.\n//! On.\nfn a() {{ b(\"purse // what\"); }}\n/// What a purse is.\n\
         fn pull_along() {{}} // nobody\nstruct TheUsurper;\n{wide}\n"
    );
    let source = take_apart("src/x.rs".into(), &text);
    assert_eq!(too_wide(&source), ["src/x.rs:7 107 columns"]);
    let found: Vec<_> =
        metaphors(&source).iter().map(|line| line.split(':').take(2).collect::<String>()).collect();
    let expected = ["src/x.rs5 \"pull along\"", "src/x.rs6 \"usurper\"", "src/x.rs4 \"purse\""];
    assert_eq!(found, expected);
    assert_eq!(uses(&source, "what"), ["src/x.rs:4 /// What a purse is."]);
    assert_eq!(uses(&source, "nobody"), ["src/x.rs:5 // nobody"]);
    let opened: Vec<_> = openings(&source).into_iter().map(|(at, text)| at + " " + &text).collect();
    assert_eq!(opened, ["src/x.rs:1 How it goes.", "src/x.rs:4 What a purse is."]);
}
