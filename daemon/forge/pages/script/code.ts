/** Code: ranges of lines in the address, the key for the permanent address, and lists that are filtered while a person types. */
export const CODE = String.raw`
// Lines #L3-L9 are marked; a click with Shift on a number extends the marked lines.
const numbers = document.querySelector(".code .lines");
const readRange = () => {
  const found = /^#L(\d+)(?:-L?(\d+))?$/.exec(location.hash);
  if (found === null) return null;
  const ends = [Number(found[1]), Number(found[2] ?? found[1])];
  return { first: Math.min(...ends), last: Math.max(...ends) };
};
const showRange = () => {
  const range = readRange();
  for (const number of numbers.querySelectorAll("a.marked")) number.classList.remove("marked");
  if (range === null) return;
  for (let at = range.first; at <= range.last; at += 1) {
    const number = document.getElementById("L" + at);
    if (number === null) break;
    number.classList.add("marked");
  }
  document.getElementById("L" + range.first)?.scrollIntoView({ block: "center" });
};
if (numbers !== null) {
  numbers.addEventListener("click", (event) => {
    const link = event.target.closest("a[id]");
    const range = readRange();
    if (link === null || !event.shiftKey || range === null) return;
    event.preventDefault();
    const line = Number(link.id.slice(1));
    location.hash = "#L" + Math.min(line, range.first) + "-L" + Math.max(line, range.last);
  });
  addEventListener("hashchange", showRange);
  showRange();
}
// The permanent address keeps the marked lines.
const permalink = document.querySelector("a[data-permalink]");
permalink?.addEventListener("click", () => {
  permalink.hash = location.hash;
});
addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select") !== null;
  if (event.key === "y" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) permalink?.click();
});

// A field that names a list shows its entries with every typed word; Enter searches all.
for (const field of document.querySelectorAll("input[data-filter], input[data-find]")) {
  const list = field.closest(".menu-body") ?? document.getElementById(field.dataset.find);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const entry of list?.querySelectorAll("li") ?? []) {
      const text = entry.textContent.toLowerCase();
      entry.hidden = !words.every((word) => text.includes(word));
    }
  });
}

// A folded file opens when its place is visited.
const openTarget = () => {
  const target = location.hash === "" ? null : document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
};
addEventListener("hashchange", openTarget);
openTarget();
`;
