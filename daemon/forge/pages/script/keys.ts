/**
 * Keys, buttons that copy, local times and menus that close. It changes texts and attributes only, so it needs no trusted
 * types.
 */
export const KEYS = String.raw`
const element = (name, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
};

// Rows of the first list: j and k move, Enter opens the link that has the focus.
const rows = () => [...document.querySelectorAll("main .list > li")];
const moveBy = (step) => {
  const all = rows();
  if (all.length === 0) return;
  const at = all.findIndex((row) => row.classList.contains("at"));
  const next = all[at === -1 ? 0 : Math.max(0, Math.min(at + step, all.length - 1))];
  for (const row of all) row.classList.toggle("at", row === next);
  next.scrollIntoView({ block: "nearest" });
  next.querySelector("a[href]")?.focus({ preventScroll: true });
};

const help = () => {
  const shown = document.querySelector("dialog.keys");
  if (shown !== null) {
    if (shown.open) shown.close();
    else shown.showModal();
    return;
  }
  const names = [["/", "search"], ["j", "next entry"], ["k", "previous entry"], ["Enter", "open the entry"], ["g s", "search everything"], ["g i", "issues"], ["g p", "pull requests"], ["g n", "notifications"], ["Ctrl Enter", "send the text"], ["?", "these keys"]];
  const list = element("dl");
  for (const [key, text] of names)
    list.append(element("dt", {}, element("kbd", {}, key)), element("dd", {}, text));
  const close = element("button", { type: "button" }, "Close");
  const dialog = element("dialog", { className: "keys" }, element("h2", {}, "Keys"), list, close);
  close.addEventListener("click", () => dialog.close());
  document.body.append(dialog);
  dialog.showModal();
};

// The links of the page come before those of the header.
const follow = (keys) => [...document.querySelectorAll('[data-keys="' + keys + '"]')].at(-1)?.click();
const actions = {
  "/": () => {
    const field = document.querySelector("main [type=search]");
    if (field === null) follow("g s");
    else field.focus();
  },
  j: () => moveBy(1),
  k: () => moveBy(-1),
  "?": help,
  "g s": () => follow("g s"),
  "g i": () => follow("g i"),
  "g p": () => follow("g p"),
  "g n": () => follow("g n"),
};
let isAfterG = false;
addEventListener("keydown", (event) => {
  const { target, key, ctrlKey, metaKey, altKey } = event;
  if ((ctrlKey || metaKey) && key === "Enter" && target.matches("textarea")) {
    event.preventDefault();
    target.form?.requestSubmit(target.form.querySelector("button.primary"));
    return;
  }
  const isTyping = target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, dialog") !== null;
  if (isTyping || ctrlKey || metaKey || altKey) return;
  if (key === "Escape") for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
  const action = actions[isAfterG ? "g " + key : key];
  isAfterG = key === "g" && !isAfterG;
  if (action === undefined) return;
  event.preventDefault();
  action();
});

// One menu is open at a time, and a click elsewhere closes it.
addEventListener("click", ({ target }) => {
  for (const menu of document.querySelectorAll("details.menu[open]"))
    if (!menu.contains(target)) menu.open = false;
});

const toCopyButton = (readText) => {
  const button = element("button", { type: "button", className: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(readText());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
  });
  return button;
};
if (navigator.clipboard !== undefined) {
  for (const block of document.querySelectorAll(".markup pre")) {
    const around = element("div", { className: "copied" });
    block.replaceWith(around);
    around.append(block, toCopyButton(() => block.textContent));
  }
  for (const text of document.querySelectorAll("[data-copy]")) text.after(" ", toCopyButton(() => text.textContent));
}

for (const time of document.querySelectorAll("time[title]"))
  time.title = new Date(time.dateTime).toLocaleString() + " (" + time.title + ")";
`;
