import type { Database } from "../../../storage/engine/database.ts";
import { type CommitObject, readCommitObjects } from "../../../storage/git/commit-objects.ts";
import { isAncestor } from "../../../storage/git/history.ts";
import { listRefs } from "../../../storage/git/ref-lists.ts";
import {
  type BranchProtection,
  listBranchProtections,
} from "../../../storage/tables/forge/repositories/branch-protections.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { WriteRefs, WriteRefsOutcome } from "../git/write-refs.ts";
import type { Compute } from "../compute.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { reaches } from "../repositories/access.ts";
import type { OwnedRepository, RefChange } from "../events.ts";
import { mayMerge } from "../repositories/protected-merges.ts";
import { findRules, mayPush } from "../repositories/protected-refs.ts";
import { type Authors, findAuthors } from "./authors.ts";
import type { CodeAccess, CodeRequest, OpenedCode } from "./open-code.ts";
import { findRevision } from "./revisions.ts";

/** A branch with its newest commit and the caller's permissions on it. */
export interface BranchDetails {
  readonly name: string;
  readonly commit: CommitObject;
  readonly canPush: boolean;
  /** Whether the caller may merge pull requests into it. */
  readonly canMerge: boolean;
  /** The rule that protects it. */
  readonly rule: BranchProtection | undefined;
  /** Whether the caller may know the name of the rule. */
  readonly isAdministered: boolean;
}

/** Branches of one repository with the accounts of their authors. */
export interface BranchList {
  readonly owned: OwnedRepository;
  readonly branches: readonly BranchDetails[];
  readonly authors: Authors;
  readonly total: number;
}

export interface BranchesDeps {
  readonly db: Database;
  readonly access: CodeAccess;
  readonly compute: Compute;
  readonly writeRefs: WriteRefs;
  /** Makes an existing branch the default one. */
  readonly setDefaultBranch: (
    owned: OwnedRepository,
    branch: string,
    caller: ForgeCaller,
  ) => Promise<void>;
}

/** Branches of repositories. */
export type Branches = ReturnType<typeof createBranches>;

const HEADS = "refs/heads/";

/**
 * Creates the service. Every function refuses as `CodeAccess` does. Those that write refuse with `not_found` an empty
 * repository.
 */
export function createBranches({ db, access, compute, writeRefs, setDefaultBranch }: BranchesDeps) {
  return {
    /** @param text only branches whose names contain it */
    async list(request: CodeRequest, text: string, window: PageWindow): Promise<BranchList> {
      return access.read(request, async (code) => {
        const { git, directory, signal } = code;
        const query = { directory, signal, under: HEADS, order: "newest", text } as const;
        const { refs, total } = await listRefs(git, query, toRows(window));
        const names = refs.map(({ name, id }) => ({ name: name.slice(HEADS.length), id }));
        return toList(code, names, total);
      });
    },

    /** Refuses with `not_found` a missing branch. */
    async get(request: CodeRequest, name: string): Promise<BranchList> {
      return access.read(request, async (code) =>
        toList(code, [{ name, id: await getHead(code, name) }], 1),
      );
    },

    /**
     * Creates a branch from `from`; an empty `from` is the default branch. Refuses with `not_found` an unknown `from`,
     * with `conflict` the name of a branch or tag, with `unprocessable` an invalid name.
     */
    async create(
      request: CodeRequest & { readonly caller: ForgeCaller },
      name: string,
      from: { readonly ref: string; readonly branch: string },
    ): Promise<BranchList> {
      return access.write(request, async (code) => {
        assertNotEmpty(code);
        const after = await getStart(code, from);
        const clash = await findRevision(code, `refs/tags/${name}`);
        if (clash !== undefined)
          throw new AppError("conflict", "The branch with the same tag already exists.");
        await write(
          code,
          request.caller,
          [{ ref: HEADS + name, before: undefined, after }],
          () => new AppError("conflict", "The branch already exists."),
        );
        return toList(code, [{ name, id: after }], 1);
      });
    },

    /**
     * Points a branch to another commit. Refuses with `not_found` a missing branch; with `unprocessable` a missing
     * commit, one that is not a descendant of the current one unless `isForced`, and a branch that is not at
     * `expected`.
     */
    async update(
      request: CodeRequest & { readonly caller: ForgeCaller },
      name: string,
      update: { readonly commit: string; readonly expected: string; readonly isForced: boolean },
    ): Promise<void> {
      await access.write(request, async (code) => {
        assertNotEmpty(code);
        const before = await getHead(code, name);
        const after = (await findRevision(code, update.commit))?.commitId;
        if (after === undefined)
          throw new AppError("unprocessable", `commit does not exist [id: ${update.commit}]`);
        if (update.expected !== "" && update.expected !== before)
          throw new AppError(
            "unprocessable",
            `the branch is at ${before}, not at ${update.expected}`,
          );
        if (after === before) return;
        if (!update.isForced && !(await isAncestor(code.git, code.directory, before, after)))
          throw new AppError("unprocessable", "the update is not a fast-forward: it needs force");
        await write(code, request.caller, [{ ref: HEADS + name, before, after }], movedMeanwhile);
      });
    },

    /**
     * Renames a branch. Renaming the default branch, which stays the default, needs an administrator. Refuses with
     * `not_found` a missing branch, with `unprocessable` a taken name.
     */
    async rename(
      request: CodeRequest & { readonly caller: ForgeCaller },
      name: string,
      newName: string,
    ): Promise<void> {
      await access.write(request, async (code) => {
        assertNotEmpty(code);
        const id = await getHead(code, name).catch((error: unknown) => {
          throw error instanceof AppError
            ? new AppError("not_found", "Branch doesn't exist.")
            : error;
        });
        const isDefault = code.owned.repository.defaultBranch === name;
        if (isDefault && !reaches(code.owned.access, "admin"))
          throw new AppError(
            "forbidden",
            "User must be a repo or site admin to rename default or protected branches.",
          );
        const rules = await listBranchProtections(db, code.owned.repository.id);
        const ruleOf = await findRules(compute, code.owned.repository, rules, [name]);
        if (ruleOf(name) !== undefined)
          throw new AppError(
            "forbidden",
            "Failed to rename branch due to branch protection rules.",
          );
        const taken = () =>
          new AppError(
            "unprocessable",
            "Cannot rename a branch using the same name or rename to a branch that already exists.",
          );
        if (name === newName || (await findRevision(code, HEADS + newName)) !== undefined)
          throw taken();
        const created = { ref: HEADS + newName, before: undefined, after: id };
        const deleted = { ref: HEADS + name, before: id, after: undefined };
        if (!isDefault) {
          await write(code, request.caller, [created, deleted], movedMeanwhile);
          return;
        }
        // The default branch exists at every moment; a crash leaves both names.
        await write(code, request.caller, [created], taken);
        await setDefaultBranch(code.owned, newName, request.caller);
        await write(code, request.caller, [deleted], movedMeanwhile);
      });
    },

    /**
     * Refuses with `not_found` a missing branch, with `forbidden` the default one, with `precondition_failed` a branch that is
     * not at `expected`; undefined for any commit.
     */
    async remove(
      request: CodeRequest & { readonly caller: ForgeCaller },
      name: string,
      expected?: string,
    ): Promise<void> {
      await access.write(request, async (code) => {
        assertNotEmpty(code);
        const before = await getHead(code, name);
        if (expected !== undefined && expected !== before)
          throw new AppError(
            "precondition_failed",
            `the branch ${name} has new commits: look at them before you delete it`,
          );
        if (code.owned.repository.defaultBranch === name)
          throw new AppError("forbidden", "can not delete default or pull request target branch");
        const change = { ref: HEADS + name, before, after: undefined };
        await write(code, request.caller, [change], movedMeanwhile);
      });
    },
  };

  async function write(
    { owned }: OpenedCode,
    { user }: ForgeCaller,
    changes: readonly RefChange[],
    toStale: () => AppError,
  ): Promise<void> {
    assertWritten(await writeRefs(owned, user, changes), toStale);
  }

  async function toList(
    { git, directory, signal, owned, caller }: OpenedCode,
    names: readonly { readonly name: string; readonly id: string }[],
    total: number,
  ): Promise<BranchList> {
    const ids = names.map(({ id }) => id);
    const commits = await readCommitObjects(git, ids, { directory, signal });
    const rules = await listBranchProtections(db, owned.repository.id);
    const mayWrite = caller !== undefined && reaches(owned.access, "write");
    const ruleOf = await findRules(
      compute,
      owned.repository,
      rules,
      names.map(({ name }) => name),
    );
    const branches: BranchDetails[] = [];
    for (const [index, commit] of commits.entries()) {
      const name = names[index]?.name ?? "";
      const rule = ruleOf(name);
      branches.push({
        name,
        commit,
        canPush: mayWrite && (rule === undefined || (await mayPush(db, rule, caller.user))),
        canMerge: caller !== undefined && (await mayMerge(db, rule, caller.user, mayWrite)),
        rule,
        isAdministered: reaches(owned.access, "admin"),
      });
    }
    return {
      owned,
      branches,
      authors: await findAuthors(db, commits, caller?.user),
      total,
    };
  }
}

/** Throws if the refs were not moved. @param toStale the refusal when a ref has changed in between */
export function assertWritten(outcome: WriteRefsOutcome, toStale: () => AppError): void {
  switch (outcome) {
    case "written":
      return;
    case "stale":
      throw toStale();
    case "name_conflict":
      throw new AppError("conflict", "The branch with the same name already exists.");
    case "bad_name":
      throw new AppError("unprocessable", "git does not accept this name");
  }
}

const movedMeanwhile = () =>
  new AppError("conflict", "the branch was changed in the meantime, try again");

async function getHead(code: OpenedCode, name: string): Promise<string> {
  const found = name === "" ? undefined : await findRevision(code, HEADS + name);
  if (found === undefined) throw notFound();
  return found.commitId;
}

async function getStart(
  code: OpenedCode,
  { ref, branch }: { readonly ref: string; readonly branch: string },
): Promise<string> {
  const name = ref === "" && branch !== "" ? HEADS + branch : ref;
  const found = await findRevision(code, name);
  if (found === undefined) throw new AppError("not_found", "The old branch does not exist");
  return found.commitId;
}

function assertNotEmpty({ owned }: OpenedCode): void {
  if (owned.repository.isEmpty) throw new AppError("not_found", "Git Repository is empty.");
}
