//! Numbers and addresses for people.

use slowpath_model::shown;

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many of something, which is called `what` where there is one.
pub fn number_of(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count))
}

/// Bytes in the unit that reads best.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if number < 1024 {
        return format!("{number} B");
    }
    let mut value = number as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// An address and a port as one would type them.
pub fn address(address: &str, port: u16) -> String {
    match (address, port) {
        ("", 0) => "a Unix socket, or not told".to_owned(),
        (address, port) if address.contains(':') => format!("[{}]:{port}", shown(address)),
        (address, port) => format!("{}:{port}", shown(address)),
    }
}
