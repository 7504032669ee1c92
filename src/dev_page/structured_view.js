// A structured value: lists of records as tables that sort, everything as a tree.

import { element } from "/elements.js";
import { valueTree } from "/value_tree.js";

const MAX_ROWS = 200;
const MAX_COLUMNS = 30;

const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isTable = (value) => Array.isArray(value) && value.length > 0 && value.every(isRecord);

/** The view of a value. */
export function structuredView(value) {
  const tables = tablesOf(value);
  if (tables.length === 0) return valueTree(value);
  const views = tables.map(({ name, rows }) => tableView(name, rows));
  const asTree = element("details", {}, element("summary", { text: "As a tree" }), valueTree(value));
  return element("div", { class: "result-tables" }, ...views, asTree);
}

/** The lists of records of a value, or of an object's keys. */
function tablesOf(value) {
  if (isTable(value)) return [{ name: "Rows", rows: value }];
  if (!isRecord(value)) return [];
  return Object.entries(value).filter(([, part]) => isTable(part)).map(([name, rows]) => ({ name, rows }));
}

function tableView(name, rows) {
  const columns = [...new Set(rows.slice(0, MAX_ROWS).flatMap(Object.keys))].slice(0, MAX_COLUMNS);
  const more = rows.length - MAX_ROWS;
  const body = element("tbody", {});
  const fill = (sorted) => {
    const cells = (record) => columns.map((column) => element("td", { class: typeof record[column] === "number" ? "number" : undefined }, cell(record, column)));
    body.replaceChildren(...sorted.slice(0, MAX_ROWS).map((record) => element("tr", {}, ...cells(record))));
  };
  const heads = columns.map((column) => element("th", { scope: "col", "aria-sort": "none" }, element("button", { type: "button", class: "quiet", text: column })));
  heads.forEach((head, at) => head.firstChild.addEventListener("click", () => fill(sortBy(rows, columns[at], head, heads))));
  fill(rows);
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": `Table of ${name}` },
    element("table", {},
      element("caption", { text: more > 0 ? `${name}, ${more} more in the tree` : name }),
      element("thead", {}, element("tr", {}, ...heads)), body));
}

/** The records by a column: up, then down, then as they came. */
function sortBy(rows, column, head, heads) {
  const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
  for (const other of heads) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", next);
  if (next === "none") return rows;
  const sign = next === "ascending" ? 1 : -1;
  return rows.toSorted((one, other) => sign * compare(one[column], other[column]));
}

function compare(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one ?? "").localeCompare(String(other ?? ""), undefined, { numeric: true });
}

function cell(record, column) {
  if (!Object.hasOwn(record, column)) return "";
  const value = record[column];
  if (value !== null && typeof value === "object") return valueTree(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}
