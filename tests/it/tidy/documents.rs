//! Documents: their links resolve and the commands that they name exist.

use super::{
    expect_none,
    tree::{File, files, root},
};

fn documents() -> Vec<File> {
    files().into_iter().filter(|file| file.path.ends_with(".md")).collect()
}

#[test]
fn no_link_is_dead() {
    let mut found = Vec::new();
    for document in documents() {
        for (line, target) in links(&document.text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = root().join(&document.path);
            let file = if path.is_empty() { folder } else { folder.with_file_name("").join(path) };
            let heading_exists = || {
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                text.lines().any(|line| line.starts_with('#') && slug(line) == anchor)
            };
            if !file.exists() || !(anchor.is_empty() || heading_exists()) {
                found.push(format!("{}:{line} {target}", document.path));
            }
        }
    }
    expect_none("these links lead nowhere", &found);
}

#[test]
fn every_make_command_in_a_document_exists() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).expect("there is a Makefile");
    let mut found = Vec::new();
    for document in documents() {
        for (index, line) in document.text.lines().enumerate() {
            for target in make_targets(line) {
                if !makefile.contains(&format!("\n{target}:")) {
                    found.push(format!("{}:{} make {target}", document.path, index + 1));
                }
            }
        }
    }
    expect_none("the Makefile has no such target", &found);
}

/// Only commands marked as code: "to make money" is a sentence.
fn make_targets(line: &str) -> Vec<&str> {
    line.match_indices("make ")
        .filter(|(at, _)| {
            line[..*at].is_empty()
                || line[..*at].ends_with(['`', '$'])
                || line[..*at].ends_with("$ ")
        })
        .map(|(at, mark)| {
            let rest = &line[at + mark.len()..];
            rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap_or(rest)
        })
        .filter(|target| !target.is_empty())
        .collect()
}

/// `](target)` outside code blocks, with its line.
fn links(text: &str) -> Vec<(usize, String)> {
    let (mut links, mut in_code) = (Vec::new(), false);
    for (index, line) in text.lines().enumerate() {
        in_code ^= line.trim_start().starts_with("```");
        if in_code {
            continue;
        }
        for part in line.split("](").skip(1) {
            let target = part.split([')', ' ']).next().unwrap_or(part);
            links.push((index + 1, target.to_owned()));
        }
    }
    links
}

/// GitHub's anchor of a heading.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-' || *c == '_')
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[test]
fn dead_links_and_unknown_commands_would_be_found() {
    let text = "see [a](b.md#c-d) and ![e](f.png)\n```\n[no](link)\n```\n";
    assert_eq!(links(text), [(1, "b.md#c-d".to_owned()), (1, "f.png".to_owned())]);
    assert_eq!(slug("## The `step` function, twice"), "the-step-function-twice");
    assert_eq!(
        make_targets("`make up` and `make test-faults`; to make money"),
        ["up", "test-faults"]
    );
}
