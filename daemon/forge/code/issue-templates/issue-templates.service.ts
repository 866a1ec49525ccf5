import { readFolderFiles } from "../../../../storage/git/folder-files.ts";
import { assertNever, AppError } from "../../../errors.ts";
import {
  createThreadPool,
  type ThreadOutcome,
  threadsUnavailable,
} from "../../../jobs/thread-pool.ts";
import type { CodeAccess, CodeRequest, OpenedCode } from "../open-code.ts";
import { findRevision } from "../revisions.ts";
import { defaultConfig, type ParsedConfig, type ParsedTemplates } from "./issue-template.ts";
import type { TemplateInput, TemplateOutput } from "./issue-template.worker.ts";

/** Folders of templates, in the order of the list. */
const FOLDERS = ["", ".gitea/", ".github/", ".gitlab/"].flatMap((place) => [
  `${place}ISSUE_TEMPLATE`,
  `${place}issue_template`,
]);
/** Folders whose `config.yaml` or `config.yml` counts; the first file is used. */
const CONFIG_FOLDERS = [".gitea/", ".github/"].flatMap((place) => [
  `${place}ISSUE_TEMPLATE`,
  `${place}issue_template`,
]);

/** Maximum number of templates of one folder, and bytes of one file. */
const FILES_MAX = 30;
const FILE_BYTES_MAX = 64 * 1024;
/** Maximum bytes of all files together. */
const BYTES_MAX = 512 * 1024;
/** Processor time for the files of one repository. */
const BUDGET_MS = 2_000;
/** Number of commits whose parsed templates are cached. */
const CACHED_MAX = 32;

/** Reads issue templates from repositories. */
export type IssueTemplates = ReturnType<typeof createIssueTemplates>;

/** Creates the service. Its thread starts with the first request; every function refuses as `CodeAccess` does. */
export function createIssueTemplates({ access }: { readonly access: CodeAccess }) {
  const threads = createThreadPool<TemplateInput, TemplateOutput>({
    workerUrl: new URL("./issue-template.worker.ts", import.meta.url),
    workerData: undefined,
    threadsMax: 1,
    runningPerCallerMax: 1,
    queue: { lengthMax: 64, lengthPerCallerMax: 16, sizeMax: 16 * 1024 * 1024 },
    idleMs: 30_000,
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  });
  const parsed = new Map<string, TemplateOutput>();

  return {
    /** Returns the templates of the default branch, and why other files there are not valid templates. */
    async list(request: CodeRequest): Promise<ParsedTemplates> {
      return (await read(request)) ?? { templates: [], errors: {} };
    },

    /** Returns the configuration; the defaults without a file and for an invalid one. */
    async getConfig(request: CodeRequest): Promise<ParsedConfig> {
      return (await read(request))?.config ?? { config: defaultConfig, error: undefined };
    },

    close: () => threads.close(),
  };

  /** Reads the templates of the default branch; undefined for a repository without one. */
  async function read(request: CodeRequest): Promise<TemplateOutput | undefined> {
    const key = request.caller?.user.id ?? request.address;
    return access.read(request, async (code) => {
      const revision = await findRevision(code, "");
      if (revision === undefined) return undefined;
      const name = `${code.owned.repository.id} ${revision.commitId}`;
      const known = parsed.get(name);
      if (known !== undefined) return known;
      const input = await readFiles(code, revision.commitId);
      const size = input.files.reduce((sum, { text }) => sum + text.length, 0);
      const options = { budgetMs: BUDGET_MS, caller: String(key), size };
      const output = toOutput(await threads.run(input, options));
      if (parsed.size >= CACHED_MAX) parsed.delete(parsed.keys().next().value ?? "");
      parsed.set(name, output);
      return output;
    });
  }
}

/** Returns the header that counts the invalid files; empty when all are valid. */
export function toWarningHeaders({ errors }: ParsedTemplates): Readonly<Record<string, string>> {
  const count = Object.keys(errors).length;
  return count === 0
    ? {}
    : { "X-Gitea-Warning": `error occurs when parsing issue template: count=${count}` };
}

async function readFiles({ git, directory }: OpenedCode, commit: string): Promise<TemplateInput> {
  const limits = { commit, filesMax: FILES_MAX, bytesMax: FILE_BYTES_MAX };
  const files: TemplateInput["files"][number][] = [];
  let bytes = 0;
  const configs = new Map<string, string>();
  for (const folder of FOLDERS) {
    const name = /^[^/]+\.(?:md|ya?ml)$/;
    const found = await readFolderFiles(git, directory, { ...limits, folder, name });
    for (const file of found) {
      const { text = "" } = file;
      const path = `${folder}/${file.name}`;
      bytes += Buffer.byteLength(text);
      if (file.text === undefined || bytes > BYTES_MAX) continue;
      if (/^config\.ya?ml$/.test(file.name)) configs.set(path, text);
      else files.push({ path, text });
    }
  }
  const places = CONFIG_FOLDERS.flatMap((folder) => [
    `${folder}/config.yaml`,
    `${folder}/config.yml`,
  ]);
  const config = places.map((path) => configs.get(path)).find((text) => text !== undefined);
  return { files, config };
}

function toOutput(outcome: ThreadOutcome<TemplateOutput>): TemplateOutput {
  switch (outcome.kind) {
    case "done":
      return outcome.value;
    case "failed":
      throw outcome.error;
    case "timed_out":
    case "out_of_memory":
      throw new AppError("unprocessable", "the issue templates are too complex");
    case "queue_full":
    case "not_started":
      throw threadsUnavailable(outcome);
    default:
      return assertNever(outcome);
  }
}
