//! Steps as workflows and playbooks have them: with `name`, `uses`, `run` and the names of modules. All of a list are one
//! mistake, which shows the steps as they are written here.

use super::Corrector;
use super::text::words;
use crate::diagnostic::{Code, Span};
use crate::yaml::{MapEntry, NodeId, flow_scalar, struct_keys};

/// Keys that hold a command.
const COMMAND_KEYS: &[&str] = &["run", "shell", "command", "cmd", "raw", "bash", "sh"];

/// Names of modules and keys that only steps of other runners have.
const MODULE_KEYS: &[&str] = &[
    "debug", "copy", "template", "apt", "yum", "dnf", "package", "pip", "service", "systemd", "set_fact", "lineinfile",
    "get_url", "user", "become", "register", "tasks", "hosts", "checkout", "save_cache", "restore_cache",
];

/// The most steps that are shown.
const MAX_SHOWN_STEPS: usize = 8;

/// A step as it is written here.
struct SuggestedStep {
    /// What follows its dash; `None` where nothing here does the same.
    text: Option<String>,
    /// A remark behind it.
    remark: String,
    id: Option<String>,
    /// Whether the text says all that the step did.
    is_whole: bool,
}

impl Corrector<'_> {
    /// Reads the steps of an entry, if they are those of another runner. Returns whether they are.
    pub(super) fn correct_workflow_steps(&mut self, entry: NodeId) -> bool {
        let written = self.document.first_entry_of(entry, &["run", "steps", "tasks"]);
        let Some(owner) = written.filter(|owner| self.runner_steps(*owner)) else { return false };
        let key = self.document.add_string("run", self.span(owner.key));
        self.replace_entry(entry, owner, MapEntry { key, value: owner.value });
        true
    }

    /// Reads a list of steps of another runner, below `run` or a key that stands for it. Returns whether it is one.
    fn runner_steps(&mut self, owner: MapEntry) -> bool {
        let steps = self.document.items_of(owner.value).unwrap_or_default();
        let is_renamed = self.document.key_text(owner.key) != "run";
        let marks: usize = steps.iter().map(|step| self.workflow_key_score(*step)).sum();
        if marks + usize::from(is_renamed) < 2 || marks == 0 {
            return false;
        }
        let meant: Vec<SuggestedStep> = steps.iter().map(|step| self.suggested_step(*step)).collect();
        let (at, key) = self.first_workflow_key(owner, &steps, is_renamed);
        let fix = self.steps_fix(owner, &meant);
        let diagnostic =
            self.report.error(Code::UnknownKey, at, format!("unknown key `{key}`: these are steps of another program"));
        diagnostic.help(steps_help(&meant));
        if let Some((span, text)) = fix {
            diagnostic.fix(span, text);
        }
        self.read_as_scripts(owner.value, &meant);
        true
    }

    /// How many keys of a step only other runners have.
    fn workflow_key_score(&self, step: NodeId) -> usize {
        let uses = self.document.entry_of(step, "uses").and_then(|uses| self.document.string_of(uses.value));
        let is_action = uses.is_some_and(|uses| uses.contains(['/', '@']));
        let entries = self.document.entries_of(step).unwrap_or_default();
        let mark = |entry: &MapEntry| match self.document.key_text(entry.key) {
            "uses" if is_action => 2,
            "with" if is_action => 1,
            "name" => 1,
            "loop" | "with_items" => {
                1 + usize::from(self.raw(step).contains("{{item") || self.raw(step).contains("{{ item"))
            }
            "run" if self.document.entry_of(entry.value, "command").is_some() => 2,
            "run" => usize::from(self.document.string_of(entry.value).is_some()),
            key if MODULE_KEYS.contains(&key) => 1,
            key if key.split('.').count() > 2 => 2,
            _ => 0,
        };
        entries.iter().map(mark).sum()
    }

    /// The first key that is wrong.
    fn first_workflow_key(&self, owner: MapEntry, steps: &[NodeId], is_renamed: bool) -> (Span, String) {
        let known = struct_keys::<crate::action::Step>();
        let keys = steps.iter().flat_map(|step| self.document.entries_of(*step).unwrap_or_default());
        let wrong = keys.map(|entry| entry.key).find(|key| !known.contains(&self.document.key_text(*key)));
        let key = if is_renamed { owner.key } else { wrong.unwrap_or(owner.key) };
        (self.span(key), self.document.key_text(key).to_owned())
    }

    fn suggested_step(&self, step: NodeId) -> SuggestedStep {
        let known = struct_keys::<crate::action::Step>();
        let mut meant = SuggestedStep { text: None, remark: String::new(), id: None, is_whole: true };
        let mut parts: Vec<String> = Vec::new();
        if let Some(text) = self.document.scalar_of(step) {
            meant.is_whole = false;
            meant.remark = format!("nothing here is like `{text}`");
        }
        for entry in self.document.entries_of(step).unwrap_or_default() {
            let key = self.document.key_text(entry.key);
            let value = self.document.scalar_of(entry.value).map(str::to_owned);
            match (key, value) {
                ("name", Some(name)) => meant.remark = name,
                ("register" | "id", Some(id)) => {
                    parts.push(format!("id: {id}"));
                    meant.id = Some(id);
                }
                ("working-directory" | "chdir", Some(folder)) => parts.push(format!("cwd: {}", flow_scalar(&folder))),
                ("continue-on-error" | "ignore_errors", Some(_)) => parts.push("onFail: continue".to_owned()),
                ("loop" | "with_items", Some(list)) => parts.push(format!("each: {}", flow_scalar(&list))),
                _ if self.command_of(entry).is_some() => {
                    let (text, is_whole) = self.command_of(entry).unwrap_or_default();
                    meant.is_whole &= is_whole;
                    meant.text = Some(text);
                }
                ("uses", Some(action)) => {
                    meant.is_whole = false;
                    meant.remark = format!("nothing here is like `{action}`: write the programs that it runs");
                }
                ("with" | "become", _) => meant.is_whole = false,
                (key, _) if known.contains(&key) => match self.flow_text(entry.value) {
                    value if value.contains('\n') => meant.is_whole = false,
                    value => parts.push(format!("{key}: {value}")),
                },
                (key, _) => {
                    meant.is_whole = false;
                    if meant.text.is_none() {
                        meant.remark =
                            format!("nothing here is like `{key}`: write a program, or `http`, `file`, `log`");
                    }
                }
            }
        }
        if parts.iter().any(|part| part.starts_with("each: ")) {
            for part in parts.iter_mut().chain(&mut meant.text) {
                *part = part.replace("{{item", "{{this").replace("{{ item", "{{ this");
            }
        }
        parts.splice(0..0, meant.text.take());
        if !(parts.is_empty() || parts.len() == 1 && meant.id.is_some()) {
            let is_one = parts.len() == 1;
            meant.text = Some(if is_one { parts.concat() } else { format!("{{ {} }}", parts.join(", ")) });
        }
        meant
    }

    /// A command, or a message, as an action; with whether it is all of it.
    fn command_of(&self, entry: MapEntry) -> Option<(String, bool)> {
        let key = self.document.key_text(entry.key);
        let module = key.rsplit('.').next().unwrap_or(key);
        let inner = |name: &str| self.document.entry_of(entry.value, name).map(|entry| entry.value);
        if module == "debug" {
            let message = self.document.string_of(inner("msg")?)?;
            return Some((format!("log: {}", flow_scalar(message)), true));
        }
        if !COMMAND_KEYS.contains(&module) {
            return None;
        }
        let value = [Some(entry.value), inner("cmd"), inner("command")];
        let command = value.into_iter().flatten().find_map(|node| self.document.string_of(node))?;
        if command.contains('\n') {
            return Some(("script: { shell: sh, text: … }".to_owned(), false));
        }
        if let Some(words) = words(command) {
            let words: Vec<String> = words.iter().map(|word| flow_scalar(word)).collect();
            return Some((format!("exec: [{}]", words.join(", ")), true));
        }
        if command.contains("{{") {
            return Some(("script: { shell: sh, text: … }".to_owned(), false));
        }
        Some((format!("script: {{ shell: sh, text: {} }}", flow_scalar(command)), true))
    }

    /// The steps in the place of a list in block style, if they say all.
    fn steps_fix(&self, owner: MapEntry, meant: &[SuggestedStep]) -> Option<(Span, String)> {
        let (key, list) = (self.span(owner.key), self.span(owner.value));
        let written = self.raw(owner.value);
        let is_whole = meant.iter().all(|step| step.is_whole && step.text.is_some());
        if !is_whole || !written.starts_with('-') || written.contains('#') {
            return None;
        }
        let source = self.report.sources.get(list.file)?;
        let indent = " ".repeat((source.position(list.start).column as usize).saturating_sub(1));
        let lines: Vec<String> = meant.iter().map(SuggestedStep::line).collect();
        let text = lines.join(&format!("\n{indent}"));
        match self.document.key_text(owner.key) == "run" {
            true => Some((list, text)),
            false => {
                let between = source.text().get(key.end as usize..list.start as usize)?;
                Some((Span { end: list.end, ..key }, format!("run{between}{text}")))
            }
        }
    }

    /// Reads the steps as scripts, from which no error follows.
    fn read_as_scripts(&mut self, list: NodeId, meant: &[SuggestedStep]) {
        let at = self.span(list);
        let mut steps = Vec::new();
        for SuggestedStep { id, .. } in meant {
            let mut entries =
                vec![MapEntry { key: self.document.add_string("script", at), value: self.empty_script(at) }];
            if let Some(id) = id {
                let [key, value] = ["id", id].map(|text| self.document.add_string(text, at));
                entries.push(MapEntry { key, value });
            }
            steps.push(self.document.add_map(entries, at));
        }
        let read = self.document.add_list(steps, at);
        self.document.replace(list, read);
    }
}

impl SuggestedStep {
    fn line(&self) -> String {
        match (&self.text, self.remark.is_empty()) {
            (Some(text), true) => format!("- {text}"),
            (Some(text), false) => format!("- {text} # {}", self.remark),
            (None, _) => format!("# {}", self.remark),
        }
    }
}

fn steps_help(meant: &[SuggestedStep]) -> String {
    let mut lines: Vec<String> = meant.iter().take(MAX_SHOWN_STEPS).map(|step| format!("  {}", step.line())).collect();
    lines.extend((meant.len() > MAX_SHOWN_STEPS).then(|| "  # …".to_owned()));
    format!("write\nrun:\n{}", lines.join("\n"))
}
