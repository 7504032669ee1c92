// The entries as a tree: by kind, pack and folder; or those that a filter finds, the best first.

export const KINDS = [
  { kind: "prompt", title: "Prompts", method: "prompts/list", key: "prompts", id: (one) => one.name },
  { kind: "tool", title: "Tools", method: "tools/list", key: "tools", id: (one) => one.name },
  { kind: "resource", title: "Resources", method: "resources/list", key: "resources", id: (one) => one.uri },
  { kind: "template", title: "Resource templates", method: "resources/templates/list", key: "resourceTemplates", id: (one) => one.uriTemplate },
];

/** Folders are closed at first where there are more entries than this. */
const MAX_OPEN = 60;

/** The folders of an entry, and what is left of its name in the last of them. */
function pathOf({ kind, id }) {
  const isUri = kind === "resource" || kind === "template";
  const [, scheme, rest] = isUri ? id.match(/^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is) ?? [] : [];
  const parts = (rest ?? id).split("/");
  const name = parts.pop();
  const folders = scheme === undefined ? parts : [scheme + (parts.shift() ?? ""), ...parts];
  // A URI of one part has no folder.
  return parts.length === 0 && scheme !== undefined && !rest.includes("/") ? { folders: [], name: id } : { folders, name: name || "/" };
}

class Group {
  groups = new Map();
  entries = [];
  count = 0;

  constructor(key, label, role) {
    Object.assign(this, { key, label, role });
  }

  group(name, role) {
    const key = `${this.key}/${name}`;
    if (!this.groups.has(name)) this.groups.set(name, new Group(key, name, role));
    return this.groups.get(name);
  }

  /** The group without folders that hold but one thing. */
  compact() {
    for (const [name, group] of this.groups) {
      group.compact();
      if (group.role !== "folder") continue;
      const [only] = group.groups.values();
      if (group.count === 1) {
        this.groups.delete(name);
        const [leaf] = group.entries;
        this.entries.push({ ...leaf, label: `${group.label}/${leaf.label}` });
      } else if (group.groups.size === 1 && group.entries.length === 0) {
        only.label = `${group.label}/${only.label}`;
        this.groups.set(name, only);
      }
    }
    return this;
  }
}

/** The groups of the entries by kind. */
export function buildTree(entries, places) {
  return KINDS.map(({ kind, title }) => {
    const root = new Group(kind, title, "kind");
    for (const entry of entries) {
      if (entry.kind !== kind) continue;
      const { folders, name } = pathOf(entry);
      const { pack } = places[entry.key] ?? {};
      let group = root;
      root.count += 1;
      for (const [name, role] of [...(pack ? [[pack, "pack"]] : []), ...folders.map((folder) => [folder, "folder"])]) {
        group = group.group(name, role);
        group.count += 1;
      }
      group.entries.push({ entry, label: name });
    }
    return root.compact();
  }).filter(({ count }) => count > 0);
}

/** The rows of a tree that are to be seen; `toggled` has the keys of groups that are not as they are at first. */
export function visibleRows(groups, toggled) {
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  const rows = [];
  const add = (group, level) => {
    const isOpenAtFirst = group.role === "kind" || total <= MAX_OPEN;
    const isOpen = toggled.has(group.key) ? !isOpenAtFirst : isOpenAtFirst;
    rows.push({ key: group.key, group, level, isOpen });
    if (!isOpen) return;
    for (const child of group.groups.values()) add(child, level + 1);
    for (const { entry, label } of group.entries) rows.push({ key: entry.key, entry, label, level: level + 1 });
  };
  groups.forEach((group) => add(group, 1));
  return rows;
}

/** How well a text matches what is wanted, and where; nothing where it does not. Letters may be left out between. */
export function match(text, wanted) {
  const lower = text.toLowerCase();
  const at = lower.indexOf(wanted);
  if (at >= 0) {
    const isStart = at === 0 || /[^a-z0-9]/.test(lower[at - 1]);
    return { score: 1000 - at - text.length / 100 + (isStart ? 500 : 0), places: Array.from(wanted, (_, index) => at + index) };
  }
  // The end of the first place where all letters are found in order, and from there back the shortest way.
  let end = -1;
  for (const letter of wanted) {
    end = lower.indexOf(letter, end + 1);
    if (end < 0) return undefined;
  }
  const places = [];
  for (let from = end, left = wanted.length - 1; left >= 0; left -= 1) {
    from = lower.lastIndexOf(wanted[left], from);
    places.unshift(from--);
  }
  const spread = places.at(-1) - places[0] - wanted.length;
  return spread > wanted.length * 3 ? undefined : { score: 200 - spread - text.length / 100, places };
}

/** The rows of the entries that a filter finds, the best first. */
export function filteredRows(entries, filter) {
  const wanted = filter.trim().toLowerCase();
  const found = [];
  for (const entry of entries) {
    const byId = match(entry.id, wanted);
    const byTitle = entry.listing.title ? match(entry.listing.title, wanted) : undefined;
    const isDescribed = entry.listing.description?.toLowerCase().includes(wanted);
    const score = Math.max(byId?.score ?? 0, (byTitle?.score ?? 0) * 0.9, isDescribed ? 1 : 0);
    if (score <= 0) continue;
    // The end of a URI tells more than its beginning, which stands behind it.
    const { name } = pathOf(entry);
    const label = entry.id.endsWith(name) ? name : entry.id;
    const before = entry.id.length - label.length;
    const places = (byId?.places ?? []).map((at) => at - before).filter((at) => at >= 0);
    found.push({ key: entry.key, entry, label, detail: entry.id.slice(0, before), level: 1, places, score });
  }
  return found.sort((one, other) => other.score - one.score);
}
