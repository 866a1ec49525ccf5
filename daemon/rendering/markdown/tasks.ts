import type { MarkdownIt } from "markdown-it";
import { dialectOf } from "./dialect.ts";

/** Renders `- [ ]` and `- [x]` at the start of a list item as a checkbox with its byte offset in the source. */
export function tasks(engine: MarkdownIt): void {
  const boxes = new WeakMap<object, { readonly isChecked: boolean; readonly position: number }>();

  engine.core.ruler.before("inline", "task_boxes", ({ tokens, env }) => {
    let toPosition: ((line: number, content: string) => number) | undefined;
    for (let index = 0; index < tokens.length; index += 1) {
      const item = tokens[index];
      if (item?.type !== "list_item_open" || tokens[index + 1]?.type !== "paragraph_open") continue;
      const inline = tokens[index + 2];
      const found =
        inline === undefined ? null : /^\[([ xX])\](?:[ \t]+|(?=\n)|$)/.exec(inline.content);
      if (inline === undefined || found === null) continue;
      toPosition ??= createPositions(dialectOf(env).source, dialectOf(env).bytesBefore);
      const position = toPosition(inline.map?.[0] ?? 0, inline.content);
      boxes.set(inline, { isChecked: found[1] !== " ", position });
      inline.content = inline.content.slice(found[0].length);
      item.meta = { isTask: true };
    }
  });

  engine.core.ruler.after("inline", "task_tokens", (state) => {
    for (const inline of state.tokens) {
      const box = boxes.get(inline);
      if (box === undefined) continue;
      const token = new state.Token("task_box", "input", 0);
      token.meta = { ...box };
      inline.children?.unshift(token);
    }
  });

  engine.renderer.rules["task_box"] = (tokens, index) => {
    const meta = tokens[index]?.meta;
    return `<input type="checkbox" disabled="" data-source-position="${Number(meta?.["position"])}"${meta?.["isChecked"] === true ? ' checked=""' : ""}>`;
  };
  engine.renderer.rules["list_item_open"] = (tokens, index, options, env, renderer) => {
    const html = renderer.renderToken(tokens, index, options);
    return tokens[index]?.meta?.["isTask"] === true
      ? html.replace("<li", `<li ${dialectOf(env).className("task-list-item")}`)
      : html;
  };
}

/**
 * Returns a function that computes the byte offset of a checkbox. It reads the document once, so call it for lines in
 * ascending order.
 */
function createPositions(
  source: string,
  bytesBefore: number,
): (line: number, content: string) => number {
  const lines = source.split("\n");
  const starts: number[] = [];
  let bytes = bytesBefore;
  return (line, content) => {
    for (let next = starts.length; next <= line; next += 1) {
      starts.push(bytes);
      bytes += Buffer.byteLength(lines[next] ?? "") + 1;
    }
    const written = (lines[line] ?? "").trimEnd();
    const firstLine = (content.split("\n", 1)[0] ?? "").trimEnd();
    return (starts[line] ?? 0) + Buffer.byteLength(written) - Buffer.byteLength(firstLine);
  };
}
