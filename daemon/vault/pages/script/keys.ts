/**
 * The part of the script for every page: keys, choosing all documents, the progress of analyses, and the token of a link,
 * which leaves the address bar. It changes texts and attributes only, so it needs no trusted types.
 */
export const KEYS = String.raw`
const base = new URL("..", import.meta.url).pathname.replace(/\/$/, "");
const formToken = document.querySelector('meta[name="form-token"]')?.content ?? "";
const api = (path, options = {}) =>
  fetch(base + "/vault/api" + path, {
    ...options,
    headers: { "X-Form-Token": formToken, ...options.headers },
    redirect: "error",
  });
const element = (name, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
};

if (document.querySelector("[data-hides-query]") !== null)
  history.replaceState(null, "", location.pathname);

// Rows: j and k move, x chooses, Enter opens.
const rows = () => [...document.querySelectorAll("[data-row]")];
const current = () => rows().findIndex((row) => row.classList.contains("at"));
const moveTo = (index) => {
  const all = rows();
  const row = all[Math.max(0, Math.min(index, all.length - 1))];
  if (row === undefined) return;
  for (const each of all) each.classList.toggle("at", each === row);
  row.scrollIntoView({ block: "nearest" });
  row.querySelector("[data-open]")?.focus({ preventScroll: true });
};
const choose = () => {
  const box = rows()[current()]?.querySelector("input[type=checkbox]");
  if (box === null || box === undefined) return;
  box.checked = !box.checked;
  showChosen();
};

const help = () => {
  const shown = document.querySelector("dialog.keys");
  if (shown !== null) {
    if (shown.open) shown.close();
    else shown.showModal();
    return;
  }
  const keys = [["/", "search"], ["j", "next row"], ["k", "previous row"], ["x", "choose the row"], ["Enter", "open the row"], ["?", "these keys"]];
  const list = element("dl");
  for (const [key, text] of keys)
    list.append(element("dt", {}, element("kbd", {}, key)), element("dd", {}, text));
  const close = element("button", { type: "button" }, "Close");
  const dialog = element("dialog", { className: "keys" }, element("h2", {}, "Keys"), list, close);
  close.addEventListener("click", () => dialog.close());
  document.body.append(dialog);
  dialog.showModal();
};

const actions = {
  "/": () => document.querySelector('[data-key="/"]')?.focus(),
  j: () => moveTo(current() + 1),
  k: () => moveTo(current() - 1),
  x: choose,
  "?": help,
};
addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select, dialog") !== null;
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = actions[event.key];
  if (action === undefined) return;
  event.preventDefault();
  action();
});

// The boxes of a list.
const boxes = () => [...document.querySelectorAll(".selection input[name=id]")];
const chosen = document.querySelector("[data-chosen]");
const all = document.querySelector("[data-choose-all]");
function showChosen() {
  if (chosen === null) return;
  const count = boxes().filter((box) => box.checked).length;
  chosen.textContent = count === 0 ? "" : count + " chosen";
  all.firstElementChild.checked = count > 0 && count === boxes().length;
}
if (all !== null && boxes().length > 0) {
  all.hidden = false;
  all.firstElementChild.addEventListener("change", (event) => {
    for (const box of boxes()) box.checked = event.target.checked;
    showChosen();
  });
  document.querySelector(".selection").addEventListener("change", showChosen);
  addEventListener("pageshow", showChosen);
}

// Addresses to copy.
for (const field of document.querySelectorAll("[data-copy]")) {
  const copy = element("button", { type: "button" }, "Copy");
  copy.addEventListener("click", async () => {
    field.select();
    await navigator.clipboard?.writeText(field.value);
    copy.textContent = "Copied";
  });
  field.after(copy);
}

// Analyses that go on.
const watched = [...document.querySelectorAll("[data-watch]")].filter(({ dataset }) => /^[\w-]{36}$/.test(dataset.watch));
const texts = { pending: "waits for analysis", processing: "is being analysed", classification_failed: "analysis failed" };
const WATCH_MS = 3000;
async function watch() {
  for (const mark of watched.splice(0)) {
    const answer = await api("/documents/" + mark.dataset.watch).catch(() => undefined);
    if (answer === undefined || answer.status === 429) watched.push(mark);
    if (!answer?.ok) continue;
    const { status, topics } = await answer.json();
    mark.textContent = texts[status] ?? ["ready", ...topics].join(" · ");
    if (status === "pending" || status === "processing") watched.push(mark);
  }
  if (watched.length > 0) setTimeout(watch, WATCH_MS);
}
if (watched.length > 0) setTimeout(watch, WATCH_MS);
`;
