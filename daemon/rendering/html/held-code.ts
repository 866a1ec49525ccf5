/** Placeholders are numbers between two noncharacters of Unicode, which no text needs. */
const OPENING = "\uFDD0";
const placeholder = /\uFDD0(\d+)\uFDD1/g;

/** Highlighted code of one document. */
export type HeldCode = ReturnType<typeof createHeldCode>;

/**
 * Holds highlighted code that skips the parsers. It has no HTML of the author, so parsing it twice, which takes as long as all
 * other work for a comment with code, finds nothing.
 */
export function createHeldCode() {
  const kept: (string | undefined)[] = [];
  return {
    /** Keeps HTML of escaped text and allowed `span` elements. Returns a placeholder for it. */
    hold: (html: string): string => `${OPENING}${kept.push(html) - 1}\uFDD1`,

    /**
     * Replaces the placeholders in text by their HTML. Only for the text of an element: markup of an author may have put a
     * placeholder into the value of an attribute, where the HTML would end it. Each is replaced once, so an author who
     * writes placeholders cannot repeat code.
     */
    restore: (text: string): string =>
      text.includes(OPENING)
        ? text.replace(placeholder, (_whole, number: string) => {
            const html = kept[Number(number)] ?? "";
            kept[Number(number)] = undefined;
            return html;
          })
        : text,
  };
}

/** Returns text or HTML without placeholders. */
export function withoutPlaceholders(text: string): string {
  return text.includes(OPENING) ? text.replace(/\uFDD0(?:\d+\uFDD1)?/g, "") : text;
}
