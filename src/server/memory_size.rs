//! Estimates the memory of an answer without serializing it.

use rmcp::model::{
    CallToolResponse, CallToolResult, CompleteResult, ContentBlock, ErrorData, GetPromptResponse, GetPromptResult,
    GetSkillResult, GetTaskResult, Icon, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListSkillsResult, ListToolsResult, Prompt, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, SkillResources, TaskPayload, Tool,
};
use serde_json::Value;

/// Something that takes memory.
pub(crate) trait MemorySize {
    /// About how many bytes.
    fn memory_size(&self) -> u64;
}

/// What a part takes beside its texts.
const PART_BYTES: u64 = 128;
/// A value where it stands. Twice that is what it takes in a vector that has grown.
const VALUE_BYTES: u64 = 72;
/// The name of a member, and its hash.
const MEMBER_BYTES: u64 = 64;
/// What an array or an object allocates that has one value, in addition: room for more, and a header.
const CONTAINER_BYTES: u64 = 112;

impl<T: MemorySize> MemorySize for Result<T, ErrorData> {
    fn memory_size(&self) -> u64 {
        match self {
            Ok(answer) => answer.memory_size(),
            Err(error) => error.memory_size(),
        }
    }
}

impl MemorySize for ErrorData {
    fn memory_size(&self) -> u64 {
        PART_BYTES + self.message.len() as u64 + self.data.as_ref().map_or(0, MemorySize::memory_size)
    }
}

impl<T: MemorySize> MemorySize for [T] {
    fn memory_size(&self) -> u64 {
        self.iter().map(MemorySize::memory_size).sum()
    }
}

impl MemorySize for Value {
    fn memory_size(&self) -> u64 {
        VALUE_BYTES
            + match self {
                Value::String(text) => text.len() as u64,
                Value::Array(items) if !items.is_empty() => CONTAINER_BYTES + items.memory_size(),
                Value::Object(fields) if !fields.is_empty() => CONTAINER_BYTES + fields.memory_size(),
                _ => 0,
            }
    }
}

impl MemorySize for JsonObject {
    fn memory_size(&self) -> u64 {
        self.iter().map(|(name, value)| MEMBER_BYTES + name.len() as u64 + value.memory_size()).sum()
    }
}

impl MemorySize for ResourceContents {
    fn memory_size(&self) -> u64 {
        match self {
            ResourceContents::TextResourceContents { text, uri, .. } => PART_BYTES + (text.len() + uri.len()) as u64,
            ResourceContents::BlobResourceContents { blob, uri, .. } => PART_BYTES + (blob.len() + uri.len()) as u64,
            _ => PART_BYTES,
        }
    }
}

impl MemorySize for ContentBlock {
    fn memory_size(&self) -> u64 {
        match self {
            ContentBlock::Text(text) => PART_BYTES + text.text.len() as u64,
            ContentBlock::Image(image) => PART_BYTES + image.data.len() as u64,
            ContentBlock::Audio(audio) => PART_BYTES + audio.data.len() as u64,
            ContentBlock::Resource(embedded) => PART_BYTES + embedded.resource.memory_size(),
            _ => PART_BYTES * 4,
        }
    }
}

impl MemorySize for CallToolResult {
    fn memory_size(&self) -> u64 {
        PART_BYTES + self.content.memory_size() + self.structured_content.as_ref().map_or(0, MemorySize::memory_size)
    }
}

impl MemorySize for GetPromptResult {
    fn memory_size(&self) -> u64 {
        PART_BYTES + self.messages.iter().map(|message| message.content.memory_size()).sum::<u64>()
    }
}

impl MemorySize for ReadResourceResult {
    fn memory_size(&self) -> u64 {
        PART_BYTES + self.contents.memory_size()
    }
}

/// Responses without a result are small.
macro_rules! impl_memory_size_for_responses {
    ($($response:ident),+) => {$(
        impl MemorySize for $response {
            fn memory_size(&self) -> u64 {
                match self {
                    $response::Complete(result) => result.memory_size(),
                    _ => PART_BYTES * 8,
                }
            }
        }
    )+};
}

impl_memory_size_for_responses!(CallToolResponse, GetPromptResponse, ReadResourceResponse);

/// The texts of an entry that may be long.
macro_rules! impl_memory_size_for_lists {
    ($($list:ident, $items:ident: $entry:ident);+) => {$(
        impl MemorySize for $entry {
            fn memory_size(&self) -> u64 {
                PART_BYTES * 4 + self.description.as_ref().map_or(0, |text| text.len() as u64) + icons(self.icons.as_deref())
            }
        }

        impl MemorySize for $list {
            fn memory_size(&self) -> u64 {
                self.$items.memory_size()
            }
        }
    )+};
}

impl_memory_size_for_lists!(
    ListToolsResult, tools: Tool;
    ListPromptsResult, prompts: Prompt;
    ListResourcesResult, resources: Resource;
    ListResourceTemplatesResult, resource_templates: ResourceTemplate
);

fn icons(icons: Option<&[Icon]>) -> u64 {
    icons.unwrap_or_default().iter().map(|icon| PART_BYTES + icon.src.len() as u64).sum()
}

impl MemorySize for ListSkillsResult {
    fn memory_size(&self) -> u64 {
        self.skills.len() as u64 * PART_BYTES * 8
    }
}

impl MemorySize for GetSkillResult {
    fn memory_size(&self) -> u64 {
        let skill = &self.skill;
        let files: u64 = match &skill.resources {
            SkillResources::Files(files) => files.iter().map(|file| PART_BYTES * 2 + file.uri.len() as u64).sum(),
            _ => 0,
        };
        PART_BYTES * 8 + skill.frontmatter.description.len() as u64 + skill.frontmatter.extra.memory_size() + files
    }
}

impl MemorySize for CompleteResult {
    fn memory_size(&self) -> u64 {
        PART_BYTES + self.completion.values.iter().map(|value| PART_BYTES / 2 + value.len() as u64).sum::<u64>()
    }
}

impl MemorySize for GetTaskResult {
    fn memory_size(&self) -> u64 {
        PART_BYTES * 4
            + match &self.task.payload {
                TaskPayload::Completed { result: outcome } | TaskPayload::Failed { error: outcome } => {
                    outcome.memory_size()
                }
                // A task without a result is small.
                _ => PART_BYTES * 8,
            }
    }
}
