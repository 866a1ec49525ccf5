declare module "markdown-it-deflist" {
  import type { MarkdownIt } from "markdown-it";

  const deflist: (engine: MarkdownIt) => void;
  export default deflist;
}
