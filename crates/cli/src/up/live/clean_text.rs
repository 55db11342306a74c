//! Makes text harmless for a terminal: names, logs and messages come from others.

/// Longer lines are cut.
const LINE_CHARS_MAX: usize = 4_000;
/// The columns between tab stops.
const TAB_WIDTH: usize = 8;

/// Returns one line without colors, escape sequences and control characters.
pub(super) fn clean_line(text: &str) -> String {
    let mut clean = String::with_capacity(text.len().min(LINE_CHARS_MAX));
    let mut columns = 0;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if columns >= LINE_CHARS_MAX {
            clean.push('…');
            break;
        }
        match letter {
            '\u{1b}' => skip_sequence(&mut letters),
            '\t' => {
                let spaces = TAB_WIDTH - columns % TAB_WIDTH;
                clean.extend(std::iter::repeat_n(' ', spaces));
                columns += spaces;
            }
            '\r' if letters.peek().is_none() => {}
            letter if letter.is_control() || is_reordering(letter) => {
                clean.push('·');
                columns += 1;
            }
            letter => {
                clean.push(letter);
                columns += 1;
            }
        }
    }
    clean
}

/// Skips the rest of an escape sequence: a color, a movement, a title.
fn skip_sequence(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match letters.peek() {
        Some('[') => {
            letters.next();
            while letters.next_if(|letter| matches!(letter, '\u{20}'..='\u{3f}')).is_some() {}
            letters.next_if(|letter| matches!(letter, '\u{40}'..='\u{7e}'));
        }
        Some(']' | 'P' | '_' | '^') => {
            while let Some(letter) = letters.next() {
                if letter == '\u{7}' {
                    return;
                }
                if letter == '\u{1b}' {
                    letters.next_if_eq(&'\\');
                    return;
                }
            }
        }
        _ => {}
    }
}

/// Whether a character changes the direction of the text around it, so that it reads differently than it is.
fn is_reordering(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_controls_the_terminal() {
        for (text, want) in [
            ("plain ü 漢", "plain ü 漢"),
            ("\x1b[31mred\x1b[0m \x1b[2J\x1b[1;1H!", "red !"),
            ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", "ab"),
            ("a\x07b\u{9b}c\u{202e}d", "a·b·c·d"),
            ("a\tb\r", "a       b"),
            ("progress 1\rprogress 2", "progress 1·progress 2"),
            ("\x1b", ""),
            ("\x1b]0;never ends", ""),
        ] {
            assert_eq!(clean_line(text), want, "{text:?}");
        }
        assert_eq!(clean_line(&"x".repeat(1 << 20)).chars().count(), LINE_CHARS_MAX + 1);
    }
}
