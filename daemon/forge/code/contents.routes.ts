import {
  contentsEndpoints,
  type CommitBody,
  CONTENT_PARTS,
  type WireFileChange,
} from "../../contract/forge/code/contents.ts";
import type { BytesAnswer, Route } from "../../http/handle.ts";
import { toContentDisposition } from "../packages/download.view.ts";
import { handle } from "../handle.ts";
import { HARMLESS } from "../shown-type.ts";
import type { ForgeUrls } from "../urls.ts";
import type { CommitWish, FileChanges, FilesChanged } from "./change-files.service.ts";
import { getFirst, toSegments } from "./code-addresses.ts";
import { toCodeRequest } from "./code-request.ts";
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
  return [
    handle(contentsEndpoints.getRootContents, async (input) => {
      const found = await contents.get(toCodeRequest(input, "/contents"), "", input.query.ref);
      return { status: 200, body: toContentsViews(found, urls), total: found.total };
    }),
    handle(contentsEndpoints.getContents, async (input) => {
      const { filepath } = input.params;
      const request = toCodeRequest(input, `/contents/${toSegments(filepath)}`);
      const found = await contents.get(request, filepath, input.query.ref);
      return { status: 200, body: toContentsView(found, urls), total: found.total };
    }),
    handle(contentsEndpoints.getRootContentsExt, async (input) => {
      const request = toCodeRequest(input, "/contents-ext");
      const { ref, includes } = input.query;
      const found = await contents.get(request, "", ref, toParts(includes));
      const body = toContentsExtView(found, urls, hasMessages(includes));
      return { status: 200, body, total: found.total };
    }),
    handle(contentsEndpoints.getContentsExt, async (input) => {
      const { filepath } = input.params;
      const request = toCodeRequest(input, `/contents-ext/${toSegments(filepath)}`);
      const { ref, includes } = input.query;
      const found = await contents.get(request, filepath, ref, toParts(includes));
      const body = toContentsExtView(found, urls, hasMessages(includes));
      return { status: 200, body, total: found.total };
    }),
    handle(contentsEndpoints.createFile, async (input) => {
      const { body, params } = input;
      const request = toCodeRequest(input, `/contents/${toSegments(params.filepath)}`);
      const operation = toOperation("create", params.filepath, body);
      return {
        status: 201,
        body: toFile(await fileChanges.change(request, [operation], toWish(body))),
      };
    }),
    handle(contentsEndpoints.updateFile, async (input) => {
      const { body, params } = input;
      const request = toCodeRequest(input, `/contents/${toSegments(params.filepath)}`);
      const isNew = (body.sha ?? "") === "";
      const operation = toOperation(isNew ? "create" : "update", params.filepath, body);
      const changed = await fileChanges.change(request, [operation], toWish(body));
      return { status: isNew ? 201 : 200, body: toFile(changed) };
    }),
    handle(contentsEndpoints.deleteFile, async (input) => {
      const { body, params } = input;
      const request = toCodeRequest(input, `/contents/${toSegments(params.filepath)}`);
      const operation = toOperation("delete", params.filepath, body);
      return {
        status: 200,
        body: toFile(await fileChanges.change(request, [operation], toWish(body))),
      };
    }),
    handle(contentsEndpoints.changeFiles, async (input) => {
      const { files: list } = input.body;
      const operations = list.map((each) => toOperation(each.operation, each.path, each));
      const request = toCodeRequest(input, "/contents");
      return {
        status: 201,
        body: toFiles(await fileChanges.change(request, operations, toWish(input.body))),
      };
    }),
    handle(contentsEndpoints.applyPatch, async (input) => {
      const { body } = input;
      const changed = await fileChanges.applyPatch(
        toCodeRequest(input, "/diffpatch"),
        body.content,
        toWish(body),
      );
      return { status: 201, body: { ...toFiles(changed), content: null } };
    }),
    handle(contentsEndpoints.getRawFile, async (input) => {
      const { filepath } = input.params;
      const request = toCodeRequest(input, `/raw/${toSegments(filepath)}`);
      return toBytes(await files.get(request, filepath, input.query.ref));
    }),
    handle(contentsEndpoints.getMediaFile, async (input) => {
      const { filepath } = input.params;
      const request = toCodeRequest(input, `/media/${toSegments(filepath)}`);
      return toBytes(await files.getMedia(request, filepath, input.query.ref));
    }),
    handle(contentsEndpoints.getArchive, async (input) => {
      const { archive } = input.params;
      const request = toCodeRequest(input, `/archive/${toSegments(archive)}`);
      return toDownload(await files.archive(request, archive));
    }),
  ];

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
