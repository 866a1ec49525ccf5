import type { MarkdownIt, StateCore, Token } from "markdown-it";
import { dialectOf } from "./dialect.ts";
import { toIcon } from "./icons.ts";

const icons = {
  note: "octicon-info",
  tip: "octicon-light-bulb",
  important: "octicon-report",
  warning: "octicon-alert",
  caution: "octicon-stop",
} as const;

type Alert = keyof typeof icons;

/** Renders quotes that begin with a marker such as `[!NOTE]`, or with its emphasised word, as alerts. */
export function alerts(engine: MarkdownIt): void {
  engine.core.ruler.before("inline", "alerts", markAlerts);

  engine.renderer.rules["blockquote_open"] = (tokens, index, _options, env) => {
    const alert = tokens[index]?.meta?.["alert"];
    const direction = tokens[index]?.attrGet("dir") === "auto" ? ' dir="auto"' : "";
    return typeof alert === "string"
      ? `<blockquote${direction} ${dialectOf(env).className(`attention-header attention-${alert}`)}>`
      : `<blockquote${direction}>\n`;
  };
  engine.renderer.rules["alert_title"] = (tokens, index, _options, env) => {
    const dialect = dialectOf(env);
    const alert = tokens[index]?.content as Alert;
    const direction = dialect.decorates ? ' dir="auto"' : "";
    const title = alert.charAt(0).toUpperCase() + alert.slice(1);
    const icon = toIcon(dialect, icons[alert], `attention-icon attention-${alert} svg`);
    return `<p${direction}>${icon}<strong ${dialect.className(`attention-${alert}`)}>${title}</strong></p>\n`;
  };
}

const words = Object.keys(icons).join("|");
const marker = new RegExp(
  `^(?:\\\\?\\[!(${words})\\\\?\\][ \\t]*(?:\\n|$)|(\\*{1,2}|_{1,2})(${words})\\2(?:[ \\t]*(?:\\n|$)|(?=[\\s:.,])))`,
  "i",
);

function markAlerts(state: StateCore): void {
  const { tokens } = state;
  if (!tokens.some(({ type }) => type === "blockquote_open")) return;
  const output: Token[] = [];
  for (let index = 0; index < tokens.length; index += 1) {
    const quote = tokens[index];
    if (quote === undefined) break;
    output.push(quote);
    const inline = tokens[index + 2];
    if (
      quote.type !== "blockquote_open" ||
      tokens[index + 1]?.type !== "paragraph_open" ||
      inline?.type !== "inline"
    )
      continue;
    const found = marker.exec(inline.content);
    if (found === null) continue;
    const alert = (found[1] ?? found[3] ?? "").toLowerCase();
    quote.meta = { alert };
    const title = new state.Token("alert_title", "", 0);
    title.content = alert;
    output.push(title);
    inline.content = inline.content.slice(found[0].length);
    // A paragraph with only the marker is removed.
    if (inline.content.trim() === "") index += 3;
  }
  state.tokens = output;
}
