//! The units of systemd, checked by its own program over a root folder that holds nothing else.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use gateway::config::variable_fault;
use gateway_workers::Role;
use support::server::scratch::Scratch;

use super::{read, root};

const UNITS: &str = "etc/systemd/system";
/// Ten times systemd's own measure, of 0 (closed) to 10 (open). The rest is the network.
const EXPOSURE_MAX: &str = "12";
/// Targets of systemd itself that ours refer to.
const OF_SYSTEMD: [&str; 5] = ["sysinit", "basic", "network-online", "multi-user", "shutdown"];

/// Found or installed by the script, once per process.
fn analyze() -> Command {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let find = || {
        let script = root().join("scripts/systemd-analyze.sh");
        let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "scripts/systemd-analyze.sh found none");
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    };
    Command::new(PROGRAM.get_or_init(find))
}

/// A machine on which the units were copied as the documentation says.
fn machine(scratch: &Scratch) -> PathBuf {
    let machine = scratch.fresh("root");
    let (units, programs) = (machine.join(UNITS), machine.join("usr/local/bin"));
    fs::create_dir_all(units.parent().unwrap()).unwrap();
    fs::create_dir_all(&programs).unwrap();
    let ours = root().join("deploy/systemd");
    let copied = Command::new("cp").arg("-r").arg(ours).arg(&units).status().unwrap();
    assert!(copied.success());
    for target in OF_SYSTEMD {
        let text = format!("[Unit]\nDescription={target}\n");
        fs::write(units.join(format!("{target}.target")), text).unwrap();
    }
    for name in ["gateway-api", "gateway-worker", "gateway-dashboard", "gatewayctl"] {
        fs::write(programs.join(name), "#!/bin/sh\n").unwrap();
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    machine
}

/// Every service as it is started: each role has one.
fn services() -> Vec<String> {
    let roles = Role::ALL.iter().map(|role| format!("gateway-worker@{role}.service"));
    let others = ["gateway-api", "gateway-api-second", "gateway-dashboard", "gateway-setup"];
    roles.chain(others.map(|name| format!("{name}.service"))).collect()
}

fn verified(machine: &Path, unit: &str) -> (bool, String) {
    let mut command = analyze();
    command.args(["verify", "--man=no", "--root"]).arg(machine).arg(unit);
    let done = command.output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    (done.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn systemd_finds_no_fault_in_any_unit() {
    let scratch = Scratch::new();
    let machine = machine(&scratch);
    for unit in services().iter().map(String::as_str).chain(["gateway.target"]) {
        assert_eq!(verified(&machine, unit), (true, String::new()), "{unit}");
    }
    // An analysis that accepts anything would have passed too.
    let common = machine.join(UNITS).join("gateway-.service.d/common.conf");
    let text = fs::read_to_string(&common).unwrap();
    fs::write(&common, text.replace("NoNewPrivileges", "NoNewPrivilege")).unwrap();
    let (_, said) = verified(&machine, "gateway-worker@payout-batch.service");
    assert!(said.contains("Unknown key 'NoNewPrivilege'"), "{said}");
}

#[test]
fn systemd_finds_every_service_closed_but_for_the_network() {
    let scratch = Scratch::new();
    let machine = machine(&scratch);
    for unit in services() {
        let mut command = analyze();
        command.args(["security", "--offline=true", "--threshold", EXPOSURE_MAX, "--root"]);
        let done = command.arg(&machine).arg(&unit).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success() && said.contains("Overall exposure"), "{unit}: {said}");
    }
}

/// The sections of a unit and of its drop-ins, as lines.
fn lines(unit: &str) -> Vec<String> {
    let template = if unit.contains('@') { "gateway-worker@.service" } else { unit };
    let own = root().join("deploy/systemd").join(format!("{unit}.d"));
    let mut text = read(&format!("deploy/systemd/{template}"));
    text += &read("deploy/systemd/gateway-.service.d/common.conf");
    for name in ["metrics.conf", "secrets.conf"] {
        text += &fs::read_to_string(own.join(name)).unwrap_or_default();
    }
    text.lines().map(ToOwned::to_owned).collect()
}

/// Variables that a service's unit sets.
fn variables(unit: &str) -> Vec<(String, String)> {
    let lines = lines(unit);
    let set = lines.iter().filter_map(|line| line.strip_prefix("Environment="));
    let pairs = set.flat_map(str::split_whitespace).map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// All of them run on one machine: a second one at an address would end at once, again and again.
#[test]
fn no_two_services_listen_at_one_address() {
    let mut listening = BTreeSet::new();
    for unit in services().into_iter().filter(|unit| unit != "gateway-setup.service") {
        let given = variables(&unit);
        let listens = |(name, _): &&(String, String)| name.ends_with("LISTEN");
        let own: Vec<_> =
            given.iter().filter(listens).map(|(_, address)| address.clone()).collect();
        // Those of default.toml.
        let own = match unit.as_str() {
            "gateway-api.service" => ["8080", "8081", "9080"].map(at).to_vec(),
            "gateway-dashboard.service" => ["8082", "9082"].map(at).to_vec(),
            _ => own,
        };
        assert!(!own.is_empty(), "{unit} has the default address, which another has too");
        for address in own {
            assert!(listening.insert(address.clone()), "{unit} is the second at {address}");
        }
    }
}

fn at(port: &str) -> String {
    format!("127.0.0.1:{port}")
}

/// systemd starts no service that lacks a file, and does not say which.
#[test]
fn the_page_makes_every_file_that_a_service_loads() {
    let page = read("docs/containers.md");
    let block = page.split("\ncd /etc/gateway/secrets\n").nth(1).unwrap();
    let block = block.split("\n```\n").next().unwrap();
    let looped = ["APPLICATION", "OPERATOR", "TOPOLOGY"];
    let looped = looped.map(|user| format!("GATEWAY_BROKER__{user}_PASSWORD"));
    let words: BTreeSet<_> = block.split([' ', '\n']).map(|word| word.trim_matches('>')).collect();
    for unit in services() {
        for line in lines(&unit) {
            let Some(credential) = line.strip_prefix("LoadCredential=") else { continue };
            let (name, _) = credential.split_once(':').unwrap();
            let is_made = words.contains(name) || looped.iter().any(|one| one == name);
            assert!(is_made, "the page makes no {name}, which {unit} loads");
        }
    }
}

#[test]
fn every_service_gets_the_secrets_of_its_role_from_files_of_root() {
    let compose: serde_json::Value = serde_saphyr::from_str(&read("docker-compose.yml")).unwrap();
    for unit in services() {
        let lines = lines(&unit);
        let credentials = lines.iter().filter_map(|line| line.strip_prefix("LoadCredential="));
        let mut given = BTreeSet::new();
        for credential in credentials {
            let (name, path) = credential.split_once(':').unwrap();
            assert_eq!(path, format!("/etc/gateway/secrets/{name}"), "{unit}");
            given.insert(name.to_owned());
        }
        let name = unit.trim_end_matches(".service").rsplit(['@']).next().unwrap();
        let name = match name.strip_prefix("gateway-").unwrap_or(name) {
            "setup" => "migrate",
            "api-second" => "api",
            name => name,
        };
        let secrets = compose["services"][name]["secrets"].as_array().unwrap();
        let of_container = secrets.iter().map(|secret| secret.as_str().unwrap().to_owned());
        assert_eq!(given, of_container.collect(), "{unit} and the container {name} differ");
    }
}

#[test]
fn the_units_set_nothing_that_a_program_would_refuse() {
    let example = read("deploy/systemd/environment.example");
    let mut pairs: Vec<_> = example.lines().filter(|line| !line.starts_with('#')).collect();
    let set: Vec<_> = services().iter().flat_map(|unit| variables(unit)).collect();
    let set: Vec<_> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.extend(set.iter().map(String::as_str));
    assert!(pairs.len() > 12, "{pairs:?}");
    for pair in pairs {
        let (name, value) = pair.split_once('=').unwrap();
        assert_eq!(variable_fault(name, value), None, "{pair}");
    }
}
