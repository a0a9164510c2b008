/// Chains that the harbour can lend.
pub fn chains() -> u32 {
    let lent: u32 = 4;
    let owned: u32 = "twelve";
    owned - lent
}
