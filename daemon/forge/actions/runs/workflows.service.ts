import { isRefName } from "../../../contract/forge/repositories/rules.ts";
import type { Database, Queries } from "../../../../storage/engine/database.ts";
import { findCommitId } from "../../../../storage/git/commits.ts";
import type { FolderFile } from "../../../../storage/git/folder-files.ts";
import type { RepositoryId } from "../../../../storage/tables/forge/ids.ts";
import type { ActionRun } from "../../../../storage/tables/forge/actions/runs.ts";
import {
  listDisabledWorkflows,
  setWorkflowDisabled,
} from "../../../../storage/tables/forge/actions/workflows.ts";
import { AppError } from "../../../errors.ts";
import type { ForgeCaller } from "../../caller.ts";
import type { CommitWithFiles } from "../../../../storage/git/commits.ts";
import type { FindCommit } from "../../git/commit-readers.ts";
import { reopenRepository } from "../../repositories/open-repository.ts";
import type { GrantedRepository } from "../../opened.ts";
import type { OwnedRepository } from "../../events.ts";
import { refusing } from "../../repositories/git-refusals.ts";
import {
  describeDispatchInputs,
  type DispatchInput,
  readDispatchInputs,
} from "../../../workflows/dispatch-inputs.ts";
import type { ResolveCalls } from "./called-workflows.ts";
import { readWorkflowFiles, type WorkflowFileDeps } from "./workflow-files.ts";
import type { StartRun } from "./start-run.ts";

export interface WorkflowsDeps extends WorkflowFileDeps {
  readonly db: Database;
  readonly newUuid: () => string;
  readonly findCommit: FindCommit;
  readonly starter: StartRun;
  readonly resolveCalls: ResolveCalls;
}

/** A workflow file of the default branch. */
export interface WorkflowDetails {
  readonly owned: OwnedRepository;
  readonly file: string;
  readonly folder: string;
  /** The name in the file, or the file name. */
  readonly name: string;
  readonly isDisabled: boolean;
  /** Of the newest commit of the branch, RFC 3339. */
  readonly at: string;
}

/** Workflows of repositories: their files, and runs that users start. */
export type Workflows = ReturnType<typeof createWorkflows>;

export function createWorkflows(deps: WorkflowsDeps) {
  const { db, git, locate, parser, newUuid, findCommit, starter, resolveCalls } = deps;
  return {
    /** Lists the workflow files of the default branch. */
    list: (opened: GrantedRepository): Promise<WorkflowDetails[]> => see(opened),

    get: (opened: GrantedRepository, id: string): Promise<WorkflowDetails> =>
      getDetails(opened, id),

    /** Lists the inputs that a start takes. Refuses as `dispatch` does; an empty `ref` is the default branch. */
    async listInputs(opened: GrantedRepository, id: string, ref: string): Promise<DispatchInput[]> {
      const { event } = await findDispatched(opened, id, ref || opened.repository.defaultBranch);
      return describeDispatchInputs(event.inputs ?? {});
    },

    /** Disables or enables a workflow: a disabled one starts no runs. Idempotent. */
    async setDisabled(opened: GrantedRepository, id: string, isDisabled: boolean): Promise<void> {
      const { file } = await getDetails(opened, id);
      await db.transaction(async (tx) => {
        const { repository } = await reopenRepository(tx, opened);
        await setWorkflowDisabled(tx, repository.id, file, isDisabled);
      });
    },

    /**
     * Starts a run of a workflow with `workflow_dispatch`, from its file at a branch or tag. Throws `not_found` for an
     * unknown ref or file, `forbidden` for a disabled workflow, `unprocessable` for one without the event and for
     * inputs that do not fit.
     */
    async dispatch(
      owned: GrantedRepository,
      caller: ForgeCaller,
      input: {
        readonly id: string;
        readonly ref: string;
        readonly inputs?: Readonly<Record<string, string>> | null | undefined;
      },
    ): Promise<{ readonly owned: OwnedRepository; readonly run: ActionRun }> {
      const { repository } = owned;
      const dispatched = await findDispatched(owned, input.id, input.ref);
      const { head, ref, folder, file, workflow, event } = dispatched;
      const checked = readDispatchInputs(event.inputs ?? {}, input.inputs ?? {});
      if (typeof checked === "string") throw new AppError("unprocessable", checked);
      const { user: actor } = caller;
      const source = { owned, commit: head.id, folder, file: file.name, actor };
      const resolved = await refusing(() => resolveCalls(source, workflow));
      if (typeof resolved === "string") throw new AppError("unprocessable", resolved);
      const run = await db.transaction(async (tx) => {
        // Another request may have disabled it, or ended the right to start it, while the files were read.
        await reopenRepository(tx, owned);
        await assertEnabled(tx, repository.id, file.name);
        return starter.start(
          tx,
          {
            owned: { repository, owner: owned.owner },
            actor: caller.user,
            event: "workflow_dispatch",
            payload: {
              inputs: checked.inputs,
              ref,
              workflow: `${folder}/${file.name}`,
            },
            ref,
            headSha: head.id,
            title: head.message.split("\n", 1).join() || workflow.name || file.name,
            file: file.name,
            folder,
            key: `dispatch/${newUuid()}`,
          },
          resolved,
        );
      });
      if (run === undefined) throw new Error("a dispatched run has the key of another one");
      return { owned, run };
    },
  };

  /**
   * Finds a workflow that a person may start at a branch or tag. Refuses with `not_found` an unknown ref or file, with
   * `forbidden` a disabled workflow, with `unprocessable` one that is invalid or has no event `workflow_dispatch`.
   */
  async function findDispatched(owned: OwnedRepository, id: string, name: string) {
    const { repository, owner } = owned;
    const target = await findRef(owned, name);
    if (target === undefined)
      throw new AppError("not_found", `ref ${JSON.stringify(name)} doesn't exist`);
    const { folder, files } = await refusing(() =>
      readWorkflowFiles(deps, repository, target.head.id),
    );
    const file = files.find((each) => isNamed(each, folder, id));
    if (file === undefined)
      throw new AppError("not_found", `workflow ${JSON.stringify(id)} not found`);
    await assertEnabled(db, repository.id, file.name);
    const workflow = await parser.parse({ file: file.name, text: file.text, ownerId: owner.id });
    if (typeof workflow === "string") throw new AppError("unprocessable", workflow);
    const event = workflow.triggers["workflow_dispatch"];
    if (event === undefined)
      throw new AppError("unprocessable", `${file.name} has no event workflow_dispatch`);
    return { ...target, folder, file, workflow, event };
  }

  async function see({ repository, owner }: OwnedRepository): Promise<WorkflowDetails[]> {
    const head = await refusing(() => findCommit(repository, repository.defaultBranch));
    if (head === undefined) return [];
    const { folder, files } = await refusing(() => readWorkflowFiles(deps, repository, head.id));
    const disabled = await listDisabledWorkflows(db, repository.id);
    const details: WorkflowDetails[] = [];
    for (const { name: file, text } of files) {
      const workflow = await parser.parse({ file, text, ownerId: owner.id });
      const name = typeof workflow === "string" || workflow.name === "" ? file : workflow.name;
      const isDisabled = disabled.has(file);
      details.push({
        owned: { repository, owner },
        file,
        folder,
        name,
        isDisabled,
        at: head.author.at,
      });
    }
    return details;
  }

  async function getDetails(owned: OwnedRepository, id: string): Promise<WorkflowDetails> {
    const found = (await see(owned)).find(
      ({ file, folder }) => file === id || `${folder}/${file}` === id,
    );
    if (found === undefined)
      throw new AppError("not_found", `workflow ${JSON.stringify(id)} not found`);
    return found;
  }

  /** Finds a branch or tag by its short or full name; a branch precedes a tag of the same short name. */
  async function findRef(
    { repository }: OwnedRepository,
    name: string,
  ): Promise<{ readonly ref: string; readonly head: CommitWithFiles } | undefined> {
    const short = name.replace(/^refs\/(?:heads|tags)\//, "");
    if (!isRefName(short)) return undefined;
    const directory = await locate(repository);
    for (const ref of short !== name ? [name] : [`refs/heads/${name}`, `refs/tags/${name}`]) {
      const id = await refusing(() => findCommitId(git, directory, ref));
      const head = id === undefined ? id : await refusing(() => findCommit(repository, id));
      if (head !== undefined && head.id === id) return { ref, head };
    }
    return undefined;
  }
}

async function assertEnabled(db: Queries, repositoryId: RepositoryId, file: string): Promise<void> {
  if ((await listDisabledWorkflows(db, repositoryId)).has(file))
    throw new AppError("forbidden", "workflow is disabled");
}

function isNamed({ name }: FolderFile, folder: string, id: string): boolean {
  return name === id || `${folder}/${name}` === id;
}
