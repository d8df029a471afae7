// The table of comparisons: sorted by a click on a heading, filtered by text, verdict, suite and phase.

// A case without numbers says why across several columns.
const cellAt = (row, column) => {
  let end = 0;
  return [...row.cells].find((cell) => (end += cell.colSpan) > column);
};

const sortKey = (row, column) => {
  const cell = cellAt(row, column);
  const value = cell.dataset.v ?? cell.textContent.trim();
  const number = Number(value);
  return value === "" ? null : Number.isNaN(number) ? value.toLowerCase() : number;
};

const inOrder = (a, b, direction) => {
  if (a === null || b === null) return (a === null) - (b === null); // what is missing comes last
  if (typeof a === typeof b) return direction * (a < b ? -1 : a > b ? 1 : 0);
  return typeof a === "number" ? -1 : 1;
};

const sortBy = (table, heading) => {
  const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => [sortKey(row, heading.cellIndex), row]);
  keyed.sort((a, b) => inOrder(a[0], b[0], direction));
  body.append(...keyed.map(([, row]) => row));
};

const filterRows = (table, filters, count) => {
  const words = (filters.elements.search?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = ["suite", "verdict", "phase"].map((name) => [name, filters.elements[name]?.value ?? ""]);
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    const fits = chosen.every(([name, value]) => {
      if (value === "") return true;
      return name === "phase" && value === "*" ? row.dataset.primary !== undefined : row.dataset[name] === value;
    });
    row.hidden = !(fits && words.every((word) => text.includes(word)));
    shown += row.hidden ? 0 : 1;
  }
  count.textContent = `${shown} of ${table.tBodies[0].rows.length} rows shown`;
};

// The rows of other phases are put in when somebody asks for them.
const withPhases = async (root, table, filters) => {
  const packed = root.querySelector('[data-packed="rows"]');
  if (!packed || (filters.elements.phase?.value ?? "*") === "*") return;
  const text = packed.textContent.trim();
  packed.remove();
  table.tBodies[0].insertAdjacentHTML("beforeend", await packedJson(text)); // made by the templates
  const sorted = table.tHead.querySelector("th[aria-sort]");
  if (!sorted) return inRunOrder(table);
  sorted.setAttribute("aria-sort", sorted.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending");
  sortBy(table, sorted);
};

// Rows of one case together, cases as the run has them.
const inRunOrder = (table) => {
  const numbered = [...table.tBodies[0].rows].map((row) => [Number(row.querySelector("a").hash.slice(6)), row]);
  numbered.sort((a, b) => a[0] - b[0]);
  table.tBodies[0].append(...numbered.map(([, row]) => row));
};

const startTables = (root) => {
  for (const table of root.querySelectorAll("table[data-sortable]")) {
    for (const button of table.tHead.querySelectorAll("button")) {
      button.addEventListener("click", () => sortBy(table, button.closest("th")));
    }
  }
  const filters = root.querySelector("[data-filters]");
  const table = root.querySelector("[data-compared]");
  const count = root.querySelector("[data-count]");
  if (!filters || !table || !count) return;
  const apply = async () => {
    await withPhases(root, table, filters);
    filterRows(table, filters, count);
  };
  filters.addEventListener("input", apply);
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("reset", () => setTimeout(apply));
  filters.hidden = false;
  apply();
};
