import { Parser } from "htmlparser2";
import { RenderLimitError } from "../limits.ts";
import { escapeAttribute, escapeText, voidElements } from "./flat.ts";

/** How deep elements may nest. Browsers stop at 512; the parsers' stacks are searched linearly, so depth costs time. */
const DEPTH_MAX = 400;

/** Elements that vanish with everything inside them (forge behaviour, 18.6). */
const swallowed: ReadonlySet<string> = new Set(
  "script style iframe object frame frameset noembed noframes noscript".split(" "),
);

/**
 * Any HTML as flat HTML: parsed as leniently as browsers do, written balanced. Comments, doctypes and processing
 * instructions are gone, and so are elements of the `swallowed` list with their content.
 * Throws `RenderLimitError` when elements nest deeper than 400.
 */
export function normalise(html: string): string {
  let out = "";
  let depth = 0;
  let swallowing = 0;
  const written: boolean[] = [];
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (++depth > DEPTH_MAX) throw new RenderLimitError("elements nest too deep");
        if (swallowed.has(name)) swallowing += 1;
        const writes = swallowing === 0 && /^[a-z][a-z0-9-]*$/.test(name);
        written.push(writes);
        if (!writes) return;
        out += `<${name}`;
        for (const attribute of Object.keys(attributes))
          if (/^[^\s"'<>/=\p{Cc}]+$/u.test(attribute))
            out += ` ${attribute.toLowerCase()}="${escapeAttribute(withoutControls(attributes[attribute] ?? ""))}"`;
        out += ">";
      },
      ontext(text) {
        if (swallowing === 0) out += escapeText(withoutControls(text));
      },
      onclosetag(name) {
        depth -= 1;
        if (swallowed.has(name)) swallowing -= 1;
        if (written.pop() === true && !voidElements.has(name)) out += `</${name}>`;
      },
    },
    { decodeEntities: true },
  );
  parser.write(html);
  parser.end();
  return out;
}

/** Browsers drop or replace these; left in, they would only help to hide something. */
export function withoutControls(text: string): string {
  return controls.test(text) ? text.replace(allControls, "") : text;
}

const controls = /[\0-\x08\x0B\x0C\x0E-\x1F\x7F]/; // oxlint-disable-line no-control-regex -- they are what is looked for
const allControls = /[\0-\x08\x0B\x0C\x0E-\x1F\x7F]/g; // oxlint-disable-line no-control-regex -- they are what is looked for
