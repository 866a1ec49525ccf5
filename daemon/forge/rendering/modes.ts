/** How a text is rendered (forge behaviour, 18.2). */
export type RenderMode = "markdown" | "gfm" | "comment" | "wiki" | "file";

/** What a file's name says about its text. */
export type Format = "markdown" | "org" | "asciidoc" | "table" | "notebook" | "text";

const modes: ReadonlySet<string> = new Set<RenderMode>([
  "markdown",
  "gfm",
  "comment",
  "wiki",
  "file",
]);

/** The mode of a request; undefined for a name that no mode has. No name at all is `markdown`. */
export function toMode(name: string, isWiki: boolean): RenderMode | undefined {
  if (isWiki) return "wiki";
  if (name === "") return "markdown";
  return modes.has(name) ? (name as RenderMode) : undefined;
}

const formats: Readonly<Record<string, Format>> = {
  md: "markdown",
  markdown: "markdown",
  mdown: "markdown",
  mkd: "markdown",
  livemd: "markdown",
  org: "org",
  adoc: "asciidoc",
  asciidoc: "asciidoc",
  asc: "asciidoc",
  csv: "table",
  tsv: "table",
  ipynb: "notebook",
  txt: "text",
};

/** The format of a file by its name's ending, whatever its case; undefined when nothing here can show it. */
export function toFormat(filePath: string): Format | undefined {
  const name = filePath.slice(filePath.lastIndexOf("/") + 1).toLowerCase();
  const dot = name.lastIndexOf(".");
  const ending = dot === -1 ? "" : name.slice(dot + 1);
  return Object.hasOwn(formats, ending) ? formats[ending] : undefined;
}
