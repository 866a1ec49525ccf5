import type { Database, Queries, Transaction } from "../../../../storage/engine/database.ts";
import type { Git } from "../../../../storage/git/git.ts";
import type { ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import type { RepositoryId } from "../../../../storage/tables/forge/ids.ts";
import {
  insertBranchProtection,
  listBranchProtections,
} from "../../../../storage/tables/forge/repositories/branch-protections.ts";
import { insertLabels, listLabels } from "../../../../storage/tables/forge/repositories/labels.ts";
import { copyLargeFiles } from "../../../../storage/tables/forge/repositories/large-files.ts";
import type { ForgeRepository } from "../../../../storage/tables/forge/repositories/repositories.ts";
import {
  listTopicsOf,
  replaceTopics,
} from "../../../../storage/tables/forge/repositories/topics.ts";
import { AppError } from "../../../errors.ts";
import type { ForgeCaller } from "../../caller.ts";
import { notFound } from "../../refusals.ts";
import { createTransferLimiter } from "../transfer-limiter.ts";
import { reopenRepository } from "../open-repository.ts";
import type { GrantedRepository, OpenedRepository } from "../../opened.ts";
import type { ForgeUrls } from "../../urls.ts";
import { findAccess, reaches } from "../access.ts";
import {
  createRepository,
  type CreateRepositoryDeps,
  type CreateRepositoryOptions,
  type RepositoryExtras,
} from "../create-repository.ts";
import { assertMayBePrivate, mayCreateIn } from "../repositories.service.ts";
import { getVisibleAccount } from "../../accounts/users.service.ts";
import type { RepositoryDetails } from "../repository.view.ts";
import { keepsCode } from "../repository-settings.view.ts";
import { createExpansion } from "./expansion.ts";
import { writeTemplateCommit } from "./template-content.ts";

/** The parts that a new repository copies from its template. */
export interface GenerateOptions {
  /** The name of the new owner. */
  readonly owner: string;
  readonly name: string;
  readonly description: string;
  readonly isPrivate: boolean;
  /** An empty text means the template's default branch. */
  readonly defaultBranch: string;
  readonly takes: {
    readonly content: boolean;
    readonly topics: boolean;
    readonly labels: boolean;
    readonly webhooks: boolean;
    readonly protectedBranch: boolean;
    /** Unsupported here, but a request for only one of them is valid. */
    readonly gitHooks: boolean;
    readonly avatar: boolean;
  };
}

/**
 * Creates a repository from a template. Refuses with `unprocessable` a repository that is not a template and a request
 * without any part; with `not_found` a template that the caller may not read and an unknown owner; with `forbidden` an
 * owner for whom the caller may not create repositories, and hooks or protections of a template that the caller does
 * not administer; and as `createRepository` does. All rows are written in one transaction.
 */
export type GenerateRepository = (
  opened: GrantedRepository,
  options: GenerateOptions,
  caller: ForgeCaller,
  signal: AbortSignal,
) => Promise<RepositoryDetails>;

export interface GenerateRepositoryDeps extends CreateRepositoryDeps {
  readonly db: Database;
  readonly git: Git;
  readonly urls: ForgeUrls;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  /** Copies the hooks of a repository, with their secrets, to another one. */
  readonly copyHooks: (tx: Transaction, from: RepositoryId, to: RepositoryId) => Promise<void>;
}

/** Maximum number of concurrent copies, in total and of one user; others wait. */
const limits = {
  atOnce: 4,
  perClient: 1,
  anonymous: 0,
  waiting: 32,
  waitingPerClient: 8,
} as const;
/** The maximum number of labels of a repository. */
const LABELS_MAX = 10_000;

export function createGenerator(deps: GenerateRepositoryDeps): GenerateRepository {
  const { db, git, urls, locate, clock, newId } = deps;
  const limiter = createTransferLimiter(limits);

  return async (template, options, caller, signal) => {
    assertTemplate(template, options);
    const { takes } = options;
    if (!Object.values(takes).includes(true))
      throw new AppError("unprocessable", "must select at least one template item");
    const owner = await getNewOwner(db, options, caller);
    const release = await limiter.acquire({ caller, address: "" }, signal);
    try {
      return await generate(template, owner, options, caller.user, async (queries) => {
        assertTemplate(await reopenRepository(queries, template), options);
        const { id } = await getNewOwner(queries, options, caller);
        if (id !== owner.id) throw notFound();
      });
    } finally {
      release();
    }
  };

  function assertTemplate(opened: OpenedRepository, { takes }: GenerateOptions): void {
    if (!opened.repository.isTemplate)
      throw new AppError("unprocessable", "this is not a template repo");
    assertMayTake(opened, takes);
  }

  async function generate(
    template: OpenedRepository,
    owner: ForgeUser,
    options: GenerateOptions,
    actor: ForgeUser,
    admit: NonNullable<RepositoryExtras["admit"]>,
  ): Promise<RepositoryDetails> {
    const source = template.repository;
    const { takes, name, description } = options;
    const hasContent = takes.content && !source.isEmpty && keepsCode(source.settings);
    const defaultBranch = options.defaultBranch || source.defaultBranch;
    const at = clock();
    const expand = createExpansion(template, { name, owner, description }, { urls, at });
    const made = await createRepository(
      deps,
      owner.name,
      toOptions(source, options, defaultBranch),
      actor,
      {
        admit,
        ...(hasContent
          ? {
              fill: async (directory: string, person) => {
                const isWritten = await writeTemplateCommit(
                  {
                    git,
                    directory: await locate(source),
                    branch: source.defaultBranch,
                    expand,
                    author: { ...person, seconds: Math.floor(at / 1000), zone: "+0000" },
                    key: newId(),
                  },
                  { directory, branch: defaultBranch },
                );
                return isWritten ? 1 : 0;
              },
            }
          : {}),
        async recorded(tx, { id: to }) {
          // The files of the commit name them; those that it does not name go with the clean-up.
          if (hasContent) await copyLargeFiles(tx, { from: source.id, to });
          await copyRows(tx, source.id, to, takes);
        },
      },
    );
    const access = await findAccess(db, made, actor);
    return { ...made, watchers: 1, access, isSignedIn: true };
  }

  async function copyRows(
    tx: Transaction,
    from: RepositoryId,
    to: RepositoryId,
    takes: GenerateOptions["takes"],
  ): Promise<void> {
    if (takes.topics) await replaceTopics(tx, to, await listTopicsOf(tx, from));
    if (takes.labels) {
      const window = { limit: LABELS_MAX, offset: 0 };
      await insertLabels(
        tx,
        { repositoryId: to },
        await listLabels(tx, { repositoryId: from }, window),
      );
    }
    if (takes.webhooks) await deps.copyHooks(tx, from, to);
    if (takes.protectedBranch)
      for (const rule of await listBranchProtections(tx, from))
        await insertBranchProtection(tx, to, rule);
  }

  /** Returns the new owner. Throws unless the caller may create a repository for it. */
  async function getNewOwner(
    queries: Queries,
    options: GenerateOptions,
    caller: ForgeCaller,
  ): Promise<ForgeUser> {
    const { user } = caller;
    const { owner: name } = options;
    const owner = name === "" ? undefined : await findVisible(queries, name, caller);
    if (owner === undefined)
      throw new AppError("not_found", `request owner \`${name}\` does not exist`);
    if (owner.kind !== "organization" && owner.id !== user.id && !user.isAdmin)
      throw new AppError("forbidden", "Only admin can generate repository for other user.");
    if (owner.kind === "organization" && !(await mayCreateIn(queries, owner, user)))
      throw new AppError(
        "forbidden",
        "Given user is not allowed to create repository in organization.",
      );
    assertMayBePrivate(options, owner, caller);
    return owner;
  }

  async function findVisible(
    queries: Queries,
    name: string,
    caller: ForgeCaller,
  ): Promise<ForgeUser | undefined> {
    try {
      return await getVisibleAccount(queries, name, caller);
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return undefined;
      throw error;
    }
  }
}

/** Only administrators may see addresses and secrets of hooks, and rules of branches. */
function assertMayTake({ access }: OpenedRepository, takes: GenerateOptions["takes"]): void {
  if ((takes.webhooks || takes.protectedBranch) && !reaches(access, "admin"))
    throw new AppError(
      "forbidden",
      "only administrators of the template may copy its webhooks and branch protections",
    );
}

function toOptions(
  source: ForgeRepository,
  { name, description, isPrivate }: GenerateOptions,
  defaultBranch: string,
): CreateRepositoryOptions {
  return {
    name,
    description,
    isPrivate,
    isTemplate: false,
    issueLabels: "",
    autoInit: false,
    gitignores: "",
    license: "",
    readme: "",
    defaultBranch,
    trustModel: source.trustModel,
    objectFormat: source.objectFormat,
  };
}
