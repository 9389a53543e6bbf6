//! Rules about single source files: names, lengths, and forbidden words.

use std::path::Path;

use super::{
    expect_none,
    tree::{files, sources},
};

const LINES_MAX: usize = 600;

#[test]
fn no_source_file_is_too_long_to_hold_in_mind() {
    let long: Vec<_> = files()
        .iter()
        .filter(|file| [".rs", ".sh", ".sql"].iter().any(|end| file.path.ends_with(end)))
        .map(|file| (file.text.lines().count(), &file.path))
        .filter(|(lines, _)| *lines > LINES_MAX)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    expect_none("split these along what they are about", &long);
}

/// A generic module name does not show which code belongs there.
#[test]
fn every_module_is_named_after_what_it_is_about() {
    const GENERIC: &[&str] = &[
        "util", "utils", "common", "helper", "helpers", "misc", "type", "types", "model", "models",
        "service", "services", "handler", "handlers", "manager", "shared", "base", "core",
    ];
    let found: Vec<_> = files()
        .iter()
        .filter(|file| file.path.ends_with(".rs"))
        .filter(|file| {
            Path::new(&file.path)
                .with_extension("")
                .iter()
                .any(|part| GENERIC.iter().any(|generic| part.eq_ignore_ascii_case(generic)))
        })
        .map(|file| file.path.clone())
        .collect();
    expect_none("name these after the thing they deal with", &found);
}

#[test]
fn no_float_comes_near_money() {
    let is_float = |line: &str| {
        line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| {
            ["f32", "f64"].contains(&word) || word.ends_with("_f32") || word.ends_with("_f64")
        })
    };
    let programs = ["src/", "api/", "dashboard/", "workers/"];
    let found: Vec<_> = sources()
        .iter()
        .filter(|source| source.is_under(&programs))
        .flat_map(|source| source.lines(is_float))
        .collect();
    expect_none("use BaseUnits, Price or whole numbers", &found);
}

#[test]
fn nothing_panics_outside_tests() {
    let panics = |line: &str| line.contains(".unwrap()") || line.contains("panic!(");
    let found: Vec<_> = sources()
        .iter()
        .filter(|source| !source.is_test)
        .flat_map(|source| source.lines(panics))
        .collect();
    expect_none("return an error, or name the invariant with expect", &found);
}

/// Exchanges and queues are named in one table; elsewhere a name would survive its change.
#[test]
fn only_the_topology_spells_queue_names() {
    let is_name = |text: &str| {
        text.starts_with("gw.")
            || [".work", ".dlq", ".wait.30s", ".wait.60s"].iter().any(|end| text.ends_with(end))
    };
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| !source.is_test) {
        if source.is_under(&["src/broker/topology.rs", "src/broker/definitions.rs"]) {
            continue;
        }
        let names = source.literals.iter().filter(|(_, text)| is_name(text));
        found.extend(names.map(|(line, text)| format!("{}:{line} \"{text}\"", source.path)));
    }
    expect_none("ask gateway::broker::topology for the name", &found);
}

/// A column that a migration adds changes the shape of such a result, and PostgreSQL then refuses
/// the prepared statements of programs of the release before. The columns of `unnest` are named in
/// the statement itself.
#[test]
fn statements_name_the_columns_that_they_read() {
    let mut found = Vec::new();
    for source in sources()
        .iter()
        .filter(|source| source.is_under(&["src/", "api/", "dashboard/", "workers/"]))
    {
        let stars = source.literals.iter().filter(|(_, text)| reads_all_columns(text));
        found.extend(stars.map(|(line, _)| format!("{}:{line}", source.path)));
    }
    expect_none("name the columns instead of *", &found);
}

fn reads_all_columns(literal: &str) -> bool {
    let words: Vec<_> = literal.split_whitespace().map(str::to_lowercase).collect();
    let sql = words.join(" ");
    let is_statement = ["select ", "returning "].iter().any(|verb| sql.contains(verb));
    is_statement
        && sql.match_indices('*').any(|(at, _)| {
            let before = sql[..at].trim_end();
            let is_list = before.ends_with(['.', ','])
                || ["select", "distinct", "all", "returning"]
                    .iter()
                    .any(|word| before.split([' ', '(']).next_back() == Some(word));
            is_list && !sql[at + 1..].trim_start().starts_with("from unnest(")
        })
}

#[test]
fn a_star_in_a_statement_would_be_found() {
    for all in [
        "select * from invoice",
        "select id from (SELECT  *\n from invoice) i",
        "insert into t values (1) returning *",
        "select distinct * from t",
        "select 1, * from t",
        "select i.id, t.* from t",
        "select id from unnest($1::int[]) as u (id) join (select * from t) t using (id)",
    ] {
        assert!(reads_all_columns(all), "{all}");
    }
    for named in [
        "select count(*) from t",
        "select 2 * a, now() + $2::int * interval '1 second' from t",
        "with u as (select * from unnest($1::int[]) as t (id)) select id from u",
        "^[a-z].*$",
    ] {
        assert!(!reads_all_columns(named), "{named}");
    }
}

/// Written in halves, so that this file does not find itself.
#[test]
fn no_file_carries_leftovers_or_a_path_of_somebodys_machine() {
    let leftovers =
        [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("db", "g!(")];
    let machines = [
        concat!("/wo", "rk/"),
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/Us", "ers/"),
    ];
    let mut found = Vec::new();
    for file in files() {
        // Generated files and third-party test vectors keep their wording.
        if file.path == "Cargo.lock" || file.path.ends_with(".hex") {
            continue;
        }
        for (index, line) in file.text.lines().enumerate() {
            let word = |mark: &&&str| {
                line.split(|c: char| !c.is_alphanumeric() && !"!(".contains(c)).any(|w| w == **mark)
            };
            if leftovers.iter().any(|mark| word(&mark))
                || machines.iter().any(|path| line.contains(path))
            {
                found.push(format!("{}:{} {}", file.path, index + 1, line.trim()));
            }
        }
    }
    expect_none("finish these, or take them out", &found);
}
