// Opens a page of a filing beside the answer without asking again. Without this file its link loads all anew.
"use strict";

const sheet = document.getElementById("sheet");
let opener = null;

async function show(focus) {
  const query = location.search;
  document.querySelectorAll("a[data-page]").forEach((link) => {
    link.toggleAttribute("aria-current", link.search === query && new URLSearchParams(query).has("filing"));
  });
  if (!new URLSearchParams(query).has("filing")) {
    sheet.hidden = true;
    sheet.replaceChildren();
    if (focus) opener?.focus();
    return;
  }
  sheet.hidden = false;
  sheet.setAttribute("aria-busy", "true");
  try {
    const html = await (await fetch(`/sheet${query}`)).text();
    if (location.search !== query) return;  // another page was opened meanwhile
    sheet.innerHTML = html;
  } catch {
    location.reload();
  }
  sheet.removeAttribute("aria-busy");
  sheet.scrollTop = 0;
  if (focus) sheet.querySelector("h2")?.focus();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-page]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  if (!sheet.contains(link)) opener = link;
  history.pushState(null, "", link.href);
  show(true);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !sheet.hidden) sheet.querySelector("a.close")?.click();
});
window.addEventListener("popstate", () => show(false));
