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

/// A first look must fit into three minutes; the rest has places of its own.
const README_WORDS_MAX: usize = 1_000;

#[test]
fn the_readme_is_short_and_leads_to_every_document() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect("it is there");
    let words = read("README.md").split_whitespace().count();
    assert!(words <= README_WORDS_MAX, "README.md has {words} words; move some to docs/");
    let index = read("docs/README.md");
    let linked: Vec<_> = links(&index).into_iter().map(|(_, target)| target).collect();
    let found: Vec<_> = documents()
        .into_iter()
        .filter_map(|file| file.path.strip_prefix("docs/").map(str::to_owned))
        .filter(|name| name != "README.md" && !linked.contains(name))
        .collect();
    expect_none("docs/README.md does not lead to these documents", &found);
}

/// Comments cite the specification by its headings, which have to be in docs/specification.md.
#[test]
fn every_citation_of_the_specification_names_one_of_its_headings() {
    let specification = std::fs::read_to_string(root().join("docs/specification.md"));
    let specification = specification.expect("the specification is part of the repository");
    let headings: Vec<_> = specification
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim_start())
        .collect();
    let (mut found, mut count) = (Vec::new(), 0);
    for file in files().into_iter().filter(|file| !file.path.ends_with(".md")) {
        for cited in citations(&file.text) {
            count += 1;
            if !headings.iter().any(|heading| heading.starts_with(cited)) {
                found.push(format!("{} {cited:?}", file.path));
            }
        }
    }
    assert!(count > 30, "only {count} citations were found");
    expect_none("docs/specification.md has no such heading", &found);
}

fn citations(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("(spec, \"").skip(1);
    parts.map(|rest| rest.split('"').next().unwrap_or(rest))
}

/// `GATEWAY_<SECTION>__<KEY>` in a document is a setting that the configuration reads.
#[test]
fn every_setting_that_a_document_names_exists() {
    let configuration: String = files()
        .into_iter()
        .filter(|file| file.path.starts_with("src/config/"))
        .map(|file| file.text)
        .collect();
    let (mut found, mut count) = (Vec::new(), 0);
    for document in documents() {
        for name in settings(&document.text) {
            count += 1;
            // A key of a section, or of a part of one: CHAINS__POLYGON__RPC_URL.
            let (section, key) = name.rsplit_once("__").expect("a section and a key");
            let (section, key) = (section.replace("__", ".").to_lowercase(), key.to_lowercase());
            let is_key =
                [":", " ="].iter().any(|mark| configuration.contains(&format!("{key}{mark}")));
            if !is_key || !configuration.contains(&section) {
                found.push(format!("{} GATEWAY_{name}", document.path));
            }
        }
    }
    assert!(count > 10, "only {count} settings were found");
    expect_none("src/config/ reads no such setting", &found);
}

fn settings(text: &str) -> impl Iterator<Item = &str> {
    let names = text.split("GATEWAY_").skip(1).map(|rest| {
        rest.split(|c: char| !c.is_ascii_uppercase() && c != '_').next().unwrap_or(rest)
    });
    names.filter(|name| name.split_once("__").is_some_and(|(_, key)| !key.is_empty()))
}

/// A path in backquotes has to exist, from the root or from the document's folder.
#[test]
fn every_path_that_a_document_names_exists() {
    let (mut found, mut count) = (Vec::new(), 0);
    for document in documents() {
        for (line, path) in paths(&document.text) {
            count += 1;
            let beside = root().join(&document.path).with_file_name(path);
            if !root().join(path).exists() && !beside.exists() {
                found.push(format!("{}:{line} {path}", document.path));
            }
        }
    }
    assert!(count > 50, "only {count} paths were found");
    expect_none("these files are not there", &found);
}

/// Folders whose files documents name from the root of the repository.
const FOLDERS: [&str; 8] =
    ["src/", "api/", "workers/", "tests/", "docs/", "deploy/", "examples/", "scripts/"];

/// Paths from the root between backquotes, up to the name of a test behind them.
fn paths(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(index, line)| {
        let code = line.split('`').skip(1).step_by(2);
        let paths = code.filter(|code| FOLDERS.iter().any(|folder| code.starts_with(folder)));
        let plain = paths.filter(|path| !path.contains(['*', '<', '{', ' ', '…']));
        plain.map(move |path| (index + 1, path.split("::").next().unwrap_or(path)))
    })
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
            rest.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-')
                .next()
                .unwrap_or(rest)
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
    let cited: Vec<_> = citations("one (spec, \"Limits\"), two (spec, \"Events\")").collect();
    assert_eq!(cited, ["Limits", "Events"]);
    let named = settings("`GATEWAY_API__LISTEN=…` or GATEWAY_MASTER_KEY, GATEWAY_<A>__<B>");
    assert_eq!(named.collect::<Vec<_>>(), ["API__LISTEN"]);
    let named = paths("in `src/a.rs::b` or `src/*.rs`\n`tests/c`, src/d");
    assert_eq!(named.collect::<Vec<_>>(), [(1, "src/a.rs"), (2, "tests/c")]);
    assert_eq!(slug("## The `step` function, twice"), "the-step-function-twice");
    assert_eq!(
        make_targets("`make up` and `make test-faults`; to make money"),
        ["up", "test-faults"]
    );
}
