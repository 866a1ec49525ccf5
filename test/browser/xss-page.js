// Runs in the browser, in the page that shows the corpus: `xss.test.ts` puts it in front of what is rendered.
window.hits = 0;
window.hit = () => {
  window.hits += 1;
};

/** Puts HTML into the page as scripts do, and does to it what pages do that move content: out and in again, twice. */
window.showFragment = (html) => {
  const place = document.createElement("div");
  document.body.append(place);
  place.innerHTML = html;
  for (let times = 0; times < 2; times += 1) {
    const written = place.innerHTML;
    place.innerHTML = written;
  }
};

/** Looks at every element of every vector and sends it the events that could wake it. */
window.poke = (allowed) => {
  const names = new Set(allowed);
  const complaints = [];
  const events = [
    "mouseover",
    "mouseenter",
    "pointerover",
    "focus",
    "click",
    "toggle",
    "load",
    "error",
    "animationstart",
    "begin",
  ];
  const vectors = document.querySelectorAll(".vector");
  for (const vector of vectors) {
    const where = vector.getAttribute("data-index");
    for (const element of vector.querySelectorAll("*")) {
      const name = element.localName.toLowerCase();
      if (!names.has(name)) complaints.push(`${where}: <${name}>`);
      for (const attribute of element.attributes) {
        if (/^on/i.test(attribute.name)) complaints.push(`${where}: ${attribute.name}`);
        const isAddress =
          /^(?:href|src|action|formaction|data|poster|xlink:href|cite|background)$/i.test(
            attribute.name,
          );
        const scheme = isAddress ? new URL(attribute.value, "http://x.invalid/").protocol : "";
        if (/^(?:javascript|vbscript|data):$/.test(scheme))
          complaints.push(`${where}: ${attribute.value}`);
      }
      for (const kind of events)
        if (kind !== "click" || !element.closest("a, area, label, summary, input"))
          element.dispatchEvent(new Event(kind, { bubbles: true }));
    }
  }
  return { complaints, vectors: vectors.length };
};

/** What ran, and whether anything stands in front of what a page needs. */
window.report = () => ({
  hits: window.hits,
  intact: [
    typeof document.cookie === "string",
    document.body instanceof HTMLBodyElement,
    typeof document.getElementById === "function",
    typeof document.querySelector === "function",
    typeof document.createElement === "function",
    document.currentScript === null,
    typeof window.hit === "function",
    document.baseURI,
  ],
  ids: [...document.querySelectorAll(".vector [id], .vector [name]")].map(
    (element) => element.id || element.getAttribute("name"),
  ),
});
