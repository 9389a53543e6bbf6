//! The file tree of the image, made by the script that the Dockerfile runs, and entered as a
//! container's process is: with no other file, as a user without rights.

use std::{
    collections::BTreeSet,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use support::server::{processes::program, scratch::Scratch};

use super::{read, root};

/// Of the image.
const USER: &str = "10001";
const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899c0ffee5eed00";

fn tree(scratch: &Scratch) -> PathBuf {
    let tree = scratch.fresh("image");
    let programs = program("gatewayctl").parent().unwrap().to_owned();
    let script = root().join("scripts/image-tree.sh");
    let made = Command::new(script).arg(programs).arg(&tree).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    tree
}

/// Root enters as the image's user; others as the one of a namespace, who has no more rights.
fn enter(tree: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let mut command = Command::new(if is_root { "chroot" } else { "unshare" });
    if is_root {
        command.arg(format!("--userspec={USER}:{USER}")).arg(tree);
    } else {
        command.args(["--user", "--map-root-user", "--root"]).arg(tree);
    }
    let path = std::env::var("PATH").unwrap() + ":/usr/sbin:/sbin:/usr/local/bin";
    command.args(arguments).env_clear().env("PATH", path);
    command.envs(environment.iter().copied()).output().unwrap()
}

fn files(folder: &Path, inside: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder.join(inside)).unwrap() {
        let entry = entry.unwrap();
        let inside = inside.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            files(folder, &inside, found);
        } else {
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o6022, 0, "{inside:?} gives rights, or can be changed");
            found.insert(inside.to_str().unwrap().to_owned());
        }
    }
}

#[test]
fn the_image_has_the_programs_their_libraries_and_certificates_and_nothing_else() {
    let scratch = Scratch::new();
    let tree = tree(&scratch);
    let mut found = BTreeSet::new();
    files(&tree, Path::new(""), &mut found);
    let programs = ["gateway-api", "gateway-dashboard", "gateway-worker", "gatewayctl"];
    let own: Vec<_> = found.iter().filter_map(|path| path.strip_prefix("usr/local/bin/")).collect();
    assert_eq!(own, programs);
    let is_expected = |path: &str| {
        let is_library = path.contains(".so.") && path.starts_with("lib");
        is_library
            || path.starts_with("usr/local/bin/")
            || path.starts_with("usr/share/doc/")
            || path.starts_with("var/lib/dpkg/status.d/")
            || path.starts_with("etc/")
    };
    let others: Vec<_> = found.iter().filter(|path| !is_expected(path)).collect();
    assert!(others.is_empty(), "{others:?}");
    // What a scanner reads: the package and the version of each library.
    for package in ["libc6", "libgcc-s1", "ca-certificates"] {
        let status = std::fs::read_to_string(tree.join("var/lib/dpkg/status.d").join(package));
        assert!(status.unwrap().contains("\nVersion: "), "{package}");
    }
    let dockerfile = read("Dockerfile");
    let last = dockerfile.split("\nFROM ").last().unwrap();
    assert!(last.starts_with("scratch\nCOPY --from=build /image/ /\n"), "{last}");
    assert!(last.contains(&format!("\nUSER {USER}:{USER}\n")), "{last}");
    assert!(dockerfile.contains("\nRUN scripts/image-tree.sh /out /image\n"));
}

#[test]
fn the_programs_run_in_the_image_as_its_user_with_secrets_in_files() {
    let scratch = Scratch::new();
    let tree = tree(&scratch);
    let said = |output: Output| {
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    };
    let (code, version) = said(enter(&tree, &["gatewayctl", "--version"], &[]));
    assert_eq!((code, version), (Some(0), format!("gatewayctl {}\n", env!("CARGO_PKG_VERSION"))));
    // The client loads the certificates before it calls.
    let (_, refused) = said(enter(&tree, &["gatewayctl", "ready", "https://127.0.0.1:1/"], &[]));
    assert!(refused.contains("Connection refused"), "{refused}");

    let secrets = tree.join("run/secrets");
    std::fs::create_dir_all(&secrets).unwrap();
    let key = secrets.join("GATEWAY_MASTER_KEY");
    std::fs::write(&key, KEY).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let is_root = rustix::process::getuid().is_root();
    let environment = [
        ("GATEWAY_SECRETS_DIR", "/run/secrets"),
        ("GATEWAY_PROFILE", "production"),
        ("DATABASE_URL", "postgres://app:e6a1f0c2@127.0.0.1:1/gateway"),
        ("GATEWAY_RATES__PROVIDERS", "fixed"),
    ];
    let start = |program| said(enter(&tree, &[program], &environment));
    if is_root {
        let (code, told) = start("gateway-dashboard");
        let cannot = format!("GATEWAY_MASTER_KEY cannot be read by user {USER}");
        assert!(code == Some(1) && told.contains(&cannot), "{told}");
        assert!(told.contains(&format!("run: chown {USER} /run/secrets/")), "{told}");
        let user = USER.parse().ok();
        std::os::unix::fs::chown(&key, user, user).unwrap();
    }
    for program in ["gateway-api", "gateway-dashboard"] {
        let (code, told) = start(program);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("production refuses fixed rates"), "{told}");
        assert!(!told.contains("GATEWAY_MASTER_KEY") && !told.contains(KEY), "{told}");
    }
}
