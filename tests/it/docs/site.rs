//! Pages as a reader's browser gets them: small, cacheable, with nothing from elsewhere and no dead
//! link.

use std::collections::{BTreeMap, BTreeSet};

use gateway::config::Profile;
use gateway_api::docs::page;
use serde_json::Value;
use support::{
    client::{Answer, Client},
    server::stack::{Stack, with_stack},
};

/// A page with its style and its script, as they travel.
const BYTES_MAX: usize = 40 * 1024;

fn paths() -> Vec<String> {
    let guides = page::pages().map(|page| format!("/docs/{}", page.name));
    ["/docs".to_owned()].into_iter().chain(guides).collect()
}

/// The values of an attribute in the tags that begin with `name`. Text has no `<`, so what follows
/// one is a tag.
fn values<'a>(html: &'a str, name: &str, attribute: &str) -> Vec<&'a str> {
    let mark = format!(" {attribute}=\"");
    let tags = html.split('<').skip(1).map(|rest| rest.split('>').next().unwrap());
    let parts =
        tags.filter(|tag| tag.starts_with(name)).filter_map(|tag| tag.split_once(mark.as_str()));
    parts.map(|(_, rest)| rest.split('"').next().unwrap()).collect()
}

async fn read(stack: &Stack, path: &str) -> Answer {
    let answer = stack.anybody().get(path).await;
    assert_eq!(answer.status, 200, "{path}");
    answer
}

#[tokio::test]
async fn every_page_is_cacheable_and_loads_only_files_of_this_server() {
    with_stack(|stack| async move {
        for path in paths() {
            let page = read(&stack, &path).await;
            let policy = page.header("content-security-policy").unwrap();
            assert!(
                policy.starts_with("default-src 'none';") && !policy.contains("unsafe"),
                "{policy}"
            );
            assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
            let inline = values(&page.body, "", "style").len();
            assert!(inline == 0 && !page.body.contains("<script>"), "{path}");
            let styles = values(&page.body, "link ", "href");
            assert_eq!(styles, ["/docs/docs.css"], "{path}");
            for file in values(&page.body, "", "src").into_iter().chain(styles) {
                assert!(file.starts_with("/docs/"), "{path} loads {file}");
                read(&stack, file).await;
            }
            let tag = page.header("etag").unwrap().to_owned();
            let again = stack.anybody().with_header("if-none-match", &tag).get(&path).await;
            assert_eq!((again.status, again.body.as_str()), (304, ""), "{path}");
            assert_eq!(again.header("etag"), Some(tag.as_str()), "{path}");
            let other = stack.anybody().with_header("if-none-match", "W/\"x\"").get(&path).await;
            assert_eq!(other.status, 200, "{path}");
        }
        assert_eq!(stack.anybody().get("/docs/").await.body, read(&stack, "/docs").await.body);
        stack.anybody().get("/docs/nothing").await.expect_error(404, "NOT_FOUND");
    })
    .await;
}

#[tokio::test]
async fn a_guide_is_small() {
    with_stack(|stack| async move {
        let compressed = async |path: &str| {
            let asked = Client::new(stack.api).with_header("accept-encoding", "gzip");
            let answer = asked.get_bytes(path).await;
            assert_eq!(answer.0.get("content-encoding").unwrap(), "gzip", "{path}");
            answer.1.len()
        };
        let files = compressed("/docs/docs.css").await + compressed("/docs/docs.js").await;
        for path in paths().iter().filter(|path| *path != "/docs") {
            let bytes = files + compressed(path).await;
            assert!(bytes < BYTES_MAX, "{path} is {bytes} bytes");
        }
    })
    .await;
}

/// Each link of `path` as the page and the anchor that it names.
fn links<'a>(path: &'a str, html: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    values(html, "a ", "href").into_iter().map(move |link| {
        let (page, anchor) = link.split_once('#').unwrap_or((link, ""));
        (if page.is_empty() { path } else { page }, anchor)
    })
}

#[tokio::test]
async fn no_link_of_the_site_is_dead() {
    with_stack(|stack| async move {
        let mut read_pages: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
        let mut open = paths();
        while let Some(path) = open.pop() {
            if read_pages.contains_key(&path) || path.contains("://") {
                continue;
            }
            let body = read(&stack, &path).await.body;
            let ids = values(&body, "", "id").into_iter().map(str::to_owned).collect();
            if body.starts_with("<!doctype html>") {
                open.extend(links(&path, &body).map(|(page, _)| page.to_owned()));
            }
            read_pages.insert(path, (body, ids));
        }
        let mut dead = Vec::new();
        let mut count = 0;
        for (path, (body, _)) in read_pages.iter().filter(|(_, (body, _))| body.starts_with('<')) {
            for (page, anchor) in links(path, body).filter(|(page, _)| !page.contains("://")) {
                count += 1;
                let ids = &read_pages[page].1;
                if !anchor.is_empty() && !ids.contains(anchor) {
                    dead.push(format!("{path}: {page}#{anchor}"));
                }
            }
        }
        assert!(count > 500, "only {count} links were found");
        assert!(dead.is_empty(), "these links lead nowhere: {dead:#?}");
    })
    .await;
}

/// Anchors are unique: a link leads to one place.
#[tokio::test]
async fn no_page_has_an_anchor_twice() {
    with_stack(|stack| async move {
        for path in paths() {
            let body = read(&stack, &path).await.body;
            let ids = values(&body, "", "id");
            let different: BTreeSet<_> = ids.iter().collect();
            assert_eq!(ids.len(), different.len(), "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn requests_can_be_sent_from_the_page_in_the_sandbox_alone() {
    with_stack(|stack| async move {
        let production = stack.replica_of(|config| config.profile = Profile::Production).await;
        for (client, is_sandbox) in [(stack.anybody(), true), (Client::new(production), false)] {
            let page = client.get("/docs").await;
            assert_eq!(page.status, 200);
            assert_eq!(page.body.contains("/docs/try.js"), is_sandbox);
            assert_eq!(page.body.contains(" data-try"), is_sandbox);
            let policy = page.header("content-security-policy").unwrap();
            assert_eq!(policy.contains("connect-src 'self'"), is_sandbox, "{policy}");
            // Without a script the same request stands there for a shell.
            assert!(page.body.contains("curl -X POST"), "{is_sandbox}");
        }
        // No guide may send anything.
        let guide = stack.anybody().get("/docs/webhooks").await;
        assert!(!guide.header("content-security-policy").unwrap().contains("connect-src"));
    })
    .await;
}

#[tokio::test]
async fn the_collection_names_this_gateway_and_has_no_key() {
    with_stack(|stack| async move {
        let answer = read(&stack, "/docs/postman.json").await;
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let collection: Value = answer.json();
        assert_eq!(collection["variable"][0]["value"], stack.gateway.config.base_url);
        assert_eq!(collection["variable"][1]["key"], "api_key");
        assert_eq!(collection["variable"][1]["value"], "");
        assert_eq!(read(&stack, "/docs/postman.json").await.body, answer.body);
    })
    .await;
}
