//! The state of a queue as a server reports it: text for people, without a common format. But each
//! server writes a line for a job that begins with its rank.

/// Counts the jobs that a server lists: lines that begin with a rank, such as `active`, `1st` or
/// `12`.
pub fn waiting(text: &[u8]) -> u64 {
    let is_rank = |word: &[u8]| {
        let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let ending = &word[digits..];
        word == b"active" || (digits > 0 && matches!(ending, b"" | b"st" | b"nd" | b"rd" | b"th"))
    };
    let lines = text.split(|byte| *byte == b'\n');
    let ranked = lines.filter(|line| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.next().is_some_and(is_rank)
    });
    ranked.count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn jobs_are_counted_by_their_ranks() {
        // As cups-lpd 2.4 and LPRng 3.9 write them.
        let cups = b"dummy is ready and printing\n\
                     Rank    Owner   Job     File(s)                         Total Size\n\
                     active  root    4       data.txt                        1011712 bytes\n\
                     1st     root    5       data.txt                        1011712 bytes\n\
                     2nd     root    6       3 files\n11th    root    15      x\n";
        assert_eq!(waiting(cups), 4);
        assert_eq!(waiting(b"dummy is ready\nno entries\n"), 0);
        let lprng =
            b"Printer: lp@host\n Queue: 2 printable jobs\n Rank   Owner/ID  Class Job Files\n\
                      active root@host+7      A     7 a\n2      root@host+8      A     8 b\n";
        assert_eq!(waiting(lprng), 2);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_list(text: Vec<u8>) {
            let lines = text.split(|byte| *byte == b'\n').count() as u64;
            prop_assert!(waiting(&text) <= lines);
        }
    }
}
