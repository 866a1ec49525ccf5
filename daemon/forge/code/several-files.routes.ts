// Further ways to read files: in parts, several at once, editor settings, notes and issue templates.
import { issueTemplateEndpoints } from "../../contract/forge/code/issue-templates.ts";
import { severalFilesEndpoints } from "../../contract/forge/code/several-files.ts";
import type { Route } from "../../http/handle.ts";
import { answer } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { getFirst, toCodeAddresses } from "./code-addresses.ts";
import { toCodeRequest } from "./open-code.ts";
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
    ...serve(severalFilesEndpoints, {
      getFiles: async ({ query, ...input }) => {
        const found = await severalFiles.get(toCodeRequest(input), query.body.files, query.ref);
        return toFilesView(found, urls);
      },
      readFiles: async ({ query, body, ...input }) =>
        toFilesView(await severalFiles.get(toCodeRequest(input), body.files, query.ref), urls),
      listRepositoryLicenses: (input) => severalFiles.listLicenses(toCodeRequest(input)),
      getEditorConfig: ({ params, query, ...input }) =>
        severalFiles.readEditorConfig(toCodeRequest(input), params.filepath, query.ref),
      getNote: async ({ params, query, ...input }) => {
        const request = toCodeRequest(input);
        const { text, commitId } = await objects.getNote(request, params.sha);
        const found = await commits.get(request, commitId, toParts(query));
        return { message: text, commit: toNoteCommit(found, urls) };
      },
    }),
    ...serve(issueTemplateEndpoints, {
      listIssueTemplates: async (input) => {
        const found = await issueTemplates.list(toCodeRequest(input));
        return answer([...found.templates], { headers: toWarningHeaders(found) });
      },
      getIssueConfig: async (input) =>
        (await issueTemplates.getConfig(toCodeRequest(input))).config,
      validateIssueConfig: async (input) => {
        const { error } = await issueTemplates.getConfig(toCodeRequest(input));
        return { valid: error === undefined, message: error ?? "" };
      },
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
