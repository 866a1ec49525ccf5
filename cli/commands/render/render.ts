import { type Entry, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("markdown", "Render Markdown as HTML", () => import("./markdown.ts")),
  verb("markup", "Render a file as HTML, by its name", () => import("./markup.ts")),
];
