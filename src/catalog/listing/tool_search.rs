//! Tools that find and call the others, listed in place of them (`server.toolSearch`). They are called in server/.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::catalog::listing::{ListedToolAnnotations, ToolListing};
use crate::manifest::ToolSearch;

/// How large `tools/list` may be, in tokens, before little room is left for anything else.
pub const MAX_LIST_TOKENS: usize = 25_000;
/// How many words of a query count.
const MAX_TERMS: usize = 16;
/// Words of a query that say nothing of what a tool does.
const STOP_WORDS: &[&str] = &[
    "an", "and", "are", "at", "be", "by", "can", "could", "do", "does", "for", "from", "have", "how", "in", "is", "it",
    "me", "my", "need", "of", "on", "or", "our", "please", "see", "show", "that", "the", "there", "this", "to", "us",
    "want", "we", "what", "which", "with", "would", "you", "your",
];

/// About how many tokens JSON of a size is for a model.
pub fn token_count(bytes: usize) -> usize {
    bytes / 4
}

/// About how many tokens a list of tools is.
pub(in crate::catalog) fn list_tokens(tools: &[ToolListing]) -> usize {
    token_count(serde_json::to_string(tools).map_or(0, |json| json.len()))
}

/// What is listed in place of these tools, if they are searched.
pub(in crate::catalog) fn search_tools(setting: Option<ToolSearch>, tools: &[ToolListing]) -> Option<Vec<ToolListing>> {
    let is_on = match setting {
        None | Some(ToolSearch::Never) => false,
        Some(ToolSearch::Always) => !tools.is_empty(),
        Some(ToolSearch::Auto) => list_tokens(tools) > MAX_LIST_TOKENS,
    };
    is_on.then(|| SearchTool::ALL.into_iter().map(SearchTool::listing).collect())
}

/// A tool that finds or calls others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchTool {
    /// Finds tools by words.
    Search,
    /// Calls one that only reads.
    CallReadOnly,
    /// Calls any.
    Call,
}

impl SearchTool {
    /// All of them, in the order of the list.
    pub const ALL: [SearchTool; 3] = [SearchTool::Search, SearchTool::CallReadOnly, SearchTool::Call];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            SearchTool::Search => "search-tools",
            SearchTool::CallReadOnly => "call-read-only-tool",
            SearchTool::Call => "call-tool",
        }
    }

    /// The tool of a name.
    pub fn from_name(name: &str) -> Option<SearchTool> {
        SearchTool::ALL.into_iter().find(|tool| tool.name() == name)
    }

    fn description(self) -> &'static str {
        match self {
            SearchTool::Search => {
                "Finds tools of this server by words in their names, titles, descriptions and input schemas, and returns the \
                 best matches with their input schemas. Call those whose annotations have `readOnlyHint: true` with \
                 `call-read-only-tool`, and the others with `call-tool`."
            }
            SearchTool::CallReadOnly => {
                "Calls a tool of this server that only reads: `search-tools` returns it with `readOnlyHint: true`."
            }
            SearchTool::Call => {
                "Calls a tool of this server that may change something. `search-tools` finds it, with the schema of its \
                 arguments."
            }
        }
    }

    /// The schema of its arguments.
    pub fn input_schema(self) -> Value {
        match self {
            SearchTool::Search => json!({
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string", "maxLength": 256,
                        "description": "Words that name what the tool does, such as `create issue`"
                    },
                    "limit": {
                        "type": "integer", "minimum": 1, "maximum": 50, "default": 5,
                        "description": "How many tools to return at most"
                    }
                },
                "required": ["query"]
            }),
            SearchTool::CallReadOnly | SearchTool::Call => json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string", "description": "The name of the tool" },
                    "arguments": {
                        "type": "object", "description": "The arguments of the tool, by its `inputSchema`",
                        "properties": {}, "additionalProperties": true
                    }
                },
                "required": ["name"]
            }),
        }
    }

    fn listing(self) -> ToolListing {
        let annotations = match self {
            SearchTool::Call => ListedToolAnnotations { destructive_hint: Some(true), ..Default::default() },
            _ => ListedToolAnnotations { read_only_hint: Some(true), ..Default::default() },
        };
        ToolListing {
            name: self.name().to_owned(),
            description: Some(self.description().to_owned()),
            input_schema: self.input_schema().as_object().cloned().unwrap_or_default().into(),
            annotations: Some(annotations),
            ..ToolListing::default()
        }
    }
}

/// The tools that match a query, the best first; all of them where it has no words.
///
/// Each word counts where it matches best, and the more, the fewer tools it matches. Letters and stop words count only where
/// there is nothing else.
pub fn find_tools<'t>(query: &str, tools: &'t [ToolListing]) -> Vec<&'t ToolListing> {
    let all: Vec<String> = words(query).map(str::to_lowercase).collect();
    let is_telling = |word: &&String| {
        let is_letter = matches!(word.as_bytes(), [letter] if letter.is_ascii_alphabetic());
        !is_letter && !STOP_WORDS.contains(&word.as_str())
    };
    let mut terms: BTreeSet<&String> = all.iter().filter(is_telling).take(MAX_TERMS).collect();
    if terms.is_empty() {
        terms = all.iter().take(MAX_TERMS).collect();
    }
    if terms.is_empty() {
        return tools.iter().collect();
    }
    let texts: Vec<SearchableText> = tools.iter().map(SearchableText::new).collect();
    let mut scores = vec![0.0; tools.len()];
    for term in &terms {
        let points: Vec<u8> = texts.iter().map(|text| text.points(term)).collect();
        let matching = points.iter().filter(|points| **points > 0).count();
        let rarity = (1.0 + tools.len() as f64 / matching.max(1) as f64).ln();
        scores.iter_mut().zip(points).for_each(|(score, points)| *score += rarity * f64::from(points));
    }
    let mut found: Vec<(f64, &ToolListing)> = scores.into_iter().zip(tools).filter(|(score, _)| *score > 0.0).collect();
    // Of equal ones, the name with the least besides what was asked for.
    found.sort_by(|(one, a), (other, b)| other.total_cmp(one).then(a.name.len().cmp(&b.name.len())));
    found.into_iter().map(|(_, tool)| tool).collect()
}

/// The words of a tool, with what a match in them counts.
struct SearchableText([(u8, Vec<String>); 4]);

impl SearchableText {
    fn new(tool: &ToolListing) -> SearchableText {
        let SchemaWords { names, texts } = SchemaWords::of(&tool.input_schema);
        SearchableText([
            (8, word_parts(&tool.name).collect()),
            (6, tool.title.as_deref().into_iter().flat_map(word_parts).collect()),
            (4, names.into_iter().flat_map(word_parts).collect()),
            (2, tool.description.as_deref().into_iter().chain(texts).flat_map(word_parts).collect()),
        ])
    }

    /// What a term counts: a little more where it is a whole word, 0 where it is none.
    fn points(&self, term: &str) -> u8 {
        let stem = stem(term);
        // Few letters begin too many words, but for writing without spaces.
        let has_prefix = |word: &String| match term.is_ascii() {
            true => term.len() > 2 && word.starts_with(stem),
            false => word.contains(stem),
        };
        let points = |(weight, words): &(u8, Vec<String>)| match words {
            words if words.iter().any(|word| word == term) => weight + 1,
            words if words.iter().any(has_prefix) => *weight,
            _ => 0,
        };
        self.0.iter().map(points).max().unwrap_or(0)
    }
}

/// What an input schema says of its arguments, at any depth.
#[derive(Default)]
struct SchemaWords<'s> {
    names: Vec<&'s str>,
    /// Descriptions, and the values of `enum`.
    texts: Vec<&'s str>,
}

impl<'s> SchemaWords<'s> {
    fn of(schema: &'s Map<String, Value>) -> SchemaWords<'s> {
        let mut words = SchemaWords::default();
        let mut left = vec![schema];
        while let Some(schema) = left.pop() {
            for (key, value) in schema {
                match (key.as_str(), value) {
                    ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(schemas)) => {
                        if key == "properties" {
                            words.names.extend(schemas.keys().map(String::as_str));
                        }
                        left.extend(schemas.values().filter_map(Value::as_object));
                    }
                    ("items" | "additionalProperties", Value::Object(schema)) => left.push(schema),
                    ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                        left.extend(schemas.iter().filter_map(Value::as_object));
                    }
                    ("enum", Value::Array(values)) => words.texts.extend(values.iter().filter_map(Value::as_str)),
                    ("description", Value::String(text)) => words.texts.push(text),
                    _ => {}
                }
            }
        }
        words
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The words of a text in small letters, and of `getUserName` also `username` and `name`.
fn word_parts(text: &str) -> impl Iterator<Item = String> {
    words(text).flat_map(|word| {
        let mut after_small = false;
        let starts = word.char_indices().filter(move |(at, letter)| {
            let starts = *at == 0 || after_small && letter.is_uppercase();
            after_small = letter.is_lowercase() || letter.is_numeric();
            starts
        });
        starts.filter_map(|(at, _)| word.get(at..)).map(str::to_lowercase)
    })
}

/// What the singular and the plural of an English word begin with.
fn stem(word: &str) -> &str {
    let sibilants = ["ches", "shes", "sses", "xes", "uses"];
    let cut = match word.len() {
        4.. if word.ends_with("ss") => 0,
        6.. if word.ends_with("ies") => 3,
        6.. if sibilants.iter().any(|end| word.ends_with(end)) => 2,
        5.. if word.ends_with('y') => 1,
        4.. if word.ends_with('s') => 1,
        _ => 0,
    };
    word.get(..word.len() - cut).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str, arguments: Value) -> ToolListing {
        let schema = json!({ "type": "object", "properties": arguments });
        ToolListing {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            input_schema: schema.as_object().cloned().unwrap().into(),
            ..ToolListing::default()
        }
    }

    fn names(query: &str, tools: &[ToolListing]) -> Vec<String> {
        find_tools(query, tools).into_iter().map(|tool| tool.name.clone()).collect()
    }

    fn desk() -> Vec<ToolListing> {
        vec![
            tool("list-issues", "List what is open in a repository", json!({ "labels": {} })),
            tool("create-issue-comment", "Comment on something", json!({})),
            tool("create-issue", "File something new", json!({ "title": { "description": "A headline" } })),
            tool("getUserName", "Read who somebody is", json!({ "repo": {} })),
            tool("delete-branch", "Remove a line of work of an issue", json!({})),
        ]
    }

    #[test]
    fn name_counts_more_than_argument_and_that_more_than_description() {
        let mut tools = desk();
        assert_eq!(names("repo", &tools), ["getUserName", "list-issues"]);
        tools[4].title = Some("Repository cleaner".to_owned());
        assert_eq!(names("REPO", &tools), ["delete-branch", "getUserName", "list-issues"]);
        assert_eq!(
            names("issue", &tools),
            ["create-issue", "create-issue-comment", "list-issues", "delete-branch"],
            "the shorter of two names, and a whole word before the beginning of one"
        );
        assert_eq!(names("headline", &tools), ["create-issue"]);
    }

    #[test]
    fn rare_word_counts_more() {
        assert_eq!(names("create an issue comment", &desk())[0], "create-issue-comment");
        let mut tools: Vec<ToolListing> =
            (0..20).map(|n| tool(&format!("get-{n}"), "Get a thing", json!({}))).collect();
        tools.push(tool("send", "Send an invoice", json!({})));
        tools.push(tool("get-all-invoices", "x", json!({})));
        assert_eq!(names("get invoice", &tools)[..3], ["get-all-invoices", "send", "get-0"]);
        assert_eq!(names("thing invoice", &tools)[..2], ["get-all-invoices", "send"]);
    }

    #[test]
    fn words_are_found_in_other_forms() {
        let tools = desk();
        for (query, name) in [
            ("branches", "delete-branch"),
            ("repositories", "list-issues"),
            ("listIssues list", "list-issues"),
            ("user", "getUserName"),
            ("name", "getUserName"),
            ("getusername", "getUserName"),
        ] {
            assert_eq!(names(query, &tools).first().map(String::as_str), Some(name), "{query}");
        }
        assert!(names("i a zzz", &tools).is_empty(), "letters do not count");
        assert_eq!(names("what is a line of", &tools), ["delete-branch"], "stop words do not count");
        assert!(!names("what is it", &tools).is_empty(), "unless there is nothing else");
        let weather = [tool("t", "查询天气预报", json!({}))];
        assert_eq!(names("天气", &weather), ["t"]);
    }

    #[test]
    fn schemas_are_searched_at_any_depth() {
        let arguments = json!({ "filter": { "type": "object", "properties": {
            "colour": { "enum": ["crimson", 3] }, "sizes": { "items": { "anyOf": [{ "enum": ["gigantic"] }] } } } } });
        let tools = [tool("x", "Nothing", arguments), tool("other", "Says crimson in a text", json!({}))];
        assert_eq!(names("colour", &tools), ["x"]);
        assert_eq!(names("gigantic", &tools), ["x"]);
        assert_eq!(names("crimson", &tools), ["x", "other"]);
        assert!(names("enum", &tools).is_empty() && names("properties", &tools).is_empty());
    }

    #[test]
    fn without_words_all_are_found_in_order() {
        let tools = desk();
        assert_eq!(names(" -- ", &tools), tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>());
        assert!(names("zebra", &tools).is_empty());
    }

    #[test]
    fn auto_goes_by_size() {
        let is_on = |setting, tools: &[ToolListing]| search_tools(setting, tools).is_some();
        let large = [tool("t", &"x".repeat(4 * MAX_LIST_TOKENS), json!({}))];
        let small = [tool("t", "x", json!({}))];
        assert!(is_on(Some(ToolSearch::Auto), &large) && !is_on(Some(ToolSearch::Auto), &small));
        assert!(is_on(Some(ToolSearch::Always), &small) && !is_on(Some(ToolSearch::Always), &[]));
        assert!(!is_on(Some(ToolSearch::Never), &large) && !is_on(None, &large));
    }
}
