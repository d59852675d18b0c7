// The question explorer: search and filters of the list, and the comparison of two systems on a question's page.
// What is chosen stands in the address. The pages are complete for one pair of systems without this file.
"use strict";

const readJson = (id) => {
  const element = document.getElementById(id);
  return element ? JSON.parse(element.textContent) : null;
};

// -- state in the address ----------------------------------------------------------------------

function readState() {
  const state = new URLSearchParams(location.search);
  // Where a browser does not let a page change its query, the state stands behind the #.
  if (location.hash.includes("=")) {
    new URLSearchParams(location.hash.slice(1)).forEach((value, key) => state.set(key, value));
  }
  return state;
}

function writeState(state) {
  const query = state.toString();
  const anchor = location.hash.includes("=") ? "" : location.hash;
  try {
    history.replaceState(null, "", `${location.pathname}${query ? `?${query}` : ""}${anchor}`);
  } catch {
    history.replaceState(null, "", `#${query}`);
  }
}

/** Values of the controls that differ from what the page shows by itself. */
function stateOf(controls, defaults) {
  const state = new URLSearchParams();
  for (const control of controls) {
    if (control.value !== defaults.get(control.name)) state.set(control.name, control.value);
  }
  return state;
}

/** Set the controls from the address; values that a control does not offer are ignored. */
function applyState(controls, defaults) {
  const state = readState();
  for (const control of controls) {
    const wanted = state.get(control.name) ?? defaults.get(control.name);
    const known = control.tagName !== "SELECT" || [...control.options].some((one) => one.value === wanted);
    control.value = known ? wanted : defaults.get(control.name);
  }
}

function withQuery(link, state) {
  const query = state.toString();
  const path = link.getAttribute("href").split("?")[0];
  link.setAttribute("href", query ? `${path}?${query}` : path);
}

// -- small pieces ------------------------------------------------------------------------------

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

/** Text that may break after an underscore. */
function breakable(text) {
  const fragment = document.createDocumentFragment();
  text.split("_").forEach((part, number, parts) => {
    fragment.append(part);
    if (number < parts.length - 1) fragment.append("_", document.createElement("wbr"));
  });
  return fragment;
}

function hidden(text) {
  const element = make("span", "", text);
  element.setAttribute("aria-hidden", "true");
  return element;
}

// -- the questions of the list, for the links to those before and after -----------------------------

const LISTED = "finrag-listed-questions";

/** Keep what the list shows, in its order; where a browser keeps nothing, all questions take turns. */
function keepListed(rows, state) {
  const questions = rows.filter((row) => !row.hidden).map((row) => {
    const link = row.cells[0].querySelector("a");
    return [link.getAttribute("href").split("?")[0].split("/").pop(), link.textContent.trim()];
  });
  try {
    sessionStorage.setItem(LISTED, JSON.stringify([state.toString(), questions]));
  } catch { /* not kept */ }
}

/** Questions of the list with this state; null when this browser has not shown it. */
function readListed(state) {
  try {
    const [of, questions] = JSON.parse(sessionStorage.getItem(LISTED));
    return of === state ? questions : null;
  } catch {
    return null;
  }
}

/** Lead to the questions before and after this one in the list that people came from. */
function turnInList(state) {
  const questions = readListed(state);
  const own = decodeURIComponent(location.pathname.split("/").pop());
  const place = questions?.findIndex(([file]) => decodeURIComponent(file) === own) ?? -1;
  if (place < 0) return;
  const turn = document.querySelector("nav.turn");
  turn.querySelector(".place").textContent = `${place + 1} of ${questions.length}${state ? " in this list" : ""}`;
  for (const [rel, step] of [["prev", -1], ["next", 1]]) {
    const found = questions[place + step];
    const link = turn.querySelector(`a[rel=${rel}]`);
    link.hidden = !found;
    if (found) {
      [link.href, link.title] = found;
      link.dataset.keep = "";
    }
  }
}

// -- the list ----------------------------------------------------------------------------------

function startList(form, data) {
  const table = document.getElementById("questions");
  const rows = [...table.tBodies[0].rows];
  rows.forEach((row, number) => {
    row.dataset.number = number;
    row.searched = row.cells[0].textContent.replace(/\s+/g, " ").toLowerCase();
  });
  const controls = [...form.elements].filter((one) => one.name && one.tagName !== "BUTTON");
  const defaults = new Map(controls.map((one) => [one.name, one.value]));
  const value = (name) => form.elements[name]?.value ?? "";
  const columns = {};
  [...table.tHead.rows[0].cells].forEach((cell, place) => {
    if (cell.dataset.column) columns[cell.dataset.column] = place;
  });
  const chosen = () => ({ space: value("space") || Object.keys(data.recall)[0], left: value("left"), right: value("right") });

  const recall = (number, side, of = chosen()) => data.recall[of.space]?.[of[side]]?.[number] ?? null;

  const lossOf = (number) => {
    const of = chosen();
    const [system, retrieval, space] = data.retrieval[value("answers")] ?? [];
    const answering = retrieval === of.left && space === of.space ? system : null;
    const found = data.losses[number].filter(([one, , where]) => one === of.left && where === of.space);
    return found.find((one) => one[1] === answering) ?? found.find((one) => one[1] === null) ?? null;
  };

  const outcome = (number) => data.outcomes[value("answers")]?.[number] ?? ".";

  function show() {
    const of = chosen();
    for (const side of ["left", "right"]) {
      if (columns[side] === undefined) continue;
      head(columns[side], of[side]);
      for (const row of rows) {
        const found = recall(row.dataset.number, side, of);
        const cell = row.cells[columns[side]];
        cell.dataset.sort = found ?? -1;
        cell.dataset.label = of[side];
        const mark = found === null ? "" : found >= 1 ? "●" : found > 0 ? "◐" : "○";
        cell.replaceChildren(make("span", "value", found === null ? "–" : found.toFixed(2), " ", hidden(mark)));
      }
    }
    if (columns.outcome !== undefined) {
      head(columns.outcome, form.elements.answers.selectedOptions[0].textContent);
      for (const row of rows) {
        const code = outcome(row.dataset.number);
        const [mark, word] = data.words[code] ?? [];
        row.cells[columns.outcome].replaceChildren(
          word ? make("span", `outcome ${code}`, hidden(mark), ` ${word}`) : "–");
      }
    }
    if (columns.level !== undefined) {
      head(columns.level, of.left);
      for (const row of rows) {
        const loss = lossOf(row.dataset.number);
        const cell = row.cells[columns.level];
        cell.replaceChildren(loss ? data.levels[loss[3]] : "–");
        if (loss) cell.append(...loss[4].map((label) => make("small", "", data.labels[label])));
      }
    }
  }

  function head(place, text) {
    table.tHead.rows[0].cells[place].querySelector("small").replaceChildren(breakable(text));
  }

  const agrees = {
    "": () => true,
    both: (left, right) => left === 1 && right === 1,
    left: (left, right) => left > right,
    right: (left, right) => right > left,
    neither: (left, right) => left < 1 && right < 1,
  };

  function filter() {
    const words = value("text").trim().toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const number = row.dataset.number;
      const loss = lossOf(number);
      const same = ["type", "form", "company", "source"].every(
        (name) => value(name) === "" || row.dataset[name] === value(name));
      row.hidden = !(
        same &&
        words.every((word) => row.searched.includes(word)) &&
        (value("level") === "" || loss?.[3] === value("level")) &&
        (value("label") === "" || loss?.[4].includes(value("label"))) &&
        (value("outcome") === "" || outcome(number) === value("outcome")) &&
        agrees[value("found")](recall(number, "left") ?? -1, recall(number, "right") ?? -1)
      );
      if (!row.hidden) shown += 1;
    }
    form.querySelector("output").textContent = `${shown} of ${rows.length} questions`;
  }

  function update() {
    show();
    filter();
    const state = stateOf(controls, defaults);
    form.elements.clear.hidden = state.size === 0;
    const compared = new URLSearchParams();
    for (const name of ["space", "left", "right"]) if (state.has(name)) compared.set(name, state.get(name));
    // A question opens with the same systems, and leads back to the same list.
    if (state.size) compared.set("list", state.toString());
    for (const row of rows) withQuery(row.cells[0].querySelector("a"), compared);
    return state;
  }

  form.addEventListener("input", () => writeState(update()));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.elements.clear.addEventListener("click", () => {
    for (const control of controls) control.value = defaults.get(control.name);
    writeState(update());
    form.elements.text.focus();
  });
  table.addEventListener("click", (event) => {
    if (event.target.closest("th a")) keepListed([...table.tBodies[0].rows], stateOf(controls, defaults));
  });
  const restore = () => { applyState(controls, defaults); update(); };
  window.addEventListener("popstate", restore);
  window.addEventListener("pageshow", (event) => { if (event.persisted) restore(); });
  form.hidden = false;
  restore();
}

// -- a question --------------------------------------------------------------------------------

/** Let the links to other questions and back to the list carry what is chosen; returns it with the list. */
function keepState(state) {
  const list = readState().get("list");
  if (list !== null) state.set("list", list);
  document.querySelectorAll("a[data-keep]").forEach((link) => {
    if (link.dataset.keep === "list") withQuery(link, new URLSearchParams(list ?? ""));
    else withQuery(link, state);
  });
  return state;
}

function startComparison(form, data, { titles, k }) {
  const controls = [...form.elements].filter((one) => one.name);
  const defaults = new Map(controls.map((one) => [one.name, one.value]));
  const status = document.getElementById("compared");

  function hit([number, ranks, text], system) {
    const [filing, page, gold, kind, anchor, why] = data.places[number];
    const item = make("li", ["hit", gold ? "gold" : "", ranks[0] > k ? "beyond" : ""].filter(Boolean).join(" "));
    const name = make(anchor ? "a" : "span", "", breakable(filing), `, page ${page + 1}`);
    if (anchor) name.href = `#${anchor}`;
    const where = make("p", "where", make("span", "rank", make("span", "unseen", "Rank "), `${ranks[0]}`), " ", name);
    if (ranks.length > 1) where.append(" ", make("small", "", `also at ${ranks.slice(1).join(", ")}`));
    if (gold) where.append(" ", make("span", "badge", hidden("★"), " Gold page"));
    item.append(where);
    if (kind) item.append(make("p", "kind", kind));
    if (text !== null) item.append(make("p", "snippet", data.snippets[text]));
    if (why && system === data.explained) item.append(make("p", "why", `Why: ${why}`));
    return item;
  }

  function show(side, space, system) {
    const section = document.querySelector(`.ranking[data-side="${side}"]`);
    const run = data.runs[space]?.[system];
    section.querySelector("h3").replaceChildren(breakable(system));
    section.querySelector(".title").textContent = titles[system] === system ? "" : titles[system];
    const rankOf = ([place, rank]) => `p. ${data.places[place][1] + 1}: ${rank ?? `not in ${run.depth}`}`;
    const ranks = run?.gold.map(rankOf).join(", ") || "–";
    const values = [run?.doc ?? "–", run?.page ?? "–", ranks];
    section.querySelectorAll("dd").forEach((value, place) => { value.textContent = values[place]; });
    const hits = (run?.hits ?? []).map((one) => hit(one, system));
    if (!hits.length) hits.push(make("li", "nothing", run ? "Nothing was found." : "This system was not run here."));
    section.querySelector(".hits").replaceChildren(...hits);
    return `${system}: PageRec@${k} ${values[1]}.`;
  }

  function update(told) {
    const space = form.elements.space?.value ?? Object.keys(data.runs)[0];
    const sides = ["left", "right"].filter((side) => form.elements[side]);
    const said = sides.map((side) => show(side, space, form.elements[side].value));
    if (told) status.textContent = said.join(" ");
    const state = stateOf(controls, defaults);
    return keepState(state);
  }

  form.addEventListener("input", () => writeState(update(true)));
  form.addEventListener("submit", (event) => event.preventDefault());
  const restore = () => { applyState(controls, defaults); update(false); };
  window.addEventListener("popstate", restore);
  window.addEventListener("pageshow", (event) => { if (event.persisted) restore(); });
  form.hidden = false;
  restore();
}

const list = document.getElementById("explore");
if (list) startList(list, readJson("list-data"));
if (document.querySelector("nav.turn")) turnInList(readState().get("list") ?? "");
const compared = document.getElementById("compare");
if (compared) startComparison(compared, readJson("ranked-data"), readJson("titles-data"));
else if (!list) keepState(readState());  // nothing to compare on this question
