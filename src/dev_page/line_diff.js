// Which lines of a text are new.

const MAX_LINES = 2000;

/** The lines of `next`, and those of `previous` that are gone, each with how it changed: "same", "added", "removed". */
export function diffLines(previous, next) {
  const [old, fresh] = [previous.split("\n"), next.split("\n")];
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (end < Math.min(old.length, fresh.length) - start && old.at(-1 - end) === fresh.at(-1 - end)) end += 1;
  const same = (lines) => lines.map((text) => ({ text, change: "same" }));
  const before = old.slice(start, old.length - end);
  const after = fresh.slice(start, fresh.length - end);
  return [...same(fresh.slice(0, start)), ...diffMiddle(before, after), ...same(fresh.slice(fresh.length - end))];
}

function diffMiddle(old, fresh) {
  const row = (change) => (text) => ({ text, change });
  if (old.length * fresh.length > MAX_LINES * 100) return [...old.map(row("removed")), ...fresh.map(row("added"))];
  const common = longestCommon(old, fresh);
  const rows = [];
  let [a, b] = [0, 0];
  while (a < old.length || b < fresh.length) {
    if (a < old.length && b < fresh.length && old[a] === fresh[b]) {
      rows.push(row("same")(fresh[b]));
      [a, b] = [a + 1, b + 1];
    } else if (a < old.length && (b === fresh.length || common[a + 1][b] >= common[a][b + 1])) {
      rows.push(row("removed")(old[a++]));
    } else {
      rows.push(row("added")(fresh[b++]));
    }
  }
  return rows;
}

/** How many lines the rests from each pair of places have in common. */
function longestCommon(old, fresh) {
  const table = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1));
  for (let a = old.length - 1; a >= 0; a -= 1) {
    for (let b = fresh.length - 1; b >= 0; b -= 1) {
      table[a][b] = old[a] === fresh[b] ? table[a + 1][b + 1] + 1 : Math.max(table[a + 1][b], table[a][b + 1]);
    }
  }
  return table;
}
