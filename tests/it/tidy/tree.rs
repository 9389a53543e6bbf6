//! The tracked files, and Rust sources split into code, comments and text literals.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

pub(super) struct File {
    /// From the repository's root, with forward slashes.
    pub(super) path: String,
    pub(super) text: String,
}

pub(super) fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the package lies in the repository").to_owned()
}

/// All text files that git would commit now, so that a new file is checked before its first commit.
pub(super) fn files() -> Vec<File> {
    let listing = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root())
        .output()
        .expect("git lists the files of its own checkout");
    assert!(listing.status.success(), "git: {}", String::from_utf8_lossy(&listing.stderr));
    let names = String::from_utf8(listing.stdout).expect("our file names are UTF-8");
    let files: Vec<_> = names.split_terminator('\0').filter_map(read).collect();
    assert!(files.len() > 50, "only {} files were found", files.len());
    files
}

/// `None` for a file that is deleted but not yet committed, or is not text.
fn read(path: &str) -> Option<File> {
    let text = std::fs::read_to_string(root().join(path)).ok()?;
    Some(File { path: path.to_owned(), text })
}

/// A Rust file, split up.
pub(super) struct Source {
    pub(super) path: String,
    /// The text with comments and the contents of literals blanked; lines stay where they were.
    pub(super) code: String,
    /// Text literals outside test modules, with their lines.
    pub(super) literals: Vec<(usize, String)>,
    /// Comments, also of test modules: each line with its number and its marker.
    pub(super) comments: Vec<(usize, String)>,
    /// True if the file holds only tests.
    pub(super) is_test: bool,
}

impl Source {
    pub(super) fn is_under(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| self.path.starts_with(folder))
    }

    /// `path:line` of every line of code for which `is_found` holds.
    pub(super) fn lines(&self, is_found: impl Fn(&str) -> bool) -> Vec<String> {
        let lines = self.code.lines().enumerate();
        lines
            .filter(|(_, line)| is_found(line))
            .map(|(index, line)| format!("{}:{} {}", self.path, index + 1, line.trim()))
            .collect()
    }
}

/// All Rust sources, without the modules that `#[cfg(test)]` opens.
pub(super) fn sources() -> Vec<Source> {
    let rust = files().into_iter().filter(|file| file.path.ends_with(".rs"));
    let mut sources: Vec<_> = rust.map(|file| take_apart(file.path, &file.text)).collect();
    let test_files: Vec<_> = sources.iter().flat_map(test_files).collect();
    for source in &mut sources {
        source.is_test |= test_files.contains(&source.path);
    }
    sources
}

/// Files of modules that `source` declares for tests only: `#[cfg(test)] mod name;`, with `#[path]`
/// or without.
fn test_files(source: &Source) -> Vec<String> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let inner = match stem {
        "mod" | "lib" | "main" => folder.to_owned(),
        stem => format!("{folder}/{stem}"),
    };
    let mut found = Vec::new();
    for (at, _) in source.code.match_indices(TEST_MARK) {
        let item = source.code[at + TEST_MARK.len()..].split([';', '{']).next().unwrap_or_default();
        let Some((attributes, name)) = item.rsplit_once("mod ") else { continue };
        if attributes.contains("path") {
            let line = source.code[..at].matches('\n').count() + 1;
            let paths = source.literals.iter().filter(|(at, _)| (line..line + 3).contains(at));
            found.extend(paths.map(|(_, path)| format!("{folder}/{path}")));
        }
        found.extend([format!("{inner}/{name}.rs"), format!("{inner}/{name}/mod.rs")]);
    }
    found
}

pub(super) fn take_apart(path: String, text: &str) -> Source {
    let code = String::with_capacity(text.len());
    let mut lexer = Lexer { rest: text, code, literals: vec![], comments: vec![] };
    lexer.run();
    let Lexer { mut code, mut literals, comments, .. } = lexer;
    while let Some((start, end)) = test_module(&code) {
        let blank: String =
            code[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        let first = code[..start].matches('\n').count() + 1;
        let last = code[..end].matches('\n').count() + 1;
        literals.retain(|(line, _)| !(first..=last).contains(line));
        code.replace_range(start..end, &blank);
    }
    let is_test = path.starts_with("tests/");
    Source { path, code, literals, comments, is_test }
}

const TEST_MARK: &str = "#[cfg(test)]";

/// Start and end of the first `#[cfg(test)] mod …` with a body.
fn test_module(code: &str) -> Option<(usize, usize)> {
    code.match_indices(TEST_MARK).map(|(start, _)| start).find_map(|start| {
        let item = &code[start + TEST_MARK.len()..];
        let declared = item.trim_start();
        let declared = declared.strip_prefix("pub(super) ").unwrap_or(declared);
        let is_module = declared.starts_with("mod ");
        let open = item.find(['{', ';']).filter(|at| is_module && item[*at..].starts_with('{'))?;
        let mut depth = 0_usize;
        for (at, letter) in item[open..].char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some((start, start + TEST_MARK.len() + open + at + 1));
            }
        }
        None
    })
}

/// The part of Rust's lexical grammar that separates code from comments and literals.
struct Lexer<'a> {
    rest: &'a str,
    code: String,
    literals: Vec<(usize, String)>,
    comments: Vec<(usize, String)>,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(next) = self.rest.chars().next() {
            if self.rest.starts_with("//") {
                self.comment(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                self.comment(self.block_comment());
            } else if let Some(hashes) = self.raw_string() {
                self.literal(hashes.opening, &hashes.closing);
            } else if next == '"' {
                self.literal(1, "\"");
            } else if let Some(length) = self.character() {
                self.blank(length);
            } else {
                self.keep(next);
            }
        }
    }

    fn keep(&mut self, letter: char) {
        self.code.push(letter);
        self.rest = &self.rest[letter.len_utf8()..];
    }

    fn blank(&mut self, length: usize) {
        let (gone, rest) = self.rest.split_at(length);
        self.code.extend(gone.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }

    fn comment(&mut self, length: usize) {
        let first = self.line();
        let lines = self.rest[..length].lines().enumerate();
        self.comments.extend(lines.map(|(index, text)| (first + index, text.to_owned())));
        self.blank(length);
    }

    fn line(&self) -> usize {
        self.code.matches('\n').count() + 1
    }

    fn block_comment(&self) -> usize {
        let (mut depth, mut at) = (0_usize, 0);
        while at < self.rest.len() {
            let here = &self.rest[at..];
            if here.starts_with("/*") {
                (depth, at) = (depth + 1, at + 2);
            } else if here.starts_with("*/") {
                (depth, at) = (depth - 1, at + 2);
            } else {
                at += here.chars().next().map_or(1, char::len_utf8);
            }
            if depth == 0 {
                break;
            }
        }
        at
    }

    fn raw_string(&self) -> Option<RawString> {
        let before = self.code.chars().next_back().unwrap_or(' ');
        if before.is_alphanumeric() || before == '_' {
            return None;
        }
        let unprefixed = self.rest.strip_prefix("br").or_else(|| self.rest.strip_prefix('r'))?;
        let hashes = unprefixed.len() - unprefixed.trim_start_matches('#').len();
        let opened = unprefixed[hashes..].starts_with('"');
        let opening = self.rest.len() - unprefixed.len() + hashes + 1;
        opened.then(|| RawString { opening, closing: format!("\"{}", "#".repeat(hashes)) })
    }

    /// Keeps the quotes in the code and the contents among the literals.
    fn literal(&mut self, opening: usize, closing: &str) {
        let line = self.line();
        self.blank(opening);
        let mut end = 0;
        while end < self.rest.len() && !self.rest[end..].starts_with(closing) {
            let escape = closing == "\"" && opening == 1 && self.rest[end..].starts_with('\\');
            let mut letters = self.rest[end..].chars().map(char::len_utf8);
            end += letters.by_ref().take(if escape { 2 } else { 1 }).sum::<usize>();
        }
        self.literals.push((line, self.rest[..end].to_owned()));
        self.blank((end + closing.len()).min(self.rest.len()));
    }

    /// Length of a character literal; `None` for a lifetime.
    fn character(&self) -> Option<usize> {
        let inner = self.rest.strip_prefix('\'')?;
        if inner.starts_with('\\') {
            let end = inner.get(2..)?.find('\'')?;
            return Some(1 + 2 + end + 1);
        }
        let letter = inner.chars().next()?.len_utf8();
        inner[letter..].starts_with('\'').then_some(letter + 2)
    }
}

struct RawString {
    opening: usize,
    closing: String,
}

#[test]
fn code_is_told_from_comments_and_literals() {
    let text = r##"
let a = "x.unwrap() // no"; // b.unwrap()
/* c.unwrap() /* nested */ */ let d = '"'; let e: &'static str = r#"f "g" h"#;
let i = "\"j";
#[cfg(test)]
mod tests { fn k() { "l"; m.unwrap(); } }
n.unwrap();
"##;
    let source = take_apart("src/x.rs".into(), text);
    assert_eq!(source.lines(|line| line.contains("unwrap")), ["src/x.rs:7 n.unwrap();"]);
    assert!(source.code.contains("&'static str"));
    let literals: Vec<_> =
        source.literals.iter().map(|(line, text)| (*line, text.as_str())).collect();
    assert_eq!(literals, [(2, "x.unwrap() // no"), (3, "f \"g\" h"), (4, "\\\"j")]);
    let comments: Vec<_> =
        source.comments.iter().map(|(line, text)| (*line, text.as_str())).collect();
    assert_eq!(comments, [(2, "// b.unwrap()"), (3, "/* c.unwrap() /* nested */ */")]);
}
