import { commitEndpoints } from "../../contract/forge/code/commits.ts";
import { contentsEndpoints } from "../../contract/forge/code/contents.ts";
import { pullChangeEndpoints } from "../../contract/forge/pulls/pull-changes.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import { notFound } from "../refusals.ts";
import { findPlace, isMissing, type PlaceParams, toRef } from "./place.tsx";
import { get } from "../../pages/page.ts";
import { type ForgePageContext, type ForgePageRoute, type RepositoryParams } from "./forge-page.ts";

/**
 * Serves raw files and archives: the targets of `download_url`, of pictures in a README, and of the links of tags. The
 * API authorizes the reader, and sends a content security policy that disables active content.
 */
export function filePages(): ForgePageRoute[] {
  return [
    get("/:owner/:repo/raw/:kind/**:rest", sendFile),
    get("/:owner/:repo/media/:kind/**:rest", sendFile),
    get("/:owner/:repo/archive/**:archive", sendArchive),
    get("/:owner/:repo/commit/:sha.diff", sendCommit(commitEndpoints.getCommitDiff)),
    get("/:owner/:repo/commit/:sha.patch", sendCommit(commitEndpoints.getCommitPatch)),
    get("/:owner/:repo/pulls/:index.diff", sendPull(pullChangeEndpoints.getPullDiff)),
    get("/:owner/:repo/pulls/:index.patch", sendPull(pullChangeEndpoints.getPullPatch)),
  ];
}

async function sendFile(context: ForgePageContext, params: PlaceParams) {
  const { owner, repo } = params;
  const place = await findPlace(context, params);
  const { path } = place;
  if (path === "") throw notFound();
  const answer = toBytes(
    await context.call(contentsEndpoints.getMediaFile, {
      params: { owner, repo, filepath: path },
      query: { ref: toRef(place) },
    }),
  );
  return {
    kind: "file",
    answer: path.endsWith(".svg") ? toVectorPicture(answer) : answer,
  } as const;
}

/** Browsers show an SVG within another page, where it cannot run scripts; an SVG that is opened itself is saved. */
export function toVectorPicture({ bytes, headers, ...answer }: BytesAnswer): BytesAnswer {
  const disposition = String(headers?.["Content-Disposition"]).replace(/^inline/, "attachment");
  return {
    ...answer,
    headers: { ...headers, "Content-Disposition": disposition },
    bytes: { ...bytes, contentType: "image/svg+xml" },
  };
}

async function sendArchive(
  { call }: ForgePageContext,
  params: RepositoryParams & { readonly archive: string },
) {
  const { owner, repo, archive } = params;
  const answer = toBytes(
    await call(contentsEndpoints.getArchive, { params: { owner, repo, archive } }),
  );
  return { kind: "file", answer } as const;
}

/** Serves the diff or the patches of a pull request: the targets of `diff_url` and `patch_url`. */
const sendPull =
  (endpoint: typeof pullChangeEndpoints.getPullDiff | typeof pullChangeEndpoints.getPullPatch) =>
  async ({ call }: ForgePageContext, params: RepositoryParams & { readonly index: string }) =>
    ({ kind: "file", answer: toBytes(await call(endpoint, { params })) }) as const;

/** Serves a commit as a diff or a patch. */
const sendCommit =
  (endpoint: typeof commitEndpoints.getCommitDiff | typeof commitEndpoints.getCommitPatch) =>
  async ({ call }: ForgePageContext, params: RepositoryParams & { readonly sha: string }) =>
    ({ kind: "file", answer: toBytes(await call(endpoint, { params })) }) as const;

/**
 * Serves a comparison whose address ends with `.diff` or `.patch`. Returns undefined for any other address, and when no
 * ref has the rest of it as its name.
 */
export async function sendComparison(
  { call }: ForgePageContext,
  { owner, repo, basehead }: RepositoryParams & { readonly basehead: string },
) {
  const [, range, output] = /^(.+)\.(diff|patch)$/s.exec(basehead) ?? [];
  if (range === undefined || output === undefined) return undefined;
  try {
    const params = { owner, repo, basehead: range };
    const answer = toBytes(await call(commitEndpoints.compare, { params, query: { output } }));
    return { kind: "file", answer } as const;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Returns the response of an operation for bytes. */
export function toBytes(answer: object): BytesAnswer {
  if (!("bytes" in answer)) throw new Error("an operation for bytes returned another body");
  return answer as BytesAnswer;
}
