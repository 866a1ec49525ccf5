import stringWidth from "string-width";

/** The text in at most `width` cells; what is cut off at its end leaves a `…`. */
export function cutEnd(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  if (width < 1) return "";
  let kept = "";
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const more = stringWidth(segment);
    if (used + more > width - 1) break;
    kept += segment;
    used += more;
  }
  return `${kept}…`;
}

/** The same, cut at the beginning: the last part of a path is the most useful. */
export function cutStart(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  if (width < 1) return "";
  const segments = [...new Intl.Segmenter().segment(text)].toReversed();
  let kept = "";
  let used = 0;
  for (const { segment } of segments) {
    const more = stringWidth(segment);
    if (used + more > width - 1) break;
    kept = segment + kept;
    used += more;
  }
  return `…${kept}`;
}

/** Filled up with blanks at the end to `width` cells. */
export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - stringWidth(text)));
}

/** Filled up with blanks in front. */
export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - stringWidth(text))) + text;
}

/** Lines of at most `width` cells, broken between words where that is possible. */
export function wrapWords(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && stringWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line].map((one) => cutEnd(one, width));
}
