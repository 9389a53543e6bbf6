//! Imports between modules point downward, as `src/lib.rs` and ARCHITECTURE.md draw them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    expect_none,
    tree::{Source, sources},
};

/// From the bottom up. Modules of one layer do not know one another.
const LAYERS: &[&[&str]] = &[
    &["money", "vocabulary"],
    &["asset"],
    // Above currencies: a price has the decimal places of its own.
    &["account", "merchant", "ledger", "deposit", "locale"],
    &["invoice"],
    // Above invoices: an id is made as an invoice's is. A link has the period of its subscriptions.
    &["subscription"],
    // A link creates invoices of its type.
    &["link"],
    // Above links: amounts are typed as on their pages.
    &["till"],
    // Above invoices: the rule of punctual deposits and the format of an instant are the same for
    // both.
    &["payout"],
    // Above mass payouts: the check of recipients and the broadcast of signed bytes are the same
    // for both. A settlement is an EIP-1559 transaction too.
    &["nc_payout", "x402"],
    // A token of an address without gas is collected by an authorization, as programs pay.
    &["sweep"],
    // `/legacy` tells of invoices and payouts to old clients, as webhooks do to others.
    &["webhook", "accounting", "legacy"],
    // Above webhooks: attempts have the same states and outcomes.
    &["mail"],
    &["egress", "fail_point", "retry", "telemetry"],
    &["storage", "broker", "chain", "rate"],
    &["config"],
    &["app"],
    &["serve"],
];

/// Imports within a layer, each with its reason.
const SIDEWAYS: &[(&str, &str)] = &[
    // The simulated chain keeps its blocks in tables of its own.
    ("chain", "storage"),
];

#[test]
fn imports_only_point_downward() {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| !source.is_test) {
        let Some(module) = module_of(&source.path) else { continue };
        for (line, used) in uses(source, &["crate::"]) {
            if let Some(fault) = fault(module, &used) {
                found.push(format!("{}:{line} {fault}", source.path));
            }
        }
    }
    expect_none("a module uses what stands above or beside it", &found);
}

/// Modules by the siblings that they use.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Folders in which no module may use another one in a circle, with all folders below.
const WITHOUT_CIRCLES: &[&str] = &["src/chain", "src/app/payout", "src/app/nc_payout"];

#[test]
fn adapters_of_chains_and_steps_of_payouts_use_one_another_in_no_circle() {
    let sources = sources();
    let mut graphs: BTreeMap<String, Graph> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test) {
        for (folder, module, used) in siblings_used(source) {
            if WITHOUT_CIRCLES.iter().any(|root| is_within(&folder, root)) {
                graphs.entry(folder).or_default().entry(module).or_default().extend(used);
            }
        }
    }
    for (folder, graph) in &mut graphs {
        let head = sources.iter().find(|source| source.path == format!("{folder}/mod.rs"));
        lead_through(graph, &head.map(forwarded).unwrap_or_default());
    }
    assert!(graphs["src/chain/evm"]["source"].contains("decode"), "{graphs:?}");
    assert!(graphs["src/app/payout"]["follow"].contains("booking"), "{graphs:?}");
    assert!(graphs["src/app/nc_payout"]["evm"].contains("plan"), "{graphs:?}");
    let circles = graphs.iter().flat_map(|(folder, graph)| {
        in_circles(graph).into_iter().map(move |module| format!("{folder}: {module}"))
    });
    expect_none("these modules use one another in a circle", &circles.collect::<Vec<_>>());
}

fn is_within(folder: &str, root: &str) -> bool {
    folder.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Names that a folder's `mod.rs` passes on, with the module each comes from.
fn forwarded(head: &Source) -> BTreeMap<String, String> {
    let paths = imported(head);
    let pair = |path: &String| {
        let (module, name) = path.trim_start_matches("self::").split_once("::")?;
        Some((name.to_owned(), module.to_owned()))
    };
    paths.iter().filter_map(pair).collect()
}

/// Replaces names by the module that they come from: `super::Error` is a use of that module.
fn lead_through(graph: &mut Graph, forwarded: &BTreeMap<String, String>) {
    for used in graph.values_mut() {
        let behind = used.iter().filter_map(|name| forwarded.get(name).cloned());
        let behind: Vec<_> = behind.collect();
        used.extend(behind);
    }
}

/// The modules that the source belongs to, from the folder `src/chain` down, each with its folder
/// and the names that it uses from there.
fn siblings_used(source: &Source) -> Vec<(String, String, BTreeSet<String>)> {
    let parts: Vec<&str> =
        source.path.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
    let imported = imported(source);
    let named = |root: &str| {
        let nested = imported.iter().filter_map(|path| path.strip_prefix(root)).map(identifier);
        let nested: Vec<_> = nested.collect();
        uses(source, &[root]).into_iter().map(|(_, used)| used).chain(nested)
    };
    (2..parts.len())
        .map(|depth| {
            let mut used: BTreeSet<String> =
                named(&format!("crate::{}::", parts[1..depth].join("::"))).collect();
            if depth == parts.len() - 1 {
                used.extend(named("super::"));
            }
            (parts[..depth].join("/"), parts[depth].to_owned(), used)
        })
        .collect()
}

/// Those modules from which a path leads back to themselves.
fn in_circles(graph: &Graph) -> Vec<&str> {
    let leads_back = |module: &&String| {
        let (mut open, mut seen) = (vec![*module], BTreeSet::new());
        while let Some(at) = open.pop() {
            for next in graph.get(at).into_iter().flatten() {
                if next != at && graph.contains_key(next) && seen.insert(next) {
                    open.push(next);
                }
            }
        }
        seen.contains(module)
    };
    graph.keys().filter(leads_back).map(String::as_str).collect()
}

#[test]
fn a_circle_would_be_found() {
    let graph = |arrows: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in arrows {
            graph.entry((*to).to_owned()).or_default();
            graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        graph
    };
    assert_eq!(in_circles(&graph(&[("a", "b"), ("b", "c"), ("a", "c"), ("c", "c")])), [""; 0]);
    assert_eq!(in_circles(&graph(&[("a", "b"), ("b", "c"), ("c", "b")])), ["b", "c"]);
    let code = "use super::{decode, wire::Block};\n\
                use crate::{\n    chain::{rpc::Rpc, evm::{balance, head as top}},\n    money::Units,\n};";
    let source = super::tree::take_apart("src/chain/evm/source.rs".into(), code);
    let used = siblings_used(&source);
    let [(chain, evm, far), (folder, module, near)] = used.as_slice() else { panic!("{used:?}") };
    assert_eq!((chain.as_str(), evm.as_str()), ("src/chain", "evm"));
    assert!(far.contains("rpc") && far.contains("evm"));
    assert_eq!((folder.as_str(), module.as_str()), ("src/chain/evm", "source"));
    for name in ["decode", "wire", "balance", "head"] {
        assert!(near.contains(name), "{near:?}");
    }
    let head =
        super::tree::take_apart("src/chain/evm/mod.rs".into(), "pub use wire::{Block, Log};");
    let mut graph = graph(&[("wire", "source"), ("source", "Block")]);
    lead_through(&mut graph, &forwarded(&head));
    graph.remove("Block");
    assert_eq!(in_circles(&graph), ["source", "wire"]);
}

#[test]
fn the_api_and_the_workers_meet_only_in_the_database_and_the_broker() {
    let mut found = Vec::new();
    for (folder, other) in [("api/", "gateway_workers"), ("workers/", "gateway_api")] {
        for source in sources().iter().filter(|source| source.path.starts_with(folder)) {
            found.extend(source.lines(|line| line.contains(other)));
        }
    }
    for source in sources().iter().filter(|source| source.path.starts_with("src/")) {
        found.extend(
            source.lines(|line| line.contains("gateway_api") || line.contains("gateway_workers")),
        );
    }
    expect_none("the library, the API and the workers must not know one another so", &found);
}

/// Modules of the command line that use one another in a ring cannot be read one at a time.
#[test]
fn modules_of_the_command_line_form_no_ring() {
    let folder = "src/bin/gatewayctl/";
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources().iter().filter(|source| source.is_under(&[folder])) {
        let path = source.path.trim_start_matches(folder).trim_end_matches(".rs");
        let module = path.split('/').next().unwrap_or(path);
        let used = uses(source, &["crate::"]).into_iter().map(|(_, used)| used);
        arrows.entry(module.to_owned()).or_default().extend(used.filter(|used| used != module));
    }
    assert!(arrows.len() > 20, "only {} modules were found", arrows.len());
    let found: Vec<_> =
        rings(arrows).iter().map(|(module, used)| format!("{module} uses {used:?}")).collect();
    expect_none("these modules are in a ring, or use one that is", &found);
}

/// The part of a graph that is left when whatever uses nothing of the rest is taken away, again and
/// again.
fn rings(mut arrows: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    loop {
        let left: BTreeSet<_> = arrows.keys().cloned().collect();
        arrows.retain(|_, used| {
            used.retain(|used| left.contains(used));
            !used.is_empty()
        });
        if arrows.len() == left.len() {
            return arrows;
        }
    }
}

#[test]
fn a_ring_would_be_found() {
    let arrow = |(from, to): (&str, &str)| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    let line = BTreeMap::from([("a", "b"), ("b", "c"), ("c", "serde")].map(arrow));
    assert!(rings(line).is_empty());
    let ring = BTreeMap::from([("a", "b"), ("b", "c"), ("c", "b")].map(arrow));
    assert_eq!(rings(ring).len(), 3);
}

/// The programs sit on top of the library, so their use of a database or a broker belongs in `app`.
#[test]
fn drivers_stay_behind_their_modules() {
    let owners = [
        ("sqlx", ["src/storage/", "src/storage.rs"], "put the query into src/storage"),
        ("lapin", ["src/broker/", "src/broker.rs"], "put the call into src/broker"),
        ("backoff", ["src/retry/", "src/retry.rs"], "use gateway::retry"),
        ("lettre", ["src/egress/", "src/egress.rs"], "use gateway::egress::smtp"),
    ];
    let mut found = Vec::new();
    for source in sources()
        .iter()
        .filter(|source| source.is_under(&["src/", "api/", "dashboard/", "workers/"]))
    {
        for (driver, owner, advice) in &owners {
            if !source.is_under(owner) {
                let path = format!("{driver}::");
                let hits = source.lines(|line| names_path(line, &path));
                found.extend(hits.into_iter().map(|hit| format!("{hit}   ({advice})")));
            }
        }
    }
    expect_none("a driver is used outside the module that owns it", &found);
}

/// `path` as the start of a path: neither the end of another name nor a module of that name.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back().unwrap_or(' ');
        !(before.is_alphanumeric() || before == '_' || line[..at].ends_with("crate::"))
    })
}

fn fault(module: &str, used: &str) -> Option<String> {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    if module == used || SIDEWAYS.contains(&(module, used)) {
        return None;
    }
    match (layer(module), layer(used)) {
        (Some(from), Some(to)) if to < from => None,
        (Some(_), Some(_)) => Some(format!("{module} must not use {used}")),
        (None, _) => {
            Some(format!("{module} has no place in the layers of tests/it/tidy/imports.rs"))
        }
        // An item of the crate's root, such as a macro, is not a module.
        (_, None) => None,
    }
}

/// `src/invoice/quote.rs` and `src/money.rs` belong to `invoice` and `money`; the root and the
/// programs to none.
fn module_of(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    let module = inside.split('/').next()?;
    (module != "lib" && module != "bin").then_some(module)
}

/// The first segments after each of `roots`, in plain paths and in groups, with their lines.
fn uses(source: &Source, roots: &[&str]) -> Vec<(usize, String)> {
    let mut uses = Vec::new();
    for root in roots {
        for (at, _) in source.code.match_indices(root) {
            let before = source.code[..at].chars().next_back().unwrap_or(' ');
            if before.is_alphanumeric() || before == '_' || before == '$' {
                continue;
            }
            let line = source.code[..at].matches('\n').count() + 1;
            let rest = &source.code[at + root.len()..];
            uses.extend(first_segments(rest).into_iter().map(|segment| (line, segment)));
        }
    }
    uses
}

/// The full paths of all `use` items, their groups resolved.
fn imported(source: &Source) -> Vec<String> {
    let mut paths = Vec::new();
    for (at, _) in source.code.match_indices("use ") {
        let before = source.code[..at].chars().next_back().unwrap_or(' ');
        if before.is_whitespace() {
            let tree = source.code[at + "use ".len()..].split(';').next().unwrap_or_default();
            let tree: String = tree.split_whitespace().collect::<Vec<_>>().join(" ");
            resolve("", &tree, &mut paths);
        }
    }
    paths
}

fn resolve(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let Some((head, group)) = tree.split_once('{') else {
        let name = tree.trim().split(' ').next().unwrap_or_default();
        if !name.is_empty() {
            paths.push(format!("{prefix}{name}"));
        }
        return;
    };
    let prefix = format!("{prefix}{}", head.trim());
    let (mut depth, mut start) = (0_usize, 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                resolve(&prefix, &group[start..at], paths);
                start = at + 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
}

fn first_segments(path: &str) -> Vec<String> {
    let Some(group) = path.strip_prefix('{') else {
        return vec![identifier(path)];
    };
    let (mut depth, mut names, mut start) = (0_usize, Vec::new(), 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(identifier(&group[start..at]));
                start = at + 1;
                if letter == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn identifier(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn a_forbidden_import_would_be_found() {
    let code = "use crate::{\n    money::{BaseUnits, Bps},\n    storage::Db,\n};\nlet x = crate::app::run();";
    let source = super::tree::take_apart("src/invoice/quote.rs".into(), code);
    let module = module_of(&source.path).unwrap();
    let uses = uses(&source, &["crate::"]);
    let faults: Vec<_> = uses.iter().filter_map(|(_, used)| fault(module, used)).collect();
    assert_eq!(faults, ["invoice must not use storage", "invoice must not use app"]);
    assert!(names_path("use sqlx::Row;", "sqlx::"));
    assert!(!names_path("crate::sqlx::x, my_sqlx::y", "sqlx::"));
}
