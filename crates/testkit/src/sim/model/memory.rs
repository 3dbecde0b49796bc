//! The model of memories (scope, key, expiry) and of notes, which carry memories and artifacts.

use serde_json::{Value, json};
use tenure_core::Time;
use tenure_core::event::kind;
use tenure_core::memory::MemoryKind;
use tenure_kernel::op::note;
use tenure_kernel::op::remember::{MemoryReach, NewMemory};

use super::rights::{NOT_FOUND, PEOPLE_ONLY, Right};
use super::{Model, Note, Refusal, SECOND, Turn};

/// The maximum number of pinned memories per scope.
const PINS: usize = 20;

/// The scope of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Place {
    Task(String),
    Agent(String),
    Project,
}

impl Place {
    fn words(&self) -> (&'static str, &str) {
        match self {
            Place::Task(task) => ("task", task),
            Place::Agent(agent) => ("agent", agent),
            Place::Project => ("project", ""),
        }
    }
}

/// A memory.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Memory {
    pub id: String,
    pub place: Place,
    pub key: String,
    pub kind: MemoryKind,
    pub text: String,
    pub pinned: bool,
    pub author: String,
    /// The task that the author was working on.
    pub from_task: String,
    pub number: i64,
    pub version: i64,
    pub created_at: i64,
    pub updated_at: i64,
    /// The expiry, if any.
    pub until: Option<i64>,
}

impl Memory {
    /// Whether the memory has not expired.
    pub fn is_live(&self, now: i64) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    fn shape(&self) -> Value {
        let (scope, of) = self.place.words();
        let some = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
        json!({
            "id": self.id, "key": self.key, "scope": scope, "of": some(of), "kind": self.kind, "text": self.text,
            "pinned": self.pinned, "author": self.author, "from_task": some(&self.from_task), "event": self.number,
            "version": self.version, "created_at": Time(self.created_at), "updated_at": Time(self.updated_at),
            "expires_at": self.until.map(Time),
        })
    }
}

/// The normal form of a key: lower case, with one dash for any run of whitespace, underscores and dashes.
fn spelt(key: &str) -> String {
    let parts = key.split(|c: char| c.is_whitespace() || c == '_' || c == '-').filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

/// Refuses invalid memories before the store is touched.
pub(super) fn check(items: &[NewMemory]) -> Result<(), Refusal> {
    for item in items {
        let allowed = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_-./:#@+".contains(c);
        if item.key.as_ref().is_some_and(|key| spelt(key).is_empty() || !key.chars().all(allowed)) {
            return Err(("usage", "bad_key"));
        }
        // One minute to ten years.
        if item.ttl_s.is_some_and(|seconds| !(60..=3_650 * 86_400).contains(&seconds)) {
            return Err(("usage", "bad_memory_ttl"));
        }
        if item.task.is_some() && item.scope.is_some_and(|scope| scope != MemoryReach::Task) {
            return Err(("usage", "task_and_scope"));
        }
    }
    Ok(())
}

impl Model {
    /// A note on a task, with its memories.
    pub(super) fn note(&mut self, turn: &mut Turn<'_>, request: &note::Note) -> Result<Value, Refusal> {
        let id = self.meant(turn, request.task.as_deref())?;
        self.load(turn, &id)?;
        let late = match self.right(turn, &id, request.fence.map(|fence| fence.0)) {
            Ok(right) => right == Right::Late,
            // Any agent may note a task by its id.
            Err(_) if request.task.is_some() && request.fence.is_none() => false,
            Err(refusal) => return Err(refusal),
        };
        let note = turn.fresh.notes.pop_front().unwrap_or_else(|| turn.fresh.invent('n'));
        let number = self.tell(turn, kind::TASK_NOTED, &id, "", json!({ "note": note, "late": late }));
        let agent = turn.actor.to_owned();
        self.notes.push(Note { id: note.clone(), task: id.clone(), number, agent, at: turn.now, late });
        let memories = self.remember(turn, &request.memories, Some(&id))?;
        Ok(json!({ "id": note, "task": id, "late": late, "memories": memories, "artifacts": request.artifacts.len() }))
    }

    /// Stores the items in order; a refusal of one rolls back all of them.
    pub(super) fn remember(
        &mut self,
        turn: &mut Turn<'_>,
        items: &[NewMemory],
        about: Option<&str>,
    ) -> Result<Vec<Value>, Refusal> {
        items.iter().map(|item| self.remember_one(turn, item, about)).collect()
    }

    fn remember_one(&mut self, turn: &mut Turn<'_>, item: &NewMemory, about: Option<&str>) -> Result<Value, Refusal> {
        let place = self.place(turn, item, about)?;
        let first_words = || item.text.split(|c: char| !c.is_alphanumeric()).collect::<Vec<_>>().join(" ");
        let key = spelt(&item.key.clone().unwrap_or_else(first_words));
        let until = item.ttl_s.map(|seconds| turn.now + seconds * SECOND);
        let at = |of: &Memory| of.place == place && of.key == key;
        let old = self.memories.iter().find(|of| at(of) && of.is_live(turn.now)).cloned();
        let (scope, of) = place.words();
        let answer = |id: &str, outcome: &str, version: i64| {
            let of = if of.is_empty() { Value::Null } else { json!(of) };
            json!({ "id": id, "key": key, "scope": scope, "of": of, "outcome": outcome, "version": version })
        };
        if let Some(same) =
            old.as_ref().filter(|old| (&old.text, old.kind, old.until) == (&item.text, item.kind, until))
        {
            return Ok(answer(&same.id, "unchanged", same.version));
        }
        let shared = place == Place::Project && !turn.actor.starts_with("person:");
        if shared && old.as_ref().is_some_and(|old| old.pinned) {
            return Err(PEOPLE_ONLY);
        }
        let mut data = json!({ "key": key, "scope": scope, "of": of, "kind": item.kind, "text": item.text });
        let (told, outcome) = match &old {
            Some(old) => {
                data["old"] = json!({ "text": old.text, "kind": old.kind, "author": old.author });
                (kind::MEMORY_CHANGED, "changed")
            }
            None => (kind::MEMORY_ADDED, "added"),
        };
        let id = match &old {
            Some(old) => old.id.clone(),
            None => turn.fresh.memories.pop_front().unwrap_or_else(|| turn.fresh.invent('m')),
        };
        let number = self.tell(turn, told, &id, "", as_read(data));
        let answer = answer(&id, outcome, old.as_ref().map_or(1, |old| old.version + 1));
        self.memories.retain(|of| !at(of));
        self.memories.push(Memory {
            id,
            kind: item.kind,
            text: item.text.clone(),
            pinned: old.as_ref().is_some_and(|old| old.pinned),
            author: turn.actor.to_owned(),
            from_task: about.map(str::to_owned).unwrap_or_else(|| self.agents[turn.actor].focus.clone()),
            number,
            version: old.as_ref().map_or(1, |old| old.version + 1),
            created_at: old.as_ref().map_or(turn.now, |old| old.created_at),
            updated_at: turn.now,
            until,
            key,
            place,
        });
        Ok(answer)
    }

    /// The scope of an item: the one it names, else the current task, else the project.
    fn place(&self, turn: &Turn<'_>, item: &NewMemory, about: Option<&str>) -> Result<Place, Refusal> {
        let at_hand = about.is_some() || !self.agents[turn.actor].focus.is_empty();
        let reach = match item.scope {
            Some(reach) => reach,
            None if item.task.is_some() || at_hand => MemoryReach::Task,
            None => MemoryReach::Project,
        };
        match reach {
            MemoryReach::Global => Err(("usage", "global_apart")),
            MemoryReach::Project => Ok(Place::Project),
            MemoryReach::Agent => Ok(Place::Agent(turn.actor.to_owned())),
            MemoryReach::Task => {
                let task = self.meant(turn, item.task.as_deref().or(about))?;
                if self.tasks.contains_key(&task) { Ok(Place::Task(task)) } else { Err(NOT_FOUND) }
            }
        }
    }

    /// A memory that the actor can access. Memories of other agents are not found.
    fn at_hand(&self, turn: &Turn<'_>, id: &str) -> Result<usize, Refusal> {
        let others = |of: &Memory| matches!(&of.place, Place::Agent(agent) if agent != turn.actor);
        let found = self.memories.iter().position(|of| of.id == id && of.is_live(turn.now) && !others(of));
        found.ok_or(NOT_FOUND)
    }

    pub(super) fn pin(&mut self, turn: &Turn<'_>, id: &str, pinned: bool) -> Result<Value, Refusal> {
        let at = self.at_hand(turn, id)?;
        let memory = self.memories[at].clone();
        if memory.place == Place::Project && !turn.actor.starts_with("person:") {
            return Err(PEOPLE_ONLY);
        }
        if memory.pinned != pinned {
            let pins = self.memories.iter().filter(|of| of.place == memory.place && of.pinned && of.is_live(turn.now));
            if pinned && pins.count() >= PINS {
                return Err(("conflict", "too_many_pins"));
            }
            let (scope, of) = memory.place.words();
            let data = json!({ "pinned": pinned, "key": memory.key, "scope": scope, "of": of });
            self.tell(turn, kind::MEMORY_PINNED, id, "", as_read(data));
            self.memories[at].pinned = pinned;
        }
        Ok(self.memories[at].shape())
    }

    pub(super) fn forget(&mut self, turn: &Turn<'_>, id: &str) -> Result<Value, Refusal> {
        let at = self.at_hand(turn, id)?;
        let memory = self.memories[at].clone();
        if memory.pinned && memory.place == Place::Project && !turn.actor.starts_with("person:") {
            return Err(PEOPLE_ONLY);
        }
        let (scope, of) = memory.place.words();
        let data = json!({ "key": memory.key, "scope": scope, "of": of, "kind": memory.kind, "text": memory.text });
        self.tell(turn, kind::MEMORY_FORGOTTEN, id, "", as_read(data));
        self.memories.remove(at);
        Ok(memory.shape())
    }

    /// The id of the memory with a scope and a key, expired or not.
    pub fn memory_under(&self, place: &Place, key: &str) -> Option<String> {
        self.memories.iter().find(|of| of.place == *place && of.key == key).map(|of| of.id.clone())
    }

    /// Whether a reader sees a memory when it asks about `task`, or about its focus.
    pub fn sees(&self, memory: &Memory, reader: &str, task: Option<&str>, now: i64) -> bool {
        let focus = self.agents.get(reader).map_or("", |agent| agent.focus.as_str());
        let seen = match &memory.place {
            Place::Project => true,
            Place::Agent(agent) => agent == reader,
            Place::Task(of) => of == task.unwrap_or(focus),
        };
        seen && memory.is_live(now)
    }

    /// The memories that a reader sees: of the task, of the agent, of the project; newest first within each.
    pub fn memory_list(&self, reader: &str, task: Option<&str>, now: i64) -> Vec<Value> {
        let mut seen: Vec<&Memory> = self.memories.iter().filter(|of| self.sees(of, reader, task, now)).collect();
        let near = |of: &Memory| match of.place {
            Place::Task(_) => 0,
            Place::Agent(_) => 1,
            Place::Project => 2,
        };
        seen.sort_by(|a, b| near(a).cmp(&near(b)).then(b.updated_at.cmp(&a.updated_at)).then_with(|| b.id.cmp(&a.id)));
        seen.into_iter().map(Memory::shape).collect()
    }

    /// The ids of the memories that a reader recalls by a word. The order is not compared.
    pub fn recalled(&self, reader: &str, task: Option<&str>, word: &str, now: i64) -> Vec<String> {
        let has = |of: &Memory| of.text.split(' ').any(|part| part == word);
        let seen = self.memories.iter().filter(|of| self.sees(of, reader, task, now) && has(of));
        let mut ids: Vec<String> = seen.map(|of| of.id.clone()).collect();
        ids.sort();
        ids
    }
}

/// The event data that a person sees: without the private content of an agent's memory.
fn as_read(mut data: Value) -> Value {
    if let (true, Some(data)) = (data["scope"] == "agent", data.as_object_mut()) {
        data.retain(|name, _| !["text", "old", "key"].contains(&name.as_str()));
    }
    data
}
