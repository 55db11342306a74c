//! Reads a Rust file: its tokens, its items, and views of its code, comments and string literals.

use std::ops::Range;

use anyhow::anyhow;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// What the checks need of a Rust file. Each view has the line breaks of the file, its own kind of
/// text, and spaces in place of the other kinds.
pub(super) struct RustSource {
    /// The code without the contents of string literals.
    pub(super) code: String,
    pub(super) comments: String,
    pub(super) strings: String,
    /// The tokens of the file and of each group in brackets, outer ones first.
    pub(super) token_lists: Vec<TokenList>,
    pub(super) items: Vec<RustItem>,
    /// The number of lines that are compiled into a library or program, counted from the start.
    pub(super) shipped_lines: usize,
}

/// Neighbouring tokens. A group in brackets is one token.
pub(super) struct TokenList {
    trees: Vec<TokenTree>,
    /// The text of each token; that of a group is its opening bracket, that of a literal is empty.
    pub(super) texts: Vec<String>,
}

/// A function, struct, enum, union, trait or type alias.
pub(super) struct RustItem {
    pub(super) keyword: String,
    pub(super) name: String,
    /// The line of the name, counted from 1.
    pub(super) line: usize,
    /// The number of lines from the name to the closing brace.
    pub(super) lines: usize,
    /// Whether other modules can see it: it has a visibility or belongs to a visible trait.
    pub(super) is_visible: bool,
    /// The tokens between the name and the body. Those of a struct, enum or union include its fields.
    pub(super) signature: TokenList,
}

impl RustSource {
    pub(super) fn parse(text: &str, shipped_lines: usize) -> anyhow::Result<RustSource> {
        let stream: TokenStream = text.parse().map_err(|error| anyhow!("not Rust: {error}"))?;
        let mut ranges = TokenRanges { text, code: Vec::new(), strings: Vec::new() };
        let mut token_lists = Vec::new();
        let mut items = Vec::new();
        let file = TokenList::new(stream);
        read_items(&file, &ItemHeader::default(), &mut items);
        ranges.read(file, &mut token_lists);
        Ok(RustSource {
            code: view(text, &ranges.code),
            strings: view(text, &ranges.strings),
            comments: ranges.comments(),
            token_lists,
            items,
            shipped_lines,
        })
    }

    pub(super) fn functions(&self) -> impl Iterator<Item = &RustItem> {
        self.items.iter().filter(|item| item.keyword == "fn")
    }

    /// The shipped lines of code with their numbers.
    pub(super) fn shipped_code(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.code.lines()).take(self.shipped_lines)
    }
}

impl TokenList {
    fn new(stream: TokenStream) -> TokenList {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let texts = trees.iter().map(|tree| match tree {
            TokenTree::Group(group) => match group.delimiter() {
                Delimiter::Parenthesis => "(".to_owned(),
                Delimiter::Bracket => "[".to_owned(),
                Delimiter::Brace => "{".to_owned(),
                Delimiter::None => String::new(),
            },
            TokenTree::Literal(_) => String::new(),
            other => other.to_string(),
        });
        TokenList { texts: texts.collect(), trees }
    }

    /// The tokens in the group at a position; `None` if there is no group.
    pub(super) fn group(&self, at: usize) -> Option<TokenList> {
        match self.trees.get(at)? {
            TokenTree::Group(group) => Some(TokenList::new(group.stream())),
            _ => None,
        }
    }

    /// Whether the token at a position is a tuple of several values, types or patterns.
    pub(super) fn is_tuple(&self, at: usize) -> bool {
        let inner = self.group(at);
        self.text(at) == "(" && inner.is_some_and(|inner| inner.texts.iter().any(|it| it == ","))
    }

    pub(super) fn text(&self, at: usize) -> &str {
        self.texts.get(at).map_or("", String::as_str)
    }

    /// Some texts from a position; empty ones after the end.
    pub(super) fn window<const N: usize>(&self, at: usize) -> [&str; N] {
        std::array::from_fn(|offset| self.text(at + offset))
    }

    /// The line of a token, counted from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.trees.get(at).map_or(0, |tree| tree.span().start().line)
    }

    /// Each token with the number of angle brackets around it.
    pub(super) fn with_angle_depth(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut depth = 0_usize;
        let mut previous = "";
        self.texts.iter().map(move |text| {
            if text == ">" && previous != "-" && previous != "=" {
                depth = depth.saturating_sub(1);
            }
            let around = depth;
            if text == "<" {
                depth += 1;
            }
            previous = text;
            (around, text.as_str())
        })
    }
}

/// The places of code and string literals in a text. The remaining text is comments.
struct TokenRanges<'a> {
    text: &'a str,
    code: Vec<Range<usize>>,
    strings: Vec<Range<usize>>,
}

impl TokenRanges<'_> {
    fn read(&mut self, list: TokenList, lists: &mut Vec<TokenList>) {
        let position = lists.len();
        lists.push(TokenList { trees: Vec::new(), texts: Vec::new() });
        for tree in &list.trees {
            let range = tree.span().byte_range();
            let source = self.text.get(range.clone()).unwrap_or_default();
            match tree {
                // A documentation comment is an attribute whose tokens have the place of the comment.
                _ if source.starts_with("//") || source.starts_with("/*") => {}
                TokenTree::Group(group) => {
                    self.code.push(group.span_open().byte_range());
                    self.code.push(group.span_close().byte_range());
                    self.read(TokenList::new(group.stream()), lists);
                }
                TokenTree::Literal(_) => self.read_literal(source, range),
                _ => self.code.push(range),
            }
        }
        if let Some(place) = lists.get_mut(position) {
            *place = list;
        }
    }

    /// The quotes of a string literal are code, and its content is not.
    fn read_literal(&mut self, source: &str, range: Range<usize>) {
        let is_string = source.trim_start_matches(['b', 'c', 'r', '#']).starts_with('"');
        match source.find('"').zip(source.rfind('"')) {
            Some((open, close)) if is_string => {
                self.code.push(range.start..range.start + open + 1);
                self.strings.push(range.start + open + 1..range.start + close);
                self.code.push(range.start + close..range.end);
            }
            _ => self.code.push(range),
        }
    }

    fn comments(&self) -> String {
        let mut bytes = self.text.as_bytes().to_vec();
        for range in self.code.iter().chain(&self.strings) {
            let token = bytes.get_mut(range.clone()).unwrap_or_default();
            token.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The text of some ranges, with spaces in place of the rest.
fn view(text: &str, ranges: &[Range<usize>]) -> String {
    let blank = |byte| if byte == b'\n' { byte } else { b' ' };
    let mut bytes: Vec<u8> = text.bytes().map(blank).collect();
    for range in ranges {
        let source = text.as_bytes().get(range.clone());
        if let Some((target, source)) = bytes.get_mut(range.clone()).zip(source) {
            target.copy_from_slice(source);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The start of a statement or item.
#[derive(Default)]
struct ItemHeader {
    keyword: String,
    is_visible: bool,
    /// The position of the token after the keyword.
    name_at: usize,
}

fn read_items(list: &TokenList, outer: &ItemHeader, items: &mut Vec<RustItem>) {
    let mut start = 0;
    for (at, text) in list.texts.iter().enumerate() {
        let mut header = ItemHeader::default();
        if text == "{" || text == ";" {
            header = read_header(list, start, at);
            items.extend(read_item(list, &header, at, outer));
            start = at + 1;
        }
        if let Some(group) = list.group(at) {
            read_items(&group, &header, items);
        }
    }
}

/// Reads past attributes, visibility and modifiers.
fn read_header(list: &TokenList, start: usize, end: usize) -> ItemHeader {
    let mut at = start;
    let mut is_visible = false;
    while at < end {
        is_visible |= list.text(at) == "pub";
        at += match list.window::<3>(at) {
            ["#", "[", _] | ["pub", "(", _] => 2,
            ["#", "!", "["] => 3,
            ["pub" | "const" | "async" | "unsafe" | "extern" | "default" | "auto" | "", ..] => 1,
            _ => break,
        };
    }
    ItemHeader { keyword: list.text(at).to_owned(), is_visible, name_at: at + 1 }
}

fn read_item(
    list: &TokenList,
    header: &ItemHeader,
    end: usize,
    outer: &ItemHeader,
) -> Option<RustItem> {
    let is_item = match header.keyword.as_str() {
        "fn" | "struct" | "enum" | "union" | "trait" => true,
        "type" => outer.keyword != "impl" && outer.keyword != "trait",
        _ => false,
    };
    let TokenTree::Ident(name) = list.trees.get(header.name_at)? else {
        return None;
    };
    let has_fields = matches!(header.keyword.as_str(), "struct" | "enum" | "union");
    let signature_end = if has_fields { end + 1 } else { end };
    let signature = list.trees.get(header.name_at + 1..signature_end)?.iter().cloned().collect();
    let line = list.line(header.name_at);
    let last_line = list.trees.get(end)?.span().end().line;
    let in_visible_trait = outer.keyword == "trait" && outer.is_visible;
    is_item.then(|| RustItem {
        keyword: header.keyword.clone(),
        name: name.to_string(),
        line,
        lines: last_line - line + 1,
        is_visible: header.is_visible || header.keyword == "fn" && in_visible_trait,
        signature: TokenList::new(signature),
    })
}
