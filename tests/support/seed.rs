//! Seed of random tests.

/// From the environment, to repeat a run, or drawn; printed as the setting that repeats it.
pub fn seed() -> u64 {
    let given = std::env::var("GATEWAY_TEST_SEED").ok();
    let seed = given.map_or_else(rand::random, |text| text.parse().unwrap());
    println!("GATEWAY_TEST_SEED={seed}");
    seed
}
