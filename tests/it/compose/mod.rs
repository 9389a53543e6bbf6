//! Checks of `docker-compose.yml` that are possible without a container engine.

mod page;
mod paid;
mod run;

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use gateway_workers::Role;
use serde_json::Value;
use support::server::scratch::Scratch;

const SCHEMA: &str = include_str!("compose-spec.schema.json");
const HOSTS: [&str; 3] = ["api.gateway.test", "pay.gateway.test", "dashboard.gateway.test"];
const PRODUCTION: [&str; 4] = ["production", "a.example.com", "b.example.com", "c.example.com"];
/// Secrets of one role alone, which could spend or speak in the operator's name.
const OF_ONE_ROLE: [(&str, &str); 5] = [
    ("GATEWAY_PAYOUTS__SEED_KEY", "payout-batch"),
    ("payouts.seed", "payout-batch"),
    ("GATEWAY_X402__SEED_KEY", "x402-settlement"),
    ("x402.seed", "x402-settlement"),
    ("GATEWAY_MAIL__PASSWORD", "mail-delivery"),
];

type Variables = BTreeMap<String, String>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect("the file is part of the repository")
}

/// The file with the variables of an `.env`, as compose reads it.
fn compose_with(variables: &Variables) -> Value {
    let text = interpolated(&read("docker-compose.yml"), variables);
    serde_saphyr::from_str(&text).expect("the file is YAML")
}

fn compose() -> Value {
    compose_with(&Variables::new())
}

/// `${NAME}` and `${NAME:-default}` replaced, and `$$` by `$`.
fn interpolated(text: &str, variables: &Variables) -> String {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        done.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            done.push('$');
            rest = after;
            continue;
        }
        let inner = after.strip_prefix('{').expect("a variable is written with braces");
        let (inner, after) = inner.split_once('}').expect("the brace is closed");
        let (name, default) = inner.split_once(":-").unwrap_or((inner, ""));
        done.push_str(variables.get(name).map_or(default, String::as_str));
        rest = after;
    }
    done + rest
}

fn services(compose: &Value) -> &serde_json::Map<String, Value> {
    compose["services"].as_object().expect("the file has services")
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap()).collect()
}

/// A folder with `scripts/env.sh` alone, as in a fresh release.
fn fresh_release(scratch: &Scratch) -> PathBuf {
    let clone = scratch.fresh("clone");
    std::fs::create_dir_all(clone.join("scripts")).unwrap();
    std::fs::copy(root().join("scripts/env.sh"), clone.join("scripts/env.sh")).unwrap();
    clone
}

/// Success of `scripts/env.sh` in this folder, and its words.
fn env(clone: &Path, arguments: &[&str]) -> (bool, String) {
    let ran = Command::new(clone.join("scripts/env.sh")).args(arguments).output().unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// A folder in which `scripts/env.sh` has run as in a fresh release.
fn prepared(scratch: &Scratch, arguments: &[&str]) -> (PathBuf, Variables) {
    let clone = fresh_release(scratch);
    let (is_done, said) = env(&clone, arguments);
    assert!(is_done, "{said}");
    let lines = std::fs::read_to_string(clone.join(".env")).unwrap();
    let pairs = lines.lines().filter_map(|line| line.split_once('='));
    let variables = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    (clone, variables)
}

#[test]
fn the_compose_file_keeps_to_the_specifications_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults = |file: &Value| -> Vec<_> {
        validator.iter_errors(file).map(|e| format!("{}: {e}", e.instance_path())).collect()
    };
    let mut compose = compose();
    assert_eq!(faults(&compose), Vec::<String>::new());

    // A schema that accepts anything would have passed too.
    compose["services"]["api"]["healtcheck"] = Value::Bool(true);
    assert_ne!(faults(&compose), Vec::<String>::new());
}

#[test]
fn every_image_has_an_exact_version() {
    for (name, service) in services(&compose()) {
        let image = service["image"].as_str().unwrap();
        let (_, tag) = image.split_once(':').unwrap_or((image, ""));
        let exact = tag.split('-').next().unwrap().split('.').count() >= 2;
        assert!(image == "gateway:local" || exact, "{name} uses {image}");
    }
    let dockerfile = read("Dockerfile");
    let bases = dockerfile.lines().filter_map(|line| line.strip_prefix("FROM "));
    for base in bases.filter(|base| *base != "scratch") {
        assert!(base.contains(':') && base.contains('.'), "{base}");
    }
}

#[test]
fn no_secret_is_in_an_environment_and_each_service_gets_those_of_its_role() {
    let compose = compose();
    let known = compose["secrets"].as_object().unwrap();
    for (name, service) in services(&compose) {
        let environment = service["environment"].as_object();
        for (key, value) in environment.into_iter().flatten() {
            let marks = ["PASS", "KEY", "SECRET", "DATABASE_URL", "AMQP_URL", "MANAGEMENT_URL"];
            let value = value.as_str().unwrap();
            let is_secret = marks.iter().any(|mark| key.contains(mark));
            assert!(!is_secret || value.starts_with("/run/secrets"), "{name} shows its {key}");
        }
        let given = texts(&service["secrets"]);
        assert!(given.iter().all(|secret| known.contains_key(*secret)), "{name}: {given:?}");
        for (secret, holder) in OF_ONE_ROLE {
            assert_eq!(given.contains(&secret), name == holder, "{name} and {secret}");
        }
        if service["image"] == "gateway:local" {
            for secret in ["DATABASE_URL", "GATEWAY_DATABASE_DIRECT_URL", "GATEWAY_MASTER_KEY"] {
                assert!(given.contains(&secret), "{name} lacks {secret}");
            }
            let declares = ["migrate", "sweeper"].contains(&name.as_str());
            let is_given = given.iter().any(|secret| secret.starts_with("GATEWAY_BROKER__"));
            assert_eq!(is_given, declares, "{name}");
        }
    }
}

#[test]
fn the_script_writes_every_secret_for_its_owner_alone_and_none_into_env() {
    for arguments in [&[][..], &[&["production"][..], &HOSTS].concat()] {
        let scratch = Scratch::new();
        let (clone, variables) = prepared(&scratch, arguments);
        let secrets = clone.join("secrets");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&secrets), 0o700);
        let env = std::fs::read_to_string(clone.join(".env")).unwrap();
        let written = std::fs::read_dir(&secrets).unwrap().map(|entry| entry.unwrap().path());
        let mut names = BTreeSet::new();
        for path in written {
            assert_eq!(mode(&path), 0o600, "{path:?}");
            names.insert(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
        assert!(names.remove(".profile"), "nothing says whose secrets they are");
        for name in &names {
            let value = std::fs::read_to_string(secrets.join(name)).unwrap();
            assert!(value.is_empty() || !env.contains(&value), "{name}");
        }
        let compose = compose_with(&variables);
        let declared = compose["secrets"].as_object().unwrap();
        assert_eq!(names, declared.keys().cloned().collect());
        for (name, secret) in declared {
            assert_eq!(secret["file"], format!("./secrets/{name}").as_str());
        }
    }
}

#[test]
fn passwords_of_an_earlier_env_are_kept_and_a_later_one_is_not_overwritten() {
    let scratch = Scratch::new();
    let clone = fresh_release(&scratch);
    let key = "0f".repeat(32);
    let earlier = format!(
        "# a comment\nPOSTGRES_PASSWORD=first\nRABBITMQ_ADMIN_PASSWORD=second\n\
         RABBITMQ_APPLICATION_PASSWORD=third\nGATEWAY_MASTER_KEY={key}\nPOSTGRES_PORT=77\n"
    );
    std::fs::write(clone.join(".env"), earlier).unwrap();
    let (is_done, said) = env(&clone, &[]);
    assert!(is_done, "{said}");
    let secret = |name: &str| std::fs::read_to_string(clone.join("secrets").join(name)).unwrap();
    assert_eq!(secret("postgres-password"), "first");
    assert_eq!(secret("DATABASE_URL"), "postgres://gateway:first@postgres:5432/gateway");
    assert!(secret("GATEWAY_BROKER__MANAGEMENT_URL").contains(":second@"));
    assert!(secret("AMQP_URL").contains(":third@"));
    assert_eq!(secret("GATEWAY_MASTER_KEY"), key);
    let written = std::fs::read_to_string(clone.join(".env")).unwrap();
    assert!(written.contains("\nPOSTGRES_PORT=77\n") && !written.contains("first"), "{written}");
    let (is_done, said) = env(&clone, &[]);
    assert!(!is_done && said.contains(".env exists, and nothing was changed"), "{said}");
}

#[test]
fn a_production_of_an_earlier_release_stays_one() {
    let scratch = Scratch::new();
    let clone = fresh_release(&scratch);
    let earlier = "GATEWAY_PROFILE=production\nGATEWAY_BASE_URL=https://api.example.com\nPOSTGRES_PASSWORD=first\n";
    std::fs::write(clone.join(".env"), earlier).unwrap();
    for arguments in [&PRODUCTION[..], &["sandbox"]] {
        let (is_done, said) = env(&clone, arguments);
        assert!(!is_done && said.contains("without arguments"), "{said}");
        assert_eq!(std::fs::read_to_string(clone.join(".env")).unwrap(), earlier);
    }
    let (is_done, said) = env(&clone, &[]);
    assert!(is_done && said.contains("its profile, production"), "{said}");
    let written = std::fs::read_to_string(clone.join(".env")).unwrap();
    assert!(written.contains("\nGATEWAY_PROFILE=production\n"), "{written}");
    assert!(written.contains("\nGATEWAY_BASE_URL=https://api.example.com\n"), "{written}");
    let secret = std::fs::read_to_string(clone.join("secrets/postgres-password")).unwrap();
    assert_eq!(secret, "first");
}

/// A sandbox prices with fixed rates and believes simulated chains.
#[test]
fn a_production_whose_env_is_lost_never_comes_back_as_a_sandbox() {
    let scratch = Scratch::new();
    let (clone, _) = prepared(&scratch, &PRODUCTION);
    let secret = |name: &str| std::fs::read_to_string(clone.join("secrets").join(name)).unwrap();
    let (key, written) = (secret("GATEWAY_MASTER_KEY"), clone.join(".env"));
    let before = std::fs::read_to_string(&written).unwrap();
    let refuses = |arguments: &[&str], words: &str| {
        let (is_done, said) = env(&clone, arguments);
        assert!(!is_done && said.contains(words), "{arguments:?}: {said}");
        assert!(said.contains("Nothing was changed"), "{said}");
        assert!(!written.exists(), "{arguments:?} wrote it");
    };
    std::fs::remove_file(&written).unwrap();
    refuses(&[], "belong to a production");
    refuses(&["sandbox"], "belong to a production");

    // Secrets of an earlier release have no mark.
    std::fs::remove_file(clone.join("secrets/.profile")).unwrap();
    refuses(&[], "nobody knows which profile");
    std::fs::write(clone.join("secrets/tls.key"), "a key").unwrap();
    refuses(&["sandbox"], "belong to a production");

    let (is_done, said) = env(&clone, &PRODUCTION);
    assert!(is_done, "{said}");
    assert_eq!(std::fs::read_to_string(&written).unwrap(), before);
    assert_eq!((secret(".profile").trim(), secret("GATEWAY_MASTER_KEY")), ("production", key));
}

#[test]
fn a_sandbox_whose_env_is_lost_comes_back_and_is_no_production() {
    let scratch = Scratch::new();
    let (clone, _) = prepared(&scratch, &[]);
    std::fs::remove_file(clone.join(".env")).unwrap();
    let (is_done, said) = env(&clone, &PRODUCTION);
    assert!(!is_done && said.contains("belong to a sandbox"), "{said}");
    std::fs::remove_file(clone.join("secrets/.profile")).unwrap();
    for arguments in [&["sandbox"][..], &[]] {
        let (is_done, said) = env(&clone, arguments);
        assert!(is_done, "{said}");
        std::fs::remove_file(clone.join(".env")).unwrap();
    }
}

/// Compose takes the quotes away, so a profile in quotes is the same profile.
#[test]
fn an_earlier_env_is_read_as_compose_reads_it_or_refused() {
    let production = "GATEWAY_PROFILE=production\n";
    for (line, expected) in [
        ("GATEWAY_PROFILE=\"production\"", Ok(production)),
        ("GATEWAY_PROFILE='production'  # ours", Ok(production)),
        ("export GATEWAY_PROFILE = production # ours\r", Ok(production)),
        ("GATEWAY_PROFILE=sandbox\nGATEWAY_PROFILE=\"production\"", Ok(production)),
        ("#GATEWAY_PROFILE=production", Ok("GATEWAY_PROFILE=sandbox\n")),
        ("RABBITMQ_ADMIN_PASSWORD='a$b\"c'", Ok("GATEWAY_PROFILE=sandbox\n")),
        ("GATEWAY_PROFILE=\"production", Err("begins with a quote")),
        ("GATEWAY_PROFILE=live", Err("has to be sandbox or production")),
        ("GATEWAY_PROFILE=$PROFILE", Err("in single quotes")),
        ("RABBITMQ_ADMIN_PASSWORD=a$b", Err("in single quotes")),
    ] {
        let scratch = Scratch::new();
        let clone = fresh_release(&scratch);
        let earlier = format!("{line}\nPOSTGRES_PASSWORD=\"first\"\n");
        std::fs::write(clone.join(".env"), &earlier).unwrap();
        let (is_done, said) = env(&clone, &[]);
        let written = std::fs::read_to_string(clone.join(".env")).unwrap();
        let secret = |name: &str| std::fs::read_to_string(clone.join("secrets").join(name));
        match expected {
            Ok(profile) => {
                assert!(is_done, "{line}: {said}");
                assert_eq!(written.matches("GATEWAY_PROFILE").count(), 1, "{line}: {written}");
                assert!(written.contains(profile) && !written.contains("a$b"), "{line}: {written}");
                assert_eq!(secret("postgres-password").unwrap(), "first");
                if line.starts_with("RABBITMQ") {
                    assert_eq!(secret("rabbitmq-admin-password").unwrap(), "a$b\"c");
                }
            }
            Err(words) => {
                assert!(!is_done && said.contains(words), "{line}: {said}");
                assert_eq!((written, clone.join("secrets").exists()), (earlier, false), "{line}");
            }
        }
    }
}

#[test]
fn the_script_teaches_how_to_call_it_and_writes_nothing_by_that() {
    let scratch = Scratch::new();
    let clone = fresh_release(&scratch);
    for argument in ["--help", "-h", "help"] {
        let (is_done, said) = env(&clone, &[argument]);
        let teaches = ["scripts/env.sh production api.example.com", ".env is lost?", "secrets/ is"];
        assert!(is_done && teaches.iter().all(|words| said.contains(words)), "{said}");
    }
    for arguments in [&["live"][..], &["sandbox", "api.example.com"], &["production", "one"]] {
        let (is_done, said) = env(&clone, arguments);
        assert!(!is_done && said.contains("scripts/env.sh"), "{said}");
    }
    assert_eq!(std::fs::read_dir(&clone).unwrap().count(), 1, "something was written");
}

#[test]
fn every_variable_of_the_file_is_in_the_example_and_nothing_else() {
    let text = read("docker-compose.yml");
    let mut used: BTreeSet<_> = text
        .split("${")
        .skip(1)
        .map(|part| part.split([':', '}']).next().unwrap().to_owned())
        .collect();
    // Of compose itself.
    used.insert("COMPOSE_PROFILES".to_owned());
    let example = read(".env.example");
    let lines = example.lines().filter(|line| !line.starts_with('#'));
    let named = lines.filter_map(|line| Some(line.split_once('=')?.0.to_owned()));
    assert_eq!(named.collect::<BTreeSet<_>>(), used);
}

#[test]
fn every_program_waits_for_its_schema_and_reports_its_health() {
    let compose = compose();
    let mut roles = BTreeSet::new();
    for (name, service) in services(&compose) {
        assert_eq!(service["healthcheck"].is_object(), name != "migrate", "{name}");
        let ports = service["ports"].as_array().into_iter().flatten();
        for port in ports {
            let is_local = port.as_str().unwrap().starts_with("127.0.0.1:");
            assert!(is_local || name == "proxy", "{name} publishes {port}");
        }
        if service["image"] == "gateway:local" && name != "migrate" {
            let migrated = &service["depends_on"]["migrate"]["condition"];
            assert_eq!(migrated, "service_completed_successfully", "{name}");
            assert_eq!(service["read_only"], true, "{name}");
            assert_eq!(texts(&service["cap_drop"]), ["ALL"], "{name}");
            roles.extend(texts(&service["command"]).get(1).map(|role| (*role).to_owned()));
        }
    }
    assert_eq!(roles, Role::ALL.iter().map(ToString::to_string).collect());
}

/// Production refuses test addresses, and a shell is in no image.
#[test]
fn one_command_sets_up_both_profiles_and_only_the_proxy_belongs_to_one() {
    let compose = compose();
    assert_eq!(texts(&compose["services"]["migrate"]["command"]), ["gatewayctl", "setup"]);
    for (name, service) in services(&compose) {
        let profiles = texts(&service["profiles"]);
        assert_eq!(profiles, if name == "proxy" { &["production"][..] } else { &[] }, "{name}");
    }
    assert!(!read("docker-compose.yml").contains("addresses fill"));
}

/// The compose file of a release builds nothing, so what it mounts has to be beside it.
#[test]
fn a_release_has_every_file_that_its_compose_file_mounts_and_names_its_image() {
    let scratch = Scratch::new();
    let (programs, folder) = (scratch.fresh("programs"), scratch.fresh("dist"));
    std::fs::create_dir(&programs).unwrap();
    for name in ["gateway-api", "gateway-worker", "gateway-dashboard", "gatewayctl"] {
        std::fs::write(programs.join(name), name).unwrap();
    }
    let run = |command: &mut Command| {
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    let image = "ghcr.io/example/gateway:1.2.3";
    let mut pack = Command::new(root().join("scripts/pack.sh"));
    run(pack.args(["gateway-v1.2.3", image]).arg(&programs).arg(&folder));
    run(Command::new("tar")
        .arg("-xzf")
        .arg(folder.join("gateway-v1.2.3.tar.gz"))
        .arg("-C")
        .arg(&folder));
    let release = folder.join("gateway-v1.2.3");
    run(&mut Command::new(release.join("scripts/env.sh")));
    let text = std::fs::read_to_string(release.join("docker-compose.yml")).unwrap();
    let compose: Value = serde_saphyr::from_str(&interpolated(&text, &Variables::new())).unwrap();
    let mut mounted = 0;
    for (name, service) in services(&compose) {
        assert!(service["build"].is_null(), "{name} is built");
        let is_ours = !["postgres", "rabbitmq", "proxy"].contains(&name.as_str());
        assert_eq!(service["image"] == image, is_ours, "{name}");
        for volume in texts(&service["volumes"]).iter().filter(|volume| volume.starts_with('.')) {
            let file = volume.split(':').next().unwrap();
            assert!(release.join(file).exists(), "{name} mounts {file}");
            mounted += 1;
        }
    }
    for secret in compose["secrets"].as_object().unwrap().values() {
        assert!(release.join(secret["file"].as_str().unwrap()).exists(), "{secret}");
    }
    assert!(mounted >= 4, "only {mounted} mounts were found");
}
