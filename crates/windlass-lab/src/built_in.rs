//! The profiles and scenarios that come with the program.

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../", $folder, "/", $name, ".toml")))),*]
    };
}

/// Profiles by name.
pub const PROFILES: &[(&str, &str)] = files!("profiles":
    "hawking-h-ps1u",
    "netgear-ps101",
    "linksys-ppsx1",
    "troy-pocketpro-100s",
    "hp-laserjet-4100n-lpr",
    "hp-laserjet-4100n-raw",
    "imagen-v2",
    "imagen-v3.3",
    "zephyr-no-window-update",
    "zephyr-delayed-ack",
    "esp8266-2-mss",
    "lwip-default",
    "kallistios-update-at-zero",
    "healthy",
);

/// Scenarios by name.
pub const SCENARIOS: &[(&str, &str)] =
    files!("scenarios": "print-servers", "imagen", "small-stacks");

/// Paths to sweep, by name.
pub const PATHS: &[(&str, &str)] =
    files!("paths": "gigabit", "white-space", "white-space-radio", "fading-radio", "long-fat");
