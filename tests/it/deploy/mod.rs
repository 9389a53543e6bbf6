//! Checks of the Kubernetes manifests that are possible without a cluster, of the image without an
//! engine, and of the units without a machine that boots.

mod image;
mod units;

mod backup;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use gateway::config::variable_fault;
use gateway_workers::Role;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect("the file is part of the repository")
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("deploy/kubernetes")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(files.len() >= 7, "{files:?}");
    files
}

/// All objects of all files; those of a `List` one by one.
fn objects() -> Vec<Value> {
    let mut objects = Vec::new();
    for file in files() {
        let text = std::fs::read_to_string(file).unwrap();
        for document in text.split("\n---\n") {
            let document: Value = serde_saphyr::from_str(document).expect("a document is YAML");
            match document["items"].as_array() {
                Some(items) => objects.extend(items.iter().cloned()),
                None => objects.push(document),
            }
        }
    }
    objects
}

fn of_kind(kind: &str) -> Vec<Value> {
    let mut objects = objects();
    objects.retain(|object| object["kind"] == kind);
    assert!(!objects.is_empty(), "there is no {kind}");
    objects
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

fn lint(files: &[PathBuf]) -> (bool, String) {
    let found = Command::new(root().join("scripts/kubernetes.sh"))
        .stderr(Stdio::inherit())
        .output()
        .expect("the script runs");
    assert!(found.status.success(), "scripts/kubernetes.sh found no linter");
    let python = String::from_utf8(found.stdout).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/deploy/lint.py");
    let done = Command::new(python.trim()).arg(script).args(files).output().unwrap();
    let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (done.status.success(), said.concat())
}

#[test]
fn the_manifests_keep_to_the_schemas_of_kubernetes() {
    let (fine, said) = lint(&files());
    assert!(fine, "{said}");
    assert_eq!(said.lines().count(), objects().len(), "{said}");

    // A linter that accepts anything would have passed too.
    let broken = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken-manifest.yaml");
    let text = read("deploy/kubernetes/migrate.yaml").replace("backoffLimit", "backofLimit");
    std::fs::write(&broken, text).unwrap();
    let (fine, said) = lint(&[broken]);
    assert!(!fine && said.contains("backofLimit"), "{said}");
}

#[test]
fn every_role_has_a_deployment_and_is_scaled_by_a_queue_that_exists() {
    let deployments = of_kind("Deployment");
    let deployed: BTreeSet<_> = deployments.iter().map(name).collect();
    let mut wanted: BTreeSet<_> = Role::ALL.iter().map(|role| format!("gateway-{role}")).collect();
    wanted.extend(["gateway-api".to_owned(), "gateway-dashboard".to_owned()]);
    assert_eq!(deployed, wanted.iter().map(String::as_str).collect());

    let definitions: Value = serde_json::from_str(&read("rabbitmq/definitions.json")).unwrap();
    let queues = definitions["queues"].as_array().unwrap();
    for scaler in of_kind("HorizontalPodAutoscaler") {
        assert!(deployed.contains(name(&scaler)), "{} scales nothing", name(&scaler));
        assert_eq!(scaler["spec"]["scaleTargetRef"]["name"], scaler["metadata"]["name"]);
        let queue =
            &scaler["spec"]["metrics"][0]["external"]["metric"]["selector"]["matchLabels"]["queue"];
        assert!(
            queue.is_null() || queues.iter().any(|known| known["name"] == *queue),
            "{queue} is no queue"
        );
    }
}

/// Secrets with a seed, and those with its key, each with the one deployment that gets it.
const SEEDS: [(&str, &str); 2] = [
    ("gateway-payout-seed", "gateway-payout-batch"),
    ("gateway-x402-seed", "gateway-x402-settlement"),
];
const SEED_KEYS: [(&str, &str); 2] = [
    ("gateway-payout-key", "gateway-payout-batch"),
    ("gateway-x402-key", "gateway-x402-settlement"),
];

#[test]
fn every_container_is_confined_and_every_reference_leads_somewhere() {
    let named = |kind| -> BTreeSet<String> {
        of_kind(kind).iter().map(|object| name(object).to_owned()).collect()
    };
    let (secrets, settings) = (named("Secret"), named("ConfigMap"));
    for workload in [of_kind("Deployment"), of_kind("Job")].concat() {
        let place = name(&workload);
        let pod = &workload["spec"]["template"]["spec"];
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{place}");
        assert_eq!(pod["automountServiceAccountToken"], false, "{place}");
        let volumes = pod["volumes"].as_array().unwrap().iter();
        for volume in volumes.filter(|volume| volume["emptyDir"]["sizeLimit"].is_null()) {
            let secret = volume["secret"]["secretName"].as_str().unwrap();
            assert!(secrets.contains(secret), "{place} mounts {secret}");
            let holder = SEEDS.iter().find(|(seed, _)| *seed == secret).map(|(_, holder)| *holder);
            assert!(holder.is_none_or(|holder| holder == place), "{place} holds {secret}");
            // Kubernetes gives it to root and this group; 288 is 0440. Production refuses a
            // settings file that others can read.
            let readable = pod["securityContext"]["fsGroup"] == 10001;
            let closed = volume["secret"]["defaultMode"] == 288;
            assert!(readable && closed, "{place} cannot read {secret}, or others can");
        }
        for container in pod["containers"].as_array().unwrap() {
            let confined = &container["securityContext"];
            assert_eq!(confined["readOnlyRootFilesystem"], true, "{place}");
            assert_eq!(confined["allowPrivilegeEscalation"], false, "{place}");
            assert!(container["resources"]["limits"]["memory"].is_string(), "{place}");
            for (key, holder) in SEED_KEYS {
                let holds_key = container["env"].to_string().contains(key);
                assert_eq!(holds_key, place == holder, "{place} and {key}");
            }
            let (_, tag) = container["image"].as_str().unwrap().rsplit_once(':').unwrap();
            assert!(tag.contains('.'), "{place} runs any version");
            for source in container["envFrom"].as_array().unwrap() {
                let secret = source["secretRef"]["name"].as_str();
                let setting = source["configMapRef"]["name"].as_str();
                assert!(secret.is_none_or(|name| secrets.contains(name)), "{place}: {source}");
                assert!(setting.is_none_or(|name| settings.contains(name)), "{place}: {source}");
            }
        }
    }
}

/// The direct address takes the user of the pooled one, so a program with a user of its own
/// overrides that alone.
#[test]
fn every_program_gets_the_pooled_address_and_the_direct_one() {
    let secrets = of_kind("Secret");
    let keys = |wanted: &str| -> BTreeSet<String> {
        let secret = secrets.iter().find(|secret| name(secret) == wanted).unwrap();
        secret["stringData"].as_object().unwrap().keys().cloned().collect()
    };
    let addresses = ["DATABASE_URL", "GATEWAY_DATABASE_DIRECT_URL"];
    for workload in [of_kind("Deployment"), of_kind("Job")].concat() {
        let place = name(&workload);
        for container in workload["spec"]["template"]["spec"]["containers"].as_array().unwrap() {
            let sources = container["envFrom"].as_array().unwrap().iter();
            let given: Vec<_> = sources.filter_map(|of| of["secretRef"]["name"].as_str()).collect();
            let common = keys(given[0]);
            assert!(addresses.iter().all(|key| common.contains(*key)), "{place} lacks an address");
            let own = given[1..].iter().filter(|secret| secret.ends_with("-database"));
            for secret in own {
                assert_eq!(keys(secret), BTreeSet::from(["DATABASE_URL".to_owned()]), "{secret}");
            }
        }
    }
}

#[test]
fn every_setting_is_one_that_the_programs_read() {
    let defaults = read("src/config/default.toml");
    let mut known = BTreeSet::new();
    let mut section = String::new();
    for line in defaults.lines() {
        let line = line.trim_start_matches("# ");
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = format!("{}__", name.to_uppercase());
        } else if let Some((key, _)) = line.split_once(" = ") {
            known.insert(format!("GATEWAY_{section}{}", key.to_uppercase()));
        }
    }
    // The broker's users, and variables that are not settings but their locations.
    let others = ["RUST_LOG", "DATABASE_URL", "AMQP_URL", "GATEWAY_CONFIG", "networks.toml"];
    for object in [of_kind("ConfigMap"), of_kind("Secret")].concat() {
        let data = [&object["data"], &object["stringData"]];
        for key in data.iter().filter_map(|data| data.as_object()).flat_map(|data| data.keys()) {
            let is_file = ["config.yaml", "payout-seed", "x402-seed"].contains(&key.as_str());
            let is_user = key.starts_with("GATEWAY_BROKER__") && object["kind"] == "Secret";
            let is_known = known.contains(key) || others.contains(&key.as_str());
            assert!(is_known || is_file || is_user, "{key} of {} is no setting", name(&object));
        }
    }
}

/// Programs refuse to start with a name that is no setting, so a file that gives them one is
/// broken.
#[test]
fn no_program_would_refuse_a_variable_that_our_files_and_documents_name() {
    let folders = [
        "deploy",
        "deploy/kubernetes",
        "deploy/nginx",
        "deploy/systemd",
        "scripts",
        ".github/workflows",
        ".ci",
        "docs",
    ];
    let files = ["docker-compose.yml", ".env.example", "Makefile", "README.md", "sdk/README.md"];
    let mut paths = files.map(|file| root().join(file)).to_vec();
    let sdks = std::fs::read_dir(root().join("sdk")).unwrap();
    let readme = |sdk: std::io::Result<std::fs::DirEntry>| sdk.unwrap().path().join("README.md");
    paths.extend(sdks.map(readme).filter(|path| path.is_file()));
    for folder in folders {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        paths.extend(entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()));
    }
    let (mut names, mut refused) = (BTreeSet::new(), Vec::new());
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        for name in variables(&text) {
            // The second name of the broker's address is always set beside the first.
            let is_copy = name == "GATEWAY_BROKER_MANAGEMENT_URL";
            if let Some(fault) = variable_fault(name, "x").filter(|_| !is_copy) {
                refused.push(format!("{}: {fault}", path.display()));
            }
            names.insert(name.to_owned());
        }
    }
    assert!(names.len() > 40, "only {names:?} were found");
    assert!(refused.is_empty(), "no program starts with:\n  {}", refused.join("\n  "));
}

/// Whole names of variables in a text; `GATEWAY_BROKER__…` is none.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let words = text.split(move |c: char| !is_part(c));
    words.filter(|word| word.starts_with("GATEWAY_") && !word.ends_with('_'))
}
