import type { WireContents } from "../../contract/forge/code/contents.ts";
import { objectEndpoints } from "../../contract/forge/code/objects.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { decodeIfText } from "../../utilities/text-encoding.ts";
import { escapePath } from "../../rendering/html/links.ts";
import type { ForgePageContext, RepositoryParams } from "./forge-page.ts";
import { isMissing, type Place, readPlace } from "./place.tsx";
import { type FollowedLink, followLink } from "./tree-links.ts";

// Texts of files: read, rendered, and found behind symbolic links.

/** The largest file that a page shows, in bytes; the command line shows larger ones. */
export const FILE_BYTES_MAX = 512 * 1024;

/** Files whose text is rendered as a document. */
export const MARKUP = /\.(?:md|markdown|mdown|mkd|livemd|org|csv|tsv|adoc|asciidoc|ipynb)$/i;

/** Reads the bytes of a file; undefined for one that is too large for the operation. */
export async function readBytes(
  { call }: ForgePageContext,
  { owner, repo }: RepositoryParams,
  sha: string,
): Promise<Buffer | undefined> {
  const { body: blob } = await call(objectEndpoints.getBlob, { params: { owner, repo, sha } });
  return blob.content === null ? undefined : Buffer.from(blob.content, "base64");
}

/** Reads a file as text; undefined for a binary one. */
export async function readText(
  context: ForgePageContext,
  params: RepositoryParams,
  sha: string,
): Promise<string | undefined> {
  const bytes = await readBytes(context, params, sha);
  return bytes === undefined ? undefined : decodeIfText(bytes);
}

/** Renders markup to HTML, and other text as highlighted code. */
export async function renderFile(
  context: ForgePageContext,
  repository: WireRepository,
  place: Place,
  text: string,
  language?: string,
): Promise<string | undefined> {
  const { kind, ref, path } = place;
  if (!MARKUP.test(path)) return renderCode(context, path, text, language);
  const folder = path.split("/").slice(0, -1);
  const base = escapePath(["", repository.full_name, "src", kind, ref, ...folder].join("/"));
  return context.render({ text, mode: "file", context: base, filePath: path });
}

/** Renders a text as highlighted code; its language is that of the name of the file unless it is given. */
export async function renderCode(
  { render }: ForgePageContext,
  path: string,
  text: string,
  language = /\.([a-z0-9]+)$/i.exec(path)?.[1] ?? "",
): Promise<string | undefined> {
  return render({ text, mode: "markdown", context: "", language });
}

/** Follows a symbolic link of a place within its commit. */
export async function followAt(
  context: ForgePageContext,
  { owner, name }: WireRepository,
  place: Place,
  { target }: Pick<WireContents, "target">,
): Promise<FollowedLink | undefined> {
  return followLink({ path: place.path, target }, async (path) => {
    try {
      const params = { owner: owner.login, repo: name };
      const { file_contents: file } = await readPlace(context, params, { ...place, path });
      return file ?? { type: "dir", size: 0, sha: "", target: null };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  });
}
