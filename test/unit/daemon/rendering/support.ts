import type { RenderInput } from "../../../../daemon/rendering/document.ts";
import { createRenderer } from "../../../../daemon/rendering/renderer.ts";

export const root = "http://localhost:3000/";

/** Renders without the marks that only pages need, as the reference's own examples are written. */
export const plainRenderer = createRenderer({ secret: "s3cret:", decorates: false });

/** Renders as the daemon does. */
export const pageRenderer = createRenderer({ secret: "s3cret:", decorates: true });

export async function render(
  text: string,
  input: Partial<RenderInput> = {},
  renderer = plainRenderer,
): Promise<string> {
  const rendered = await renderer.render({
    text,
    mode: "gfm",
    root,
    context: "",
    filePath: "",
    mentionable: [],
    ...input,
  });
  if (rendered.kind !== "rendered") throw new Error(`not rendered: ${rendered.kind}`);
  return rendered.html;
}

/** Without drawings: they are croft's own. */
export const withoutIcons = (html: string): string => html.replace(/<svg.*?<\/svg>/g, "ICON");
