//! Checks of `docker-compose.yml` that are possible without a container engine.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

const SCHEMA: &str = include_str!("compose-spec.schema.json");

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_to_string(root.join(path)).expect("the file is part of the repository")
}

fn compose() -> Value {
    serde_saphyr::from_str(&read("docker-compose.yml")).expect("the file is YAML")
}

fn services(compose: &Value) -> &serde_json::Map<String, Value> {
    compose["services"].as_object().expect("the file has services")
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
    for line in dockerfile.lines().filter(|line| line.starts_with("FROM ")) {
        assert!(line.contains(':') && line.contains('.'), "{line}");
    }
}

#[test]
fn every_secret_comes_from_the_environment_and_is_named_in_the_example() {
    let text = read("docker-compose.yml");
    let required: BTreeSet<_> = text
        .split("${")
        .skip(1)
        .filter_map(|part| part.split_once(":?").map(|(name, _)| name.to_owned()))
        .collect();
    let example = read(".env.example");
    let named: BTreeSet<_> = example
        .lines()
        .filter_map(|line| line.strip_suffix('='))
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    assert_eq!(required, named);
    for (name, service) in services(&compose()) {
        let Some(environment) = service["environment"].as_object() else { continue };
        for (key, value) in environment {
            let secret = ["PASS", "KEY", "DATABASE_URL", "AMQP_URL", "MANAGEMENT_URL"];
            let value = value.as_str().unwrap();
            if secret.iter().any(|mark| key.contains(mark)) {
                assert!(value.contains(":?"), "{name} has its {key} in the file");
            }
        }
    }
}

#[test]
fn every_program_waits_for_its_schema_and_reports_its_health() {
    let compose = compose();
    let mut programs = 0;
    for (name, service) in services(&compose) {
        assert_eq!(service["healthcheck"].is_object(), name != "migrate", "{name}");
        let ports = service["ports"].as_array().into_iter().flatten();
        for port in ports {
            assert!(port.as_str().unwrap().starts_with("127.0.0.1:"), "{name} publishes {port}");
        }
        if service["image"] == "gateway:local" && name != "migrate" {
            programs += 1;
            let migrated = &service["depends_on"]["migrate"]["condition"];
            assert_eq!(migrated, "service_completed_successfully", "{name}");
        }
    }
    assert!(programs >= 7, "the API and a worker of each role");
}
