//! Keys of a prompt that the APIs of models have: roles, and the model itself.

use super::Corrector;
use crate::diagnostic::{Code, Span};
use crate::manifest::prompt::{SYSTEM_ROLE, SYSTEM_ROLE_HELP};
use crate::yaml::{MapEntry, NodeId, flow_scalar};

/// What the client chooses, and no prompt.
const MODEL_KEYS: &[&str] = &["model", "temperature", "max_tokens", "maxTokens", "top_p", "topP", "config", "provider"];

impl Corrector<'_> {
    pub(super) fn prompt_keys(&mut self, prompt: NodeId) {
        self.command_keys(prompt);
        self.input_variables(prompt);
        self.role_keys(prompt);
        self.model_keys(prompt);
        if let Some(input) = self.document.entry_of(prompt, "input") {
            self.input_schema(prompt, input);
        }
    }

    /// `input_variables` with a `template`, whose names stand in single braces.
    fn input_variables(&mut self, prompt: NodeId) {
        let find = |key: &str| self.document.entry_of(prompt, key);
        let (Some(variables), Some(template)) = (find("input_variables"), find("template")) else { return };
        let items = self.document.items_of(variables.value).unwrap_or_default();
        let names: Vec<String> =
            items.iter().filter_map(|item| self.document.string_of(*item).map(str::to_owned)).collect();
        let Some(mut text) = self.document.string_of(template.value).map(str::to_owned) else { return };
        for name in &names {
            text = text.replace(&format!("{{{{{name}}}}}"), &format!("{{{name}}}"));
            text = text.replace(&format!("{{{name}}}"), &format!("{{{{{name}}}}}"));
        }
        let (at, span) = (self.span(variables.key), self.span(prompt));
        let arguments: Vec<String> = names.iter().map(|name| format!("{name}: {{}}")).collect();
        let arguments = format!("arguments: {{ {} }}", arguments.join(", "));
        let help = match text.contains('\n') {
            true => format!("write `{arguments}`, and the template as `text`, with each name in double braces"),
            false => format!("write `{arguments}` and `text: {}`", flow_scalar(&text)),
        };
        self.report.error(Code::UnknownKey, at, "unknown key `input_variables`").help(help);
        let mut declared = Vec::new();
        for item in items {
            declared.push(MapEntry { key: item, value: self.document.add_map(Vec::new(), at) });
        }
        let declared = self.document.add_map(declared, span);
        let [arguments_key, text_key, text] =
            ["arguments", "text", &text].map(|text| self.document.add_string(text, at));
        let of_format = ["input_variables", "template", "template_format", "validate_template", "_type"];
        let mut entries = self.document.entries_of(prompt).unwrap_or_default();
        entries.retain(|entry| !of_format.contains(&self.document.key_text(entry.key)));
        entries.push(MapEntry { key: arguments_key, value: declared });
        entries.push(MapEntry { key: text_key, value: text });
        let map = self.document.add_map(entries, span);
        self.document.replace(prompt, map);
    }

    /// `system`, `user` and `assistant` beside the other keys.
    fn role_keys(&mut self, prompt: NodeId) {
        let entries = self.document.entries_of(prompt).unwrap_or_default();
        let is_role = |entry: &&MapEntry| ["system", "user", "assistant"].contains(&self.document.key_text(entry.key));
        let roles: Vec<MapEntry> = entries.iter().filter(is_role).copied().collect();
        let Some(first) = roles.first().copied() else { return };
        let has_content = ["text", "messages"].iter().any(|key| self.document.entry_of(prompt, key).is_some());
        let at = self.span(first.key);
        let name = self.document.key_text(first.key).to_owned();
        let system = roles.iter().find(|role| self.document.key_text(role.key) == "system").copied();
        if let Some(system) = system {
            self.report.error(Code::Role, self.span(system.key), SYSTEM_ROLE).help(SYSTEM_ROLE_HELP);
        } else {
            let texts: Vec<String> = roles
                .iter()
                .map(|role| format!("{{ {}: {} }}", self.document.key_text(role.key), self.flow_text(role.value)))
                .collect();
            let text = format!("messages: [{}]", texts.join(", "));
            let is_short = !text.contains('\n') && !has_content;
            let help =
                if is_short { format!("write `{text}`") } else { "write it as an item of `messages`".to_owned() };
            let diagnostic =
                self.report.error(Code::UnknownKey, at, format!("unknown key `{name}`: it belongs to `messages`"));
            diagnostic.help(help);
            if let ([only], true) = (roles.as_slice(), is_short) {
                diagnostic.fix(Span { end: self.document.location(only.value).span().end, ..at }, text);
            }
        }
        self.read_roles(prompt, &roles, has_content);
    }

    /// Reads roles as messages.
    fn read_roles(&mut self, prompt: NodeId, roles: &[MapEntry], has_content: bool) {
        let span = self.span(prompt);
        let mut rest = self.document.entries_of(prompt).unwrap_or_default();
        rest.retain(|entry| !roles.iter().any(|role| role.key == entry.key));
        if !has_content {
            let mut items = Vec::new();
            for role in roles {
                let is_system = self.document.key_text(role.key) == "system";
                let key = if is_system { self.document.add_string("user", span) } else { role.key };
                items.push(self.document.add_map(vec![MapEntry { key, value: role.value }], span));
            }
            let (key, value) = (self.document.add_string("messages", span), self.document.add_list(items, span));
            rest.push(MapEntry { key, value });
        }
        let map = self.document.add_map(rest, span);
        self.document.replace(prompt, map);
    }

    /// Keys of a slash command, whose file is not one of this language.
    fn command_keys(&mut self, prompt: NodeId) {
        let find = |key: &&str| self.document.entry_of(prompt, key);
        let Some(found) = ["argument-hint", "allowed-tools"].iter().find_map(find) else { return };
        let name = self.document.key_text(found.key).to_owned();
        self.report
            .error(Code::UnknownKey, self.span(found.key), format!("unknown key `{name}`"))
            .help("remove it, or serve the folder as it is: `packs: { NAME: { path: …, format: claude-commands } }`");
        let mut rest = self.document.entries_of(prompt).unwrap_or_default();
        rest.retain(|entry| !["argument-hint", "allowed-tools"].contains(&self.document.key_text(entry.key)));
        let map = self.document.add_map(rest, self.span(prompt));
        self.document.replace(prompt, map);
    }

    /// `model` and its settings.
    fn model_keys(&mut self, prompt: NodeId) {
        let mut entries = self.document.entries_of(prompt).unwrap_or_default();
        let is_model =
            |corrector: &Self, entry: &MapEntry| MODEL_KEYS.contains(&corrector.document.key_text(entry.key));
        let Some(first) = entries.iter().find(|entry| is_model(self, entry)).copied() else { return };
        let name = self.document.key_text(first.key).to_owned();
        self.report
            .error(Code::UnknownKey, self.span(first.key), format!("unknown key `{name}`"))
            .help("remove it, and what belongs to it: the client chooses the model and its settings");
        entries.retain(|entry| !is_model(self, entry));
        let map = self.document.add_map(entries, self.span(prompt));
        self.document.replace(prompt, map);
    }

    /// `input: { schema: … }`, as dotprompt has it.
    fn input_schema(&mut self, prompt: NodeId, input: MapEntry) {
        let Some(schema) = self.document.entry_of(input.value, "schema") else { return };
        if self.document.entry_of(prompt, "arguments").is_some() || self.document.entries_of(schema.value).is_none() {
            return;
        }
        self.report
            .error(Code::UnknownKey, self.span(input.key), "unknown key `input`")
            .help("write what stands in its `schema` as `arguments: { NAME: { type: string } }`");
        let arguments = self.document.add_map(Vec::new(), self.span(schema.value));
        for argument in self.document.entries_of(schema.value).unwrap_or_default() {
            let empty = self.document.add_map(Vec::new(), self.span(argument.value));
            let entry = MapEntry { key: argument.key, value: empty };
            let mut entries = self.document.entries_of(arguments).unwrap_or_default();
            entries.push(entry);
            let all = self.document.add_map(entries, self.span(schema.value));
            self.document.replace(arguments, all);
        }
        let key = self.document.add_string("arguments", self.span(input.key));
        self.replace_entry(prompt, input, MapEntry { key, value: arguments });
    }
}
