// Sorting and filtering. The page is complete without this file.
"use strict";

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function sortKey(row, column) {
  const cell = row.cells[column];
  const key = cell.dataset.sort ?? cell.textContent.trim();
  const number = Number(key);
  return key !== "" && Number.isFinite(number) ? number : key;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return collator.compare(String(a), String(b));
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const label = head.querySelector(".label");
    const button = document.createElement("button");
    button.type = "button";
    button.append(...label.childNodes);
    label.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const current = head.getAttribute("aria-sort");
      // Figures are mostly wanted from the top.
      const first = head.classList.contains("number") ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = current === first ? other : first;
      heads.forEach((each) => each.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const body = table.tBodies[0];
      const keyed = [...body.rows].map((row) => [sortKey(row, column), row]);
      keyed.sort((a, b) => sign * compare(a[0], b[0]));
      keyed.forEach(([, row]) => row.classList.remove("set-off"));
      body.append(...keyed.map(([, row]) => row));
    });
  });
}

function makeFilterable(form) {
  const section = document.getElementById(form.dataset.filters);
  const rows = [...section.querySelectorAll("table[data-filterable] tbody tr")];
  if (rows.length === 0) return;
  // A select is named after the data attribute that it looks at.
  const selects = [...form.querySelectorAll("select")];
  const apply = () => {
    const text = form.elements.text.value.trim().toLowerCase();
    const chosen = selects.filter((select) => select.value !== "");
    let shown = 0;
    for (const row of rows) {
      row.hidden =
        chosen.some((select) => row.dataset[select.name] !== select.value) ||
        (text !== "" && !row.textContent.toLowerCase().includes(text));
      if (!row.hidden) shown += 1;
    }
    form.querySelector("output").textContent =
      shown === rows.length ? "" : `${shown} of ${rows.length} rows`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
}

document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
document.querySelectorAll("form[data-filters]").forEach(makeFilterable);
