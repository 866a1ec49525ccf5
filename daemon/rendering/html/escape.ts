const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** Returns text as HTML, for an element's content or a double-quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => escapes[character] ?? character);
}

/**
 * Removes control characters except tab, LF and CR: browsers drop or replace them, so they could hide markup from
 * checks.
 */
export function withoutControls(text: string): string {
  return text.replace(controls, "");
}

// oxlint-disable-next-line no-control-regex -- matches control characters
const controls = /[\0-\x08\x0B\x0C\x0E-\x1F\x7F]/g;
