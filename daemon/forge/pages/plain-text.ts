const entities: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#34;": '"',
  "&#39;": "'",
  "&amp;": "&",
};

/** Elements whose text does not continue that before them. */
const BLOCKS = /<\/?(?:p|br|li|[uod]l|h[1-6]|pre|div|table|t[rdh]|blockquote|hr)\b[^>]*>/g;

/**
 * Returns the text of sanitized HTML on one line, without its elements. The sanitizer leaves no `<` in texts and
 * attributes; the result is a text, which a page escapes again.
 */
export function toPlainText(html: string): string {
  return html
    .replace(BLOCKS, " ")
    .replace(/<[^>]*>/g, "")
    .replace(/&(?:lt|gt|quot|#34|#39|amp);/g, (entity) => entities[entity] ?? entity)
    .replace(/\s+/g, " ")
    .trim();
}
