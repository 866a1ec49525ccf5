/**
 * Texts that a person writes: drafts survive a reload, pasted and dropped files are attached, and boxes of task lists are
 * saved when they are ticked.
 */
export const TEXTS = String.raw`
// A draft is kept in this tab until the server has accepted its text.
const SENT = "croft sent";
const fields = [...document.querySelectorAll("form[method=post] textarea, form[method=post] input[data-draft]")];
const keyOf = (field) => "croft draft " + location.pathname + " " + (field.form.getAttribute("action") ?? "") + " " + field.name;
const read = (key) => {
  try {
    return JSON.parse(sessionStorage.getItem(key));
  } catch {
    return null;
  }
};
const write = (key, value) => {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // The storage is full or not allowed: the text is not kept.
  }
};
// Not while the page says why it was refused, nor while the session has ended.
const isAccepted =
  document.querySelector("main [role=alert]") === null && document.querySelector("header form") !== null;
const sent = read(SENT);
if (Array.isArray(sent) && isAccepted) {
  for (const key of sent) sessionStorage.removeItem(key);
  sessionStorage.removeItem(SENT);
}
for (const field of fields) {
  const draft = read(keyOf(field));
  // Only into the field that the person saw: with another text of the server, the draft is of an earlier one.
  if (draft !== null && draft.before === field.defaultValue) {
    field.value = draft.text;
    const menu = field.closest("details");
    if (menu !== null) menu.open = true;
  }
  field.addEventListener("input", () => {
    if (field.value === field.defaultValue) sessionStorage.removeItem(keyOf(field));
    else write(keyOf(field), { before: field.defaultValue, text: field.value });
  });
}
addEventListener("submit", ({ target }) => {
  write(SENT, fields.filter(({ form }) => form === target).map(keyOf));
});

// Files that are pasted or dropped join those of the form's picker.
const attach = (form, files) => {
  const picker = form?.querySelector("input[type=file]");
  if (picker == null || files.length === 0) return false;
  const all = new DataTransfer();
  for (const file of [...picker.files, ...files]) all.items.add(file);
  picker.files = all.files;
  picker.dispatchEvent(new Event("change", { bubbles: true }));
  return true;
};
for (const area of document.querySelectorAll("textarea")) {
  area.addEventListener("paste", (event) => {
    if (attach(area.form, [...event.clipboardData.files])) event.preventDefault();
  });
  area.addEventListener("dragover", (event) => {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault();
  });
  area.addEventListener("drop", (event) => {
    if (attach(area.form, [...event.dataTransfer.files])) event.preventDefault();
  });
}
for (const picker of document.querySelectorAll("input[type=file]")) {
  const names = document.createElement("output");
  picker.after(names);
  picker.addEventListener("change", () => {
    names.textContent = [...picker.files].map(({ name }) => name).join(", ");
  });
}

// A task is saved when its box is ticked; without this script, by a button.
for (const button of document.querySelectorAll("[data-saves-tasks]")) {
  button.hidden = true;
  for (const box of button.form.elements)
    if (box.type === "checkbox") box.addEventListener("change", () => button.form.requestSubmit());
}
`;
