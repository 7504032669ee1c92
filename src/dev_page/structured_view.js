// A structured value: lists of records as tables, everything as a tree.

import { element, wholeTree } from "/elements.js";

const MAX_ROWS = 200;
const MAX_COLUMNS = 30;

const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isTable = (value) => Array.isArray(value) && value.length > 0 && value.every(isRecord);

/** The view of a value. */
export function structuredView(value) {
  const tables = tablesOf(value);
  if (tables.length === 0) return wholeTree(value);
  const views = tables.map(({ name, rows }) => tableView(name, rows));
  const asTree = element("details", {}, element("summary", { text: "As a tree" }), wholeTree(value));
  return element("div", {}, ...views, asTree);
}

/** The lists of records of a value, or of an object's keys. */
function tablesOf(value) {
  if (isTable(value)) return [{ name: "Rows", rows: value }];
  if (!isRecord(value)) return [];
  return Object.entries(value).filter(([, part]) => isTable(part)).map(([name, rows]) => ({ name, rows }));
}

function tableView(name, rows) {
  const shown = rows.slice(0, MAX_ROWS);
  const columns = [...new Set(shown.flatMap(Object.keys))].slice(0, MAX_COLUMNS);
  const head = element("tr", {}, ...columns.map((column) => element("th", { scope: "col", text: column })));
  const row = (record) => element("tr", {}, ...columns.map((column) => element("td", {}, cell(record, column))));
  const more = rows.length - shown.length;
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": `Table of ${name}` },
    element("table", {},
      element("caption", { text: more > 0 ? `${name}, ${more} more in the tree` : name }),
      element("thead", {}, head), element("tbody", {}, ...shown.map(row))));
}

function cell(record, column) {
  if (!Object.hasOwn(record, column)) return "";
  const value = record[column];
  if (value !== null && typeof value === "object") return wholeTree(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}
