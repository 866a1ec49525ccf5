// Further ways to read files: in parts, several at once, editor settings, notes and issue templates.
import { issueTemplateEndpoints } from "../../contract/forge/code/issue-templates.ts";
import { severalFilesEndpoints } from "../../contract/forge/code/several-files.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { getFirst, toCodeAddresses, toSegments } from "./code-addresses.ts";
import { toCodeRequest } from "./code-request.ts";
import { toCommitView } from "./commit.view.ts";
import type { CommitList, CommitParts, Commits } from "./commits.service.ts";
import { toFilesView } from "./contents.view.ts";
import {
  type IssueTemplates,
  toWarningHeaders,
} from "./issue-templates/issue-templates.service.ts";
import type { GitObjects } from "./objects.service.ts";
import type { SeveralFiles } from "./several-files.service.ts";

export function severalFilesRoutes({
  severalFiles,
  commits,
  objects,
  issueTemplates,
  urls,
}: {
  readonly severalFiles: SeveralFiles;
  readonly commits: Commits;
  readonly objects: GitObjects;
  readonly issueTemplates: IssueTemplates;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    handle(severalFilesEndpoints.getFiles, async (input) => {
      const request = toCodeRequest(input, "/file-contents");
      const { body, ref } = input.query;
      const found = await severalFiles.get(request, body.files, ref);
      return { status: 200, body: toFilesView(found, urls) };
    }),
    handle(severalFilesEndpoints.readFiles, async (input) => {
      const request = toCodeRequest(input, "/file-contents");
      const found = await severalFiles.get(request, input.body.files, input.query.ref);
      return { status: 200, body: toFilesView(found, urls) };
    }),
    handle(severalFilesEndpoints.listRepositoryLicenses, async (input) => ({
      status: 200,
      body: await severalFiles.listLicenses(toCodeRequest(input, "/licenses")),
    })),
    handle(severalFilesEndpoints.getEditorConfig, async (input) => {
      const { filepath } = input.params;
      const request = toCodeRequest(input, `/editorconfig/${toSegments(filepath)}`);
      const body = await severalFiles.readEditorConfig(request, filepath, input.query.ref);
      return { status: 200, body };
    }),
    handle(severalFilesEndpoints.getNote, async (input) => {
      const { sha } = input.params;
      const request = toCodeRequest(input, `/git/notes/${toSegments(sha)}`);
      const { text, commitId } = await objects.getNote(request, sha);
      const found = await commits.get(request, commitId, toParts(input.query));
      return { status: 200, body: { message: text, commit: toNoteCommit(found, urls) } };
    }),
    handle(issueTemplateEndpoints.listIssueTemplates, async (input) => {
      const found = await issueTemplates.list(toCodeRequest(input, "/issue_templates"));
      return { status: 200, body: [...found.templates], headers: toWarningHeaders(found) };
    }),
    handle(issueTemplateEndpoints.getIssueConfig, async (input) => {
      const { config } = await issueTemplates.getConfig(toCodeRequest(input, "/issue_config"));
      return { status: 200, body: config };
    }),
    handle(issueTemplateEndpoints.validateIssueConfig, async (input) => {
      const request = toCodeRequest(input, "/issue_config/validate");
      const { error } = await issueTemplates.getConfig(request);
      return { status: 200, body: { valid: error === undefined, message: error ?? "" } };
    }),
  ];
}

function toParts(query: {
  readonly files?: boolean | undefined;
  readonly verification?: boolean | undefined;
}): CommitParts {
  const { files = true, verification = true } = query;
  return { withStats: true, withFiles: files, withVerification: verification };
}

function toNoteCommit({ owned, commits, authors }: CommitList, urls: ForgeUrls) {
  return toCommitView(getFirst(commits), authors, toCodeAddresses(owned, urls), urls);
}
