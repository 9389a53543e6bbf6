//! Migrations: the release before runs on the new schema, and no step holds a table that is in use
//! for longer than a moment (expand, then contract).
//!
//! A table counts as in use from the file after the one that creates it. The rules read statements,
//! not plans; what hides in a block of `do` needs an exception of its own.

use std::collections::BTreeSet;

use super::{expect_none, tree::files};

/// A step that breaks a rule, how often, and why it may.
struct Exception(i64, usize, &'static str);

/// A row for each merchant, link, subscriber, key, network or announcement.
const SMALL: &str = "the table has few rows, so the lock lasts milliseconds";
/// A step cannot be changed once it was made anywhere: its checksum is compared.
const OLDER: &str =
    "older than these rules; it runs once, in a quiet hour, and writers of the table wait";

/// Steps from before the rules. A new step gets no entry for the sake of convenience: each rule
/// names the way that holds nobody up.
const EXCEPTIONS: &[Exception] = &[
    Exception(20_261_121_000_200, 1, OLDER),
    Exception(20_261_121_100_000, 10, OLDER),
    Exception(20_261_121_110_000, 1, OLDER),
    Exception(20_261_122_130_100, 4, OLDER),
    Exception(20_261_122_130_200, 2, OLDER),
    Exception(20_261_122_130_400, 3, OLDER),
    Exception(20_261_122_130_502, 1, OLDER),
    Exception(20_261_122_130_600, 1, OLDER),
    Exception(20_261_122_130_701, 1, OLDER),
    Exception(20_261_122_130_702, 1, SMALL),
    Exception(20_261_122_150_000, 2, OLDER),
    Exception(20_261_122_150_100, 1, OLDER),
    Exception(20_261_122_161_000, 1, OLDER),
    Exception(20_261_122_161_100, 1, OLDER),
    Exception(20_261_122_161_200, 1, OLDER),
    Exception(20_261_122_162_000, 1, OLDER),
    Exception(20_261_123_110_000, 2, OLDER),
    Exception(20_261_123_140_100, 1, SMALL),
    Exception(20_261_123_150_000, 1, SMALL),
    Exception(20_261_123_160_000, 3, OLDER),
    Exception(20_261_124_155_000, 3, OLDER),
    Exception(20_261_124_155_100, 4, OLDER),
    Exception(20_261_124_160_100, 1, "writes rows of a table that no release had, in bites"),
    Exception(20_261_124_164_100, 1, OLDER),
    Exception(20_261_124_164_200, 1, OLDER),
    Exception(20_261_124_164_400, 2, OLDER),
    Exception(20_261_124_172_000, 2, OLDER),
    Exception(20_261_124_172_100, 1, SMALL),
    Exception(20_261_125_100_000, 1, OLDER),
    Exception(20_261_125_210_000, 5, SMALL),
    Exception(20_261_125_220_000, 3, OLDER),
    Exception(20_261_125_220_100, 7, OLDER),
    Exception(20_261_125_230_000, 3, OLDER),
    Exception(20_261_126_010_000, 2, "its wait is measured in docs/upgrades.md"),
    Exception(20_261_126_020_000, 2, "its wait is in CHANGELOG.md"),
    Exception(20_261_126_120_000, 4, SMALL),
    Exception(20_261_126_120_100, 1, "its wait is in CHANGELOG.md"),
    Exception(20_261_126_131_000, 5, "its wait is in CHANGELOG.md"),
    Exception(20_261_126_140_000, 1, SMALL),
    Exception(20_261_126_150_000, 3, SMALL),
    Exception(20_261_126_200_000, 4, "its wait is in CHANGELOG.md"),
    Exception(20_261_126_210_500, 2, OLDER),
    Exception(20_261_126_220_000, 4, OLDER),
    Exception(20_261_126_220_100, 3, SMALL),
];

const INDEX: &str = "writers wait while it is built: `create index concurrently`, alone in a file that begins with \
                     `-- no-transaction`";
const ALONE: &str = "cannot run with others in one transaction: alone in a file that begins with `-- no-transaction`";
const UNFINISHED: &str =
    "an unfinished index would pass for the finished one: leave `if not exists` out";
const REPEATED: &str = "a run that was killed behind it would find no index: `if exists`";
const IN_COLUMN: &str = "reads the whole table under its lock: add the column without its constraint, and the constraint \
                         `not valid`";
const CONSTRAINT: &str =
    "reads the whole table under its lock: add it `not valid`, and validate it in a later file";
const TWO_LOCKS: &str =
    "validates under the lock of the statement that added it: validate it in a later file";
const UNIQUE: &str = "builds its index under its lock: build it concurrently before, then add the constraint `using index`";
const REWRITE: &str =
    "writes the whole table anew under its lock: add a column, fill it in bites by a program";
const NO_DEFAULT: &str =
    "fails on a table with rows, and the release before does not write it: give it a default";
const ROWS: &str = "holds every row until the step ends: let a program write them in bites";
const HIDDEN: &str = "hides what it does from these rules: write the statements out";
const CONTRACT: &str = "the release before may still need it: drop it one release after the code, in a file with a line \
                        `-- contract: ` and why nothing needs it any more";

/// A statement in small letters, on one line, without comments, bodies of functions and texts.
fn statements(sql: &str) -> Vec<String> {
    let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    let code = lines.collect::<Vec<_>>().join("\n");
    let bodies = code.split("$$").step_by(2).collect::<Vec<_>>().join("''");
    let texts = bodies.split('\'').step_by(2).collect::<Vec<_>>().join("''");
    let words = |statement: &str| {
        statement.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
    };
    texts.split(';').map(words).filter(|statement| !statement.is_empty()).collect()
}

/// Parts between commas that no parenthesis encloses.
fn actions(list: &str) -> Vec<String> {
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for letter in list.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if letter == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

/// The word behind `start`, and the rest behind it.
fn word_after<'a>(statement: &'a str, start: &str) -> Option<(&'a str, &'a str)> {
    let rest = statement.strip_prefix(start)?.trim_start();
    let rest = ["if not exists ", "if exists ", "only "]
        .iter()
        .fold(rest, |rest, words| rest.strip_prefix(words).unwrap_or(rest));
    Some(rest.split_once([' ', '(']).unwrap_or((rest, "")))
}

/// One file, with the tables that were there before it.
struct Step<'a> {
    statements: Vec<String>,
    in_transaction: bool,
    is_contract: bool,
    in_use: &'a BTreeSet<String>,
}

impl<'a> Step<'a> {
    fn read(sql: &str, in_use: &'a BTreeSet<String>) -> Self {
        let says_why =
            |line: &str| line.strip_prefix("-- contract: ").is_some_and(|why| why.len() > 20);
        Self {
            statements: statements(sql),
            in_transaction: !sql.starts_with("-- no-transaction"),
            is_contract: sql.lines().any(says_why),
            in_use,
        }
    }

    fn makes(&self) -> impl Iterator<Item = String> {
        let made = |statement: &String| {
            ["create table ", "create unlogged table "]
                .iter()
                .find_map(|start| word_after(statement, start))
                .map(|(table, _)| table.to_owned())
        };
        self.statements.iter().filter_map(made)
    }

    fn faults(&self) -> Vec<(&str, &'static str)> {
        let mut found = Vec::new();
        if !self.in_transaction && self.statements.len() != 1 {
            found.push(("the file", ALONE));
        }
        for statement in &self.statements {
            let faults = match word_after(statement, "alter table ") {
                Some((table, list)) if self.in_use.contains(table) => self.alters(list),
                Some(_) => Vec::new(),
                None => self.fault(statement).into_iter().collect(),
            };
            found.extend(faults.into_iter().map(|fault| (statement.as_str(), fault)));
        }
        found
    }

    fn fault(&self, statement: &str) -> Option<&'static str> {
        let uses = |table: &str| self.in_use.contains(table);
        let starts = |words: &[&str]| words.iter().any(|word| statement.starts_with(word));
        if starts(&["create index ", "create unique index "]) {
            return self.builds(statement);
        }
        if starts(&["drop "]) {
            if statement.starts_with("drop index concurrently ") {
                if self.in_transaction {
                    return Some(ALONE);
                }
                if !statement.contains(" if exists ") {
                    return Some(REPEATED);
                }
            }
            return (!self.is_contract && !self.makes_anew(statement)).then_some(CONTRACT);
        }
        let written = ["update ", "delete from ", "truncate ", "truncate table "];
        if written
            .iter()
            .any(|start| word_after(statement, start).is_some_and(|(table, _)| uses(table)))
        {
            return Some(ROWS);
        }
        let whole = ["lock ", "vacuum ", "cluster ", "reindex ", "refresh "];
        if starts(&whole) {
            return Some(REWRITE);
        }
        starts(&["do "]).then_some(HIDDEN)
    }

    fn builds(&self, statement: &str) -> Option<&'static str> {
        let (head, rest) = statement.split_once(" on ")?;
        let table = rest.trim_start_matches("only ").split([' ', '(']).next()?;
        match (head.contains(" concurrently "), self.in_use.contains(table)) {
            (true, _) if head.contains(" if not exists ") => Some(UNFINISHED),
            (true, _) if self.in_transaction => Some(ALONE),
            (false, true) => Some(INDEX),
            _ => None,
        }
    }

    /// Dropped to be made again in the same transaction.
    fn makes_anew(&self, statement: &str) -> bool {
        let mut words =
            statement.split(' ').skip(1).filter(|word| !["if", "exists"].contains(word));
        let (Some(kind), Some(name)) = (words.next(), words.next()) else { return false };
        let name = name.split('(').next().unwrap_or(name);
        let made = |other: &String| {
            other.starts_with("create ") && other.contains(&format!(" {kind} {name}"))
        };
        self.statements.iter().any(made)
    }

    fn alters(&self, list: &str) -> Vec<&'static str> {
        actions(list).iter().filter_map(|action| self.action(action)).collect()
    }

    fn action(&self, action: &str) -> Option<&'static str> {
        let has = |words: &[&str]| words.iter().any(|word| action.contains(word));
        if action.starts_with("add column ") {
            return column(action);
        }
        if let Some((name, _)) = word_after(action, "drop constraint ") {
            let again = format!("add constraint {name} ");
            let widened = self.statements.iter().any(|other| other.contains(&again));
            return (!widened && !self.is_contract).then_some(CONTRACT);
        }
        if action.starts_with("add ") {
            if has(&[" unique", " primary key", " exclude"]) {
                return (!action.contains(" using index ")).then_some(UNIQUE);
            }
            return (!action.ends_with(" not valid")).then_some(CONSTRAINT);
        }
        if let Some((name, _)) = word_after(action, "validate constraint ") {
            let added = format!("add constraint {name} ");
            return self.statements.iter().any(|other| other.contains(&added)).then_some(TWO_LOCKS);
        }
        if has(&[" type ", " set data type "]) {
            return Some(REWRITE);
        }
        if has(&[" set not null"]) {
            return Some(CONSTRAINT);
        }
        if has(&[" drop not null", " set default "]) {
            return None;
        }
        // Drops and renames of columns, lost defaults, and what nobody has thought of yet.
        (!self.is_contract).then_some(CONTRACT)
    }
}

/// Faults of a column that is added to a table with rows.
fn column(action: &str) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|word| action.contains(word));
    let changing = ["clock_timestamp(", "random", "nextval(", "uuid", " generated ", "serial"];
    let default = action.split_once(" default ").map(|(_, value)| value);
    if has(&[" references ", " check (", " unique", " primary key"]) {
        Some(IN_COLUMN)
    } else if default.is_some_and(|value| changing.iter().any(|word| value.contains(word)))
        || has(&[" generated ", "serial"])
    {
        Some(REWRITE)
    } else {
        (action.contains(" not null") && default.is_none()).then_some(NO_DEFAULT)
    }
}

#[test]
fn the_release_before_runs_on_every_step_and_no_step_holds_a_table_for_long() {
    let (mut found, mut in_use) = (Vec::new(), BTreeSet::new());
    let mut excepted = BTreeSet::new();
    for file in files().iter().filter(|file| file.path.starts_with("migrations/")) {
        let name = file.path.trim_start_matches("migrations/");
        let version: i64 =
            name.split('_').next().and_then(|digits| digits.parse().ok()).expect("a version");
        let step = Step::read(&file.text, &in_use);
        let faults = step.faults();
        let exception = EXCEPTIONS.iter().find(|exception| exception.0 == version);
        if exception.is_some_and(|exception| exception.1 == faults.len()) {
            excepted.insert(version);
        } else {
            let said = faults.iter().map(|(statement, fault)| {
                format!("{name}: {}\n    {fault}", statement.chars().take(90).collect::<String>())
            });
            found.extend(said);
        }
        let made: Vec<_> = step.makes().collect();
        in_use.extend(made);
    }
    let stale = EXCEPTIONS.iter().filter(|exception| !excepted.contains(&exception.0));
    found.extend(stale.map(|stale| format!("{}: not {} faults, {}", stale.0, stale.1, stale.2)));
    expect_none("change these migrations", &found);
}

/// The first fault of a file over a table `invoice` that is in use.
fn first(sql: &str) -> Option<&'static str> {
    let in_use = BTreeSet::from(["invoice".to_owned()]);
    let step = Step::read(sql, &in_use);
    step.faults().first().map(|(_, fault)| *fault)
}

#[test]
fn steps_that_hold_a_table_or_break_the_release_before_are_found() {
    for (sql, fault) in [
        ("create index a on invoice (b);", INDEX),
        ("create unique index a on invoice (b)\n where c;", INDEX),
        ("create index concurrently a on invoice (b);", ALONE),
        ("-- no-transaction\ncreate index concurrently a on invoice (b); select 1;", ALONE),
        (
            "-- no-transaction\ncreate index concurrently if not exists a on invoice (b);",
            UNFINISHED,
        ),
        ("alter table invoice add column a text check (a <> '');", IN_COLUMN),
        ("alter table invoice add column a text, add column b uuid references c (id);", IN_COLUMN),
        ("alter table invoice add column a text unique;", IN_COLUMN),
        ("alter table invoice add column a text not null;", NO_DEFAULT),
        ("alter table invoice add column a uuid not null default gen_random_uuid();", REWRITE),
        ("alter table invoice add column a bigserial;", REWRITE),
        ("alter table invoice add column a int generated always as (b + 1) stored;", REWRITE),
        ("alter table invoice alter column a type bigint;", REWRITE),
        ("alter table invoice alter column a set not null;", CONSTRAINT),
        ("alter table invoice add constraint a check (b in ('c', 'd'));", CONSTRAINT),
        ("alter table invoice add constraint a foreign key (b) references c (id);", CONSTRAINT),
        ("alter table invoice add constraint a unique (b);", UNIQUE),
        (
            "alter table invoice add constraint a check (b > 0) not valid; alter table invoice validate constraint a;",
            TWO_LOCKS,
        ),
        ("update invoice set a = 1;", ROWS),
        ("delete from invoice;", ROWS),
        ("lock table invoice;", REWRITE),
        ("do $$ begin alter table invoice drop column a; end $$;", HIDDEN),
        ("alter table invoice drop column a;", CONTRACT),
        ("alter table invoice rename column a to b;", CONTRACT),
        ("alter table invoice drop constraint a;", CONTRACT),
        ("drop table invoice;", CONTRACT),
        ("-- contract: gone\ndrop index a;", CONTRACT),
        ("-- no-transaction\ndrop index concurrently a;", REPEATED),
    ] {
        assert_eq!(first(sql), Some(fault), "{sql}");
    }
}

#[test]
fn steps_that_only_add_and_hold_nothing_pass() {
    for sql in [
        "create table deposit (id uuid primary key, a text not null check (a <> '')); create index b on deposit (a);",
        "alter table deposit add constraint a check (b > 0);",
        "alter table invoice add column a text, add column b int not null default 0;",
        "alter table invoice add column a timestamptz not null default now();",
        "alter table invoice add constraint a check (b in ('c', 'd')) not valid;",
        "alter table invoice drop constraint a, add constraint a check (b > 0) not valid;",
        "alter table invoice validate constraint a;",
        "alter table invoice add constraint a unique using index b;",
        "alter table invoice alter column a drop not null;",
        "-- no-transaction\ncreate index concurrently a on invoice (b) where c = 'on';",
        "-- no-transaction\n-- contract: no statement names it since 0.2.0\ndrop index concurrently if exists a;",
        "drop trigger a on invoice; create trigger a after insert on invoice execute function b();",
        "-- contract: nothing reads it since 0.2.0\nalter table invoice drop column a;",
        "insert into role_grant (role, what) values ('a', 'update on invoice'); select grant_roles();",
        "create function a() returns trigger language plpgsql as $$ begin update invoice set a = 1; end $$;",
    ] {
        assert_eq!(first(sql), None, "{sql}");
    }
}
