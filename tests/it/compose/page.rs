//! The commands of `docs/containers.md`: those that an engine would start exist, and others are
//! marked.

use support::client::ctl::Ctl;

use super::{compose, read, services};

/// Options of `docker compose exec` and `run` that the page uses; those with a value first.
const WITH_VALUE: [&str; 2] = ["--env", "--volume"];
const ALONE: [&str; 3] = ["-T", "--rm", "--no-deps"];
/// What tests run in the same form, and two programs that everybody has.
const RUN: [&str; 5] = [
    "docker compose ",
    "scripts/env.sh production ",
    "scripts/image-tree.sh ",
    "chown 10001 secrets/",
    "chmod 600 secrets/",
];

/// A block of commands: whether it is said to be run, the paragraph before it, and its lines.
fn blocks(page: &str) -> Vec<(bool, String, Vec<String>)> {
    let (mut blocks, mut before, mut ended, mut lines) =
        (Vec::new(), String::new(), false, page.lines());
    while let Some(line) = lines.next() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            let inside = lines.by_ref().map(str::trim).take_while(|line| *line != "```");
            let inside = inside.map(ToOwned::to_owned).collect();
            blocks.push((language == "sh", before.clone(), inside));
        } else if line.is_empty() {
            ended = true;
        } else {
            if std::mem::take(&mut ended) {
                before.clear();
            }
            before.push_str(line);
        }
    }
    blocks
}

/// Service and arguments of `docker compose exec|run … SERVICE gatewayctl …`.
fn started(line: &str) -> Option<(String, Vec<String>)> {
    let rest = line.strip_prefix("docker compose ")?;
    let rest = rest.strip_prefix("exec ").or_else(|| rest.strip_prefix("run "))?;
    let rest = rest.split(" <").next().unwrap_or(rest);
    let mut words = rest.split_whitespace();
    let service = loop {
        let word = words.next().expect("a service");
        if WITH_VALUE.contains(&word) {
            words.next().expect("a value");
        } else if !ALONE.contains(&word) {
            break word;
        }
    };
    assert_eq!(words.next(), Some("gatewayctl"), "{line}");
    Some((service.to_owned(), words.map(ToOwned::to_owned).collect()))
}

#[test]
fn what_is_not_run_is_marked() {
    let page = read("docs/containers.md");
    let blocks = blocks(&page);
    assert!(blocks.len() > 12, "only {} blocks were found", blocks.len());
    for (is_run, before, lines) in blocks {
        if is_run {
            let known = |line: &String| RUN.iter().any(|start| line.starts_with(start));
            assert!(lines.iter().all(known), "{lines:?}");
        } else {
            let is_settings = lines[0].starts_with('[');
            assert!(is_settings || before.contains("*not run*"), "{before}\n{lines:?}");
        }
    }
}

#[tokio::test]
async fn every_command_in_a_container_names_a_service_and_exists() {
    let (page, compose, mut count) = (read("docs/containers.md"), compose(), 0);
    let all = blocks(&page).into_iter().flat_map(|(_, _, lines)| lines);
    for line in all {
        let Some((service, arguments)) = started(&line) else { continue };
        count += 1;
        let image = &services(&compose)[service.as_str()]["image"];
        assert_eq!(image, "gateway:local", "{line}");
        let is_word =
            |word: &&String| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let mut asked: Vec<_> =
            arguments.iter().take(2).take_while(is_word).map(String::as_str).collect();
        asked.retain(|word| *word != "-");
        let help = Ctl::default().run(&[&asked[..], &["--help"]].concat()).await.expect_ok().stdout;
        for option in arguments.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(option.as_str()), "{line}: {option}");
        }
    }
    assert!(count >= 8, "only {count} commands were found");
}
