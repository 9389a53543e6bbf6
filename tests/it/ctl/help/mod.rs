//! `--help` teaches. The texts are frozen like the flags in them: they may grow, and a reviewer
//! sees every change.
//!
//! `UPDATE_EXPECT=1 cargo test -p tests ctl::help` writes the files anew.

use expect_test::expect_file;
use support::client::ctl::Ctl;

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<String> {
    let after = help.split_once("\nCommands:\n").map(|(_, after)| after).unwrap_or_default();
    let lines = after.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(ToOwned::to_owned).collect()
}

async fn help(path: &[&str]) -> String {
    let arguments: Vec<_> = path.iter().copied().chain(["--help"]).collect();
    Ctl::default().run(&arguments).await.expect_ok().stdout
}

#[tokio::test]
async fn every_command_has_a_help_that_gives_examples_and_names_its_environment() {
    let root = help(&[]).await;
    expect_file!["gatewayctl.txt"].assert_eq(&root);
    let families = commands(&root);
    assert!(families.len() >= 11, "{families:?}");
    for family in &families {
        let text = help(&[family]).await;
        let inner = commands(&text);
        let mut all = format!("$ gatewayctl {family} --help\n{text}");
        if inner.is_empty() {
            teaches(&text);
        }
        for command in &inner {
            let text = help(&[family, command]).await;
            teaches(&text);
            all.push_str(&format!("\n$ gatewayctl {family} {command} --help\n{text}"));
        }
        expect_file![format!("{family}.txt")].assert_eq(&all);
    }
}

fn teaches(help: &str) {
    assert!(help.contains("Example"), "no example in:\n{help}");
    assert!(help.contains("Environment:"), "no environment in:\n{help}");
    let longest = help.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(120), "{longest:?} columns in:\n{help}");
}
