//! The functions and types that a Rust file defines.

use std::ops::Range;

/// A word or a punctuation mark of the code, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CodeToken {
    /// The line, counted from 1.
    pub(super) line: usize,
    pub(super) text: String,
}

/// A function with or without a body.
#[derive(Debug)]
pub(super) struct FunctionItem {
    pub(super) name: String,
    /// The line of the keyword `fn`, counted from 1.
    pub(super) line: usize,
    /// The number of lines up to the closing brace.
    pub(super) lines: usize,
    /// Whether other modules can see it: it has a visibility or belongs to a visible trait.
    pub(super) is_visible: bool,
    /// The tokens from the name to the body.
    pub(super) signature: Range<usize>,
}

/// A struct, enum, union, trait or type alias.
#[derive(Debug)]
pub(super) struct TypeItem {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) is_visible: bool,
    /// The tokens from the keyword to the body or the end of the line.
    pub(super) signature: Range<usize>,
}

/// The tokens and items of one file.
#[derive(Debug, Default)]
pub(super) struct RustItems {
    pub(super) tokens: Vec<CodeToken>,
    pub(super) functions: Vec<FunctionItem>,
    pub(super) types: Vec<TypeItem>,
}

impl RustItems {
    /// The texts of a range of tokens.
    pub(super) fn texts(&self, range: &Range<usize>) -> Vec<&str> {
        let tokens = self.tokens.get(range.clone()).unwrap_or_default();
        tokens.iter().map(|token| token.text.as_str()).collect()
    }
}

/// Reads the code view of a file.
pub(super) fn parse(code: &str) -> RustItems {
    let mut parser = ItemParser {
        items: RustItems { tokens: tokenize(code), ..RustItems::default() },
        blocks: Vec::new(),
        header_start: 0,
        bracket_depth: 0,
    };
    for at in 0..parser.items.tokens.len() {
        parser.advance(at);
    }
    parser.items
}

fn tokenize(code: &str) -> Vec<CodeToken> {
    let mut tokens = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match rest.find(|char: char| !is_word(char)) {
                Some(0) if rest.starts_with("->") || rest.starts_with("=>") => 2,
                Some(0) => first.len_utf8(),
                Some(length) => length,
                None => rest.len(),
            };
            let (text, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            tokens.push(CodeToken { line: index + 1, text: text.to_owned() });
            rest = after.trim_start();
        }
    }
    tokens
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

#[derive(Clone, Copy)]
enum BlockOwner {
    Impl,
    Trait {
        is_visible: bool,
    },
    /// The function with this index.
    Function(usize),
    Other,
}

struct OpenBlock {
    owner: BlockOwner,
    /// The bracket depth around the block.
    bracket_depth: usize,
}

/// The start of a statement or item, read up to its keyword.
struct ItemHeader {
    keyword: String,
    /// The token after the keyword.
    name_at: usize,
    is_visible: bool,
}

struct ItemParser {
    items: RustItems,
    blocks: Vec<OpenBlock>,
    /// The first token after the last `;`, `{` or `}`.
    header_start: usize,
    bracket_depth: usize,
}

impl ItemParser {
    fn advance(&mut self, at: usize) {
        match self.text(at) {
            "(" | "[" => self.bracket_depth += 1,
            ")" | "]" => self.bracket_depth = self.bracket_depth.saturating_sub(1),
            "{" => {
                let owner = self.define(at);
                self.blocks.push(OpenBlock { owner, bracket_depth: self.bracket_depth });
                self.bracket_depth = 0;
                self.header_start = at + 1;
            }
            "}" => {
                self.close_block(at);
                self.header_start = at + 1;
            }
            ";" if self.bracket_depth == 0 => {
                self.define(at);
                self.header_start = at + 1;
            }
            _ => {}
        }
    }

    fn text(&self, at: usize) -> &str {
        self.items.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    fn line(&self, at: usize) -> usize {
        self.items.tokens.get(at).map_or(0, |token| token.line)
    }

    fn close_block(&mut self, at: usize) {
        let Some(block) = self.blocks.pop() else {
            return;
        };
        self.bracket_depth = block.bracket_depth;
        let end = self.line(at);
        if let BlockOwner::Function(index) = block.owner
            && let Some(function) = self.items.functions.get_mut(index)
        {
            function.lines = end - function.line + 1;
        }
    }

    /// Records the item whose header ends before a token.
    fn define(&mut self, end: usize) -> BlockOwner {
        let Some(header) = self.header(end) else {
            return BlockOwner::Other;
        };
        let ItemHeader { keyword, name_at, is_visible } = header;
        let name = self.text(name_at).to_owned();
        let line = self.line(name_at);
        let signature = name_at..end;
        let outer = self.blocks.last().map_or(BlockOwner::Other, |block| block.owner);
        match keyword.as_str() {
            "impl" => BlockOwner::Impl,
            "fn" => {
                let in_visible_trait = matches!(outer, BlockOwner::Trait { is_visible: true });
                let lines = self.line(end) - line + 1;
                let is_visible = is_visible || in_visible_trait;
                let function = FunctionItem { name, line, lines, is_visible, signature };
                self.items.functions.push(function);
                BlockOwner::Function(self.items.functions.len() - 1)
            }
            "type" if matches!(outer, BlockOwner::Impl | BlockOwner::Trait { .. }) => {
                BlockOwner::Other
            }
            "struct" | "enum" | "union" | "trait" | "type" if name.chars().all(is_word) => {
                let is_trait = keyword == "trait";
                self.items.types.push(TypeItem { name, line, is_visible, signature });
                if is_trait { BlockOwner::Trait { is_visible } } else { BlockOwner::Other }
            }
            _ => BlockOwner::Other,
        }
    }

    fn header(&self, end: usize) -> Option<ItemHeader> {
        let mut at = self.header_start;
        while self.text(at) == "#" {
            at = self.after_brackets(at + 1);
        }
        let is_visible = self.text(at) == "pub";
        if is_visible {
            at += 1;
            if self.text(at) == "(" {
                at = self.after_brackets(at);
            }
        }
        while ["const", "async", "unsafe", "extern", "default", "auto", "\""]
            .contains(&self.text(at))
        {
            at += 1;
        }
        let keyword = self.text(at).to_owned();
        (at < end).then_some(ItemHeader { keyword, name_at: at + 1, is_visible })
    }

    /// The token after the bracket that closes the one at a token.
    fn after_brackets(&self, start: usize) -> usize {
        let mut depth = 0_usize;
        for at in start..self.items.tokens.len() {
            match self.text(at) {
                "(" | "[" => depth += 1,
                ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.items.tokens.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_the_keyword_to_the_brace() {
        let code = "impl A {\n    #[test]\n    pub(crate) const fn one(\n        a: [u8; 2],\n    ) -> u8 {\n        f(|| { 1; });\n        a\n    }\n}\n\nfn two() {\n    if a {\n    }\n}\ntrait T {\n    fn three();\n}\n";
        let items = parse(code);
        let found: Vec<_> = items
            .functions
            .iter()
            .map(|f| (f.name.as_str(), f.line, f.lines, f.is_visible))
            .collect();
        assert_eq!(found, [("one", 3, 6, true), ("two", 11, 4, false), ("three", 16, 1, false)]);
    }

    #[test]
    fn associated_types_are_no_definitions() {
        let code = "pub struct A<T>(T);\nimpl X for A {\n    type Item = u8;\n    fn f() { struct B; }\n}\npub trait T {\n    type Item;\n    fn g();\n}\nmod m {\n    type C = u8;\n}\nmacro_rules! m { () => { struct $name; } }\n";
        let items = parse(code);
        let names: Vec<&str> = items.types.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["A", "B", "T", "C"]);
        assert!(items.functions.iter().any(|f| f.name == "g" && f.is_visible));
    }
}
