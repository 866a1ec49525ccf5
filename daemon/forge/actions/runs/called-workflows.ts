import type { Database } from "../../../../storage/engine/database.ts";
import { readBlob } from "../../../../storage/git/objects.ts";
import { findEntries } from "../../../../storage/git/trees.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../../storage/tables/forge/accounts/users.ts";
import {
  findRepositoryByName,
  type ForgeRepository,
} from "../../../../storage/tables/forge/repositories/repositories.ts";
import type { FindCommit } from "../../git/commit-readers.ts";
import { followMoves } from "../../git/run-in-folder.ts";
import { findAccess, isPublic, reaches } from "../../repositories/access.ts";
import type { OwnedRepository } from "../../events.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import { findCallError, type JobCall, parseUses } from "../../../workflows/workflow-call.ts";
import type { JobDefinition, Workflow } from "../../../workflows/workflow.ts";
import { WORKFLOW_BYTES_MAX } from "../../../workflows/yaml-source.ts";
import type { WorkflowFileDeps } from "./workflow-files.ts";

export interface CalledWorkflowsDeps extends WorkflowFileDeps {
  readonly db: Database;
  readonly findCommit: FindCommit;
  readonly urls: ForgeUrls;
}

/** A workflow file of one commit. */
interface WorkflowSource {
  readonly owned: OwnedRepository;
  readonly commit: string;
  /** Its name in errors. */
  readonly label: string;
}

/** A file that is called. */
interface CalledFile extends WorkflowSource {
  readonly path: string;
  /** The same for every call of the file at that commit. */
  readonly address: string;
}

/** The file that starts a run. */
export interface RunSource extends Omit<WorkflowSource, "label"> {
  readonly folder: string;
  readonly file: string;
  /** The user who starts the run. */
  readonly actor: ForgeUser | undefined;
}

/** Maximum nesting of calls, as in Gitea. */
const CALLS_DEEP_MAX = 10;
/** Maximum number of called files of one run: each is read from git and parsed, and the run stores all of them. */
const FILES_MAX = 50;
const FILES_BYTES_MAX = 1024 * 1024;
/** Maximum number of refs of one run, each of which git looks up. */
const LOOKUPS_MAX = 100;

/** A call that cannot be resolved; the message is shown to the author. */
class CallError extends Error {}

/** Resolves the workflows that a workflow calls. */
export type ResolveCalls = ReturnType<typeof createCallResolver>;

export function createCallResolver(deps: CalledWorkflowsDeps) {
  const { db, git, locate, parser, findCommit, urls } = deps;

  /**
   * Returns a workflow with every workflow that it calls directly or indirectly, in their current versions; or the
   * reason with file and line when one cannot be called. A run may call files of its own repository and of public ones.
   * It may call files of another repository of its owner if every reader of the run can read that repository and the
   * user who starts the run can, too.
   * @throws GitError when git cannot read the repository of the run
   */
  return async (source: RunSource, workflow: Workflow): Promise<Workflow | string> => {
    if (workflow.jobs.every(({ call }) => call === undefined)) return workflow;
    const { resolve, calls } = createResolution(source);
    try {
      const start = toAddress(source, `${source.folder}/${source.file}`);
      const jobs = await resolve({ ...source, label: source.file }, workflow, [start]);
      return { ...workflow, jobs, calls };
    } catch (error) {
      if (error instanceof CallError) return error.message;
      throw error;
    }
  };

  function createResolution(run: RunSource) {
    const calls: Record<string, Workflow> = {};
    /** Nesting depth of the calls, by workflow. */
    const depths = new Map<string, number>();
    const found = new Map<string, CalledFile>();
    let files = 0;
    let bytes = 0;
    return { calls, resolve };

    /** Resolves the calls of one file. @param path the addresses that lead to it, its own at the end */
    async function resolve(
      source: WorkflowSource,
      workflow: Workflow,
      path: readonly string[],
    ): Promise<JobDefinition[]> {
      const jobs: JobDefinition[] = [];
      for (const job of workflow.jobs) {
        const { call } = job;
        jobs.push(
          call === undefined
            ? job
            : { ...job, call: { ...call, address: await follow(source, job.key, call, path) } },
        );
      }
      return jobs;
    }

    async function follow(
      source: WorkflowSource,
      key: string,
      call: JobCall,
      path: readonly string[],
    ): Promise<string> {
      const refuse = (reason: string) =>
        new CallError(`${source.label}:${call.line}: jobs.${key}.uses: ${reason}`);
      const file = await find(source, call.uses);
      if (typeof file === "string") throw refuse(file);
      const { address } = file;
      if (path.includes(address))
        throw refuse(`${call.uses} calls itself: workflow calls must not form a cycle`);
      if (calls[address] === undefined) await add(file, [...path, address], refuse);
      if (path.length + (depths.get(address) ?? 0) > CALLS_DEEP_MAX)
        throw refuse(`workflows call each other at most ${CALLS_DEEP_MAX} deep`);
      const declared = calls[address]?.callInterface;
      const error =
        declared === undefined
          ? "the called workflow does not have the event workflow_call"
          : findCallError(call, declared);
      if (error !== undefined) throw refuse(error);
      return address;
    }

    async function add(
      file: CalledFile,
      path: readonly string[],
      refuse: (reason: string) => CallError,
    ): Promise<void> {
      if (path.length - 1 > CALLS_DEEP_MAX)
        throw refuse(`workflows call each other at most ${CALLS_DEEP_MAX} deep`);
      files += 1;
      if (files > FILES_MAX) throw refuse(`a run calls at most ${FILES_MAX} workflows`);
      const text = await readFile(file);
      if (text === undefined)
        throw refuse(`the file does not exist or has more than ${WORKFLOW_BYTES_MAX / 1024} KiB`);
      bytes += text.length;
      if (bytes > FILES_BYTES_MAX)
        throw refuse(`called workflows have at most ${FILES_BYTES_MAX / 1024} KiB together`);
      const ownerId = run.owned.owner.id;
      const workflow = await parser.parse({ file: file.label, text, ownerId });
      if (typeof workflow === "string") throw new CallError(workflow);
      const jobs = await resolve(file, workflow, path);
      calls[file.address] = { ...workflow, jobs };
      const inner = jobs.map(({ call }) =>
        call?.address === undefined ? 0 : 1 + (depths.get(call.address) ?? 0),
      );
      depths.set(file.address, Math.max(...inner));
    }

    /** Finds the file that a call names at its commit, or returns why it cannot be called. */
    async function find(source: WorkflowSource, uses: string): Promise<CalledFile | string> {
      const key = `${source.owned.repository.id} ${source.commit} ${uses}`;
      const known = found.get(key);
      if (known !== undefined) return known;
      if (found.size >= LOOKUPS_MAX) return `a run calls at most ${LOOKUPS_MAX} references`;
      const root = toUrl(urls, "/");
      const used = parseUses(uses.startsWith(root) ? uses.slice(root.length) : uses);
      if (used === undefined)
        return "it must be ./.gitea/workflows/FILE.yml or OWNER/NAME/.gitea/workflows/FILE.yml@REF";
      const { from, folder, file } = used;
      const target = from === undefined ? source : await findRemote(from);
      if (target === undefined) return `${uses} does not exist, or this run may not read it`;
      const { owned, commit } = target;
      const path = `${folder}/${file}`;
      const isOwn = owned.repository.id === run.owned.repository.id && commit === run.commit;
      const label = isOwn ? path : toAddress({ owned, commit: from?.ref ?? commit }, path);
      const called = { owned, commit, path, label, address: toAddress(target, path) };
      found.set(key, called);
      return called;
    }

    async function findRemote(from: {
      readonly owner: string;
      readonly repository: string;
      readonly ref: string;
    }): Promise<Omit<WorkflowSource, "label"> | undefined> {
      const named = await findUserByName(db, from.owner);
      const repository = named && (await findRepositoryByName(db, named.id, from.repository));
      const owner = repository && (await findUserById(db, repository.ownerId));
      if (repository === undefined || owner === undefined) return undefined;
      const owned = { repository, owner };
      if (!(await mayCall(run, owned))) return undefined;
      const ref = from.ref.replace(/^refs\/(?:heads|tags)\//, "");
      const head = await findCommit(repository, ref);
      return head && { owned, commit: head.id };
    }
  }

  async function mayCall({ owned, actor }: RunSource, called: OwnedRepository): Promise<boolean> {
    if (called.repository.id === owned.repository.id || isPublic(called)) return true;
    const isAsClosed = owned.repository.isPrivate || !called.repository.isPrivate;
    if (called.owner.id !== owned.owner.id || !isAsClosed || actor === undefined) return false;
    return reaches(await findAccess(db, called, actor, "repo.code"), "read");
  }

  /** Returns the text of a file; undefined when it is missing, no file, or too large. @throws GitError */
  function readFile({ owned, commit, path }: CalledFile): Promise<string | undefined> {
    return followMoves(db, owned.repository, (current) => readTextOf(current, commit, path));
  }

  async function readTextOf(
    repository: ForgeRepository,
    commit: string,
    path: string,
  ): Promise<string | undefined> {
    const directory = await locate(repository);
    const entry = (await findEntries(git, commit, [path], { directory })).get(path);
    if (entry?.type !== "blob" || entry.mode === SYMBOLIC_LINK) return undefined;
    if (entry.size > WORKFLOW_BYTES_MAX) return undefined;
    const blob = await readBlob(git, entry.id, { directory, bytesMax: WORKFLOW_BYTES_MAX });
    return new TextDecoder().decode(blob);
  }
}

function toAddress({ owned, commit }: Omit<WorkflowSource, "label">, path: string): string {
  return `${owned.owner.name}/${owned.repository.name}/${path}@${commit}`;
}

const SYMBOLIC_LINK = "120000";
