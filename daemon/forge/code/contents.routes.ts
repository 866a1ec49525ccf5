import {
  contentsEndpoints,
  type CommitBody,
  CONTENT_PARTS,
  type WireFileChange,
} from "../../contract/forge/code/contents.ts";
import type { BytesAnswer, Route } from "../../http/handle.ts";
import { answer } from "../../http/serve.ts";
import { toContentDisposition } from "../packages/download.view.ts";
import { serve } from "../handle.ts";
import { HARMLESS } from "../shown-type.ts";
import type { ForgeUrls } from "../urls.ts";
import type { CommitWish, FileChanges, FilesChanged } from "./change-files.service.ts";
import { getFirst } from "./code-addresses.ts";
import { type CodeRequest, toCodeRequest } from "./open-code.ts";
import { toVerificationView } from "./commit.view.ts";
import type { ContentParts, Contents } from "./contents.service.ts";
import {
  toContentsExtView,
  toContentsView,
  toContentsViews,
  toEntryView,
  toFileCommitView,
} from "./contents.view.ts";
import { toFileOperation } from "./file-operations.ts";
import type { Archive, RawFile, RawFiles } from "./raw-files.service.ts";

/** Routes of files and folders: read, written through the API, as bytes and as archives. */
export function contentsRoutes({
  contents,
  files,
  fileChanges,
  urls,
}: {
  readonly contents: Contents;
  readonly files: RawFiles;
  readonly fileChanges: FileChanges;
  readonly urls: ForgeUrls;
}): Route[] {
  const getExt = async ({
    filepath,
    query: { ref, includes },
    request,
  }: {
    readonly filepath: string;
    readonly query: { readonly ref: string; readonly includes: string };
    readonly request: CodeRequest;
  }) => {
    const found = await contents.get(request, filepath, ref, toParts(includes));
    return answer(toContentsExtView(found, urls, hasMessages(includes)), { total: found.total });
  };
  return serve(contentsEndpoints, {
    getRootContents: async (input) => {
      const found = await contents.get(toCodeRequest(input), "", input.query.ref);
      return answer(toContentsViews(found, urls), { total: found.total });
    },
    getContents: async ({ params, query, ...input }) => {
      const found = await contents.get(toCodeRequest(input), params.filepath, query.ref);
      return answer(toContentsView(found, urls), { total: found.total });
    },
    getRootContentsExt: ({ query, ...input }) =>
      getExt({ filepath: "", query, request: toCodeRequest(input) }),
    getContentsExt: ({ params, query, ...input }) =>
      getExt({ filepath: params.filepath, query, request: toCodeRequest(input) }),
    createFile: async ({ params, body, ...input }) => {
      const operation = toOperation("create", params.filepath, body);
      return toFile(await fileChanges.change(toCodeRequest(input), [operation], toWish(body)));
    },
    updateFile: async ({ params, body, ...input }) => {
      const isNew = (body.sha ?? "") === "";
      const operation = toOperation(isNew ? "create" : "update", params.filepath, body);
      const changed = await fileChanges.change(toCodeRequest(input), [operation], toWish(body));
      return { status: isNew ? 201 : 200, body: toFile(changed) } as const;
    },
    deleteFile: async ({ params, body, ...input }) => {
      const operation = toOperation("delete", params.filepath, body);
      return toFile(await fileChanges.change(toCodeRequest(input), [operation], toWish(body)));
    },
    changeFiles: async ({ body, ...input }) => {
      const operations = body.files.map((each) => toOperation(each.operation, each.path, each));
      return toFiles(await fileChanges.change(toCodeRequest(input), operations, toWish(body)));
    },
    applyPatch: async ({ body, ...input }) => {
      const request = toCodeRequest(input);
      const changed = await fileChanges.applyPatch(request, body.content, toWish(body));
      return { ...toFiles(changed), content: null };
    },
    getRawFile: async ({ params, query, ...input }) =>
      toBytes(await files.get(toCodeRequest(input), params.filepath, query.ref)),
    getMediaFile: async ({ params, query, ...input }) =>
      toBytes(await files.getMedia(toCodeRequest(input), params.filepath, query.ref)),
    getArchive: async (input) =>
      toDownload(await files.archive(toCodeRequest(input), input.params.archive)),
  });

  function toFile(changed: FilesChanged): WireFileChange {
    const { files: list, ...rest } = toFiles(changed);
    return { ...rest, content: getFirst(list) };
  }

  function toFiles({ owned, revision, commit, files: list }: FilesChanged) {
    const place = { owned, revision, ref: revision.name };
    return {
      files: list.map((each) => (each === undefined ? null : toEntryView(each, place, urls))),
      commit: toFileCommitView(commit, owned, urls),
      verification: toVerificationView(commit),
    };
  }
}

const hasMessages = (includes: string) => includes.split(",").includes(CONTENT_PARTS.message);

function toParts(includes: string): ContentParts {
  const words = includes.split(",");
  return {
    withContent: words.includes(CONTENT_PARTS.content),
    withLast: words.includes(CONTENT_PARTS.lastCommit) || hasMessages(includes),
    isQuick: hasMessages(includes),
  };
}

function toOperation(
  operation: string,
  path: string,
  body: {
    readonly content?: string | null | undefined;
    readonly sha?: string | null | undefined;
    readonly from_path?: string | null | undefined;
  },
) {
  return toFileOperation({
    operation,
    path,
    fromPath: body.from_path ?? "",
    sha: body.sha ?? "",
    content: body.content ?? "",
  });
}

function toWish(body: CommitBody): CommitWish {
  const toPerson = (person: CommitBody["author"]) => ({
    name: person?.name ?? "",
    email: person?.email ?? "",
  });
  return {
    message: body.message ?? "",
    branch: body.branch ?? "",
    newBranch: body.new_branch ?? "",
    isForced: body.force_push ?? false,
    author: toPerson(body.author),
    committer: toPerson(body.committer),
    authoredAt: body.dates?.author ?? undefined,
    committedAt: body.dates?.committer ?? undefined,
    isSignedOff: body.signoff ?? false,
  };
}

/** Returns the response with the bytes of a file. */
export function toBytes({
  name,
  id,
  size,
  contentType,
  isShown,
  changedAt,
  open,
  giveUp,
}: RawFile): BytesAnswer {
  return {
    status: 200,
    headers: {
      ...HARMLESS,
      "Content-Disposition": toContentDisposition(name, isShown ? "inline" : "attachment"),
      "Access-Control-Expose-Headers": "Content-Disposition",
      "X-Gitea-Object-Type": "file",
    },
    bytes: { size, contentType, etag: id, lastModified: changedAt, open, release: giveUp },
  };
}

function toDownload({ name, contentType, stream, giveUp }: Archive): BytesAnswer {
  return {
    status: 200,
    headers: { ...HARMLESS, "Content-Disposition": toContentDisposition(name, "attachment") },
    bytes: {
      size: undefined,
      contentType,
      etag: undefined,
      lastModified: undefined,
      open: async () => stream,
      release: giveUp,
    },
  };
}
