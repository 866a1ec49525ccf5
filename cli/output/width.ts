import stringWidth from "string-width";

/** Returns the text in at most `width` cells; a text that is cut ends with `…`. */
export function cutEnd(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  if (width < 1) return "";
  let part = "";
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const more = stringWidth(segment);
    if (used + more > width - 1) break;
    part += segment;
    used += more;
  }
  return `${part}…`;
}

/** Truncates a text at its beginning, because the last part of a path is the most useful. */
export function cutStart(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  if (width < 1) return "";
  const segments = [...new Intl.Segmenter().segment(text)].toReversed();
  let part = "";
  let used = 0;
  for (const { segment } of segments) {
    const more = stringWidth(segment);
    if (used + more > width - 1) break;
    part = segment + part;
    used += more;
  }
  return `…${part}`;
}

/** Pads a text with blanks at the end to `width` cells. */
export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - stringWidth(text)));
}

/** Pads a text with blanks in front. */
export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - stringWidth(text))) + text;
}

/** Lines of at most `width` cells, broken between words; a word that is longer is cut. */
export function wrapWords(text: string, width: number): readonly string[] {
  return breakWords(text, width).map((line) => cutEnd(line, width));
}

/** Wraps a text without breaking long words, so that paths and commands can be copied. */
export function breakWords(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && stringWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

/**
 * Wraps a page of text: paragraphs are filled, and the second column of an indented row continues below itself. An indented
 * line without columns is a command, which stays in one piece.
 */
export function wrapPage(text: string, width: number): string {
  const lines: string[] = [];
  let paragraph: string[] = [];
  const endParagraph = () => {
    if (paragraph.length > 0) lines.push(...wrapWords(paragraph.join(" "), width));
    paragraph = [];
  };
  for (const line of text.split("\n")) {
    if (/^\S/.test(line)) {
      paragraph.push(line);
      continue;
    }
    endParagraph();
    lines.push(...wrapRow(line, width));
  }
  endParagraph();
  return lines.join("\n");
}

function wrapRow(line: string, width: number): readonly string[] {
  const [, first = "", gap = "", rest] = /^( +\S.*?)( {2,})(\S.*)$/.exec(line) ?? [];
  if (rest === undefined || stringWidth(line) <= width) return [line];
  const start = stringWidth(first + gap);
  // A narrow terminal has no room for two columns.
  const indent = start > width / 2 ? 6 : start;
  const texts = wrapWords(rest, Math.max(10, width - indent));
  const below = texts.map((text) => " ".repeat(indent) + text);
  return start > width / 2
    ? [first, ...below]
    : [first + gap + (texts[0] ?? ""), ...below.slice(1)];
}
