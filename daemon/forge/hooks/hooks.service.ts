import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  countHooksOf,
  deleteHook,
  findHook,
  type ForgeHook,
  type HookPlace,
  type HookScope,
  insertHook,
  listDefaultHooks,
  listHooks,
  listHooksOf,
  updateHook,
} from "../../../storage/tables/forge/hooks/hooks.ts";
import type { HookId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { toHookEvents } from "../../contract/forge/hooks/fields.ts";
import { AppError } from "../../errors.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import {
  assertBranchFilter,
  assertHookType,
  assertHookUrl,
  assertSendable,
  getOption,
  type HookConfig,
  toContentType,
  toIsSystem,
  toSlackOptions,
} from "./hook-config.ts";
import type { HookTarget, Targets } from "./targets.ts";

/** A hook to be created. */
export interface NewHook {
  readonly type: string;
  readonly config: HookConfig;
  readonly events: readonly string[];
  readonly branchFilter: string;
  readonly authorizationHeader: string;
  readonly isActive: boolean;
  readonly name: string;
}

/** Changes of a hook. Undefined members stay as they are. */
export interface HookChanges {
  readonly config: HookConfig;
  readonly events: readonly string[];
  readonly branchFilter: string;
  readonly authorizationHeader: string | undefined;
  readonly isActive: boolean | undefined;
  readonly name: string | undefined;
}

/** The owner of hooks: a repository, a user or organization, or the instance with its system and default hooks. */
export type HookHome = "instance" | HookPlace;

/**
 * Returns the home of a request, and throws when the caller may not change its hooks. Called in the transaction of the
 * change, so that a right that ends meanwhile does not count.
 */
export type OpenHome = (tx: Transaction) => Promise<HookHome> | HookHome;

/** A hook with its URL, which is sealed in the record. */
export interface OpenedHook {
  readonly hook: ForgeHook;
  readonly url: string;
}

export type Hooks = ReturnType<typeof createHooks>;

/** Maximum number of hooks of one repository or owner: each event adds a row for each of them. */
const HOOKS_MAX = 50;

/** Creates, changes and deletes hooks. The caller of these functions checks the access to `home`, beforehand and by `openHome`. */
export function createHooks({ db, targets }: { readonly db: Database; readonly targets: Targets }) {
  const open = (hook: ForgeHook): OpenedHook => ({ hook, url: targets.open(hook).url });
  return {
    /**
     * Returns a page of the instance's hooks by id, and their count. `type` is `default` or `all`; any other text means
     * `system`.
     */
    async list(
      type: string,
      window: PageWindow,
    ): Promise<{ readonly hooks: readonly OpenedHook[]; readonly total: number }> {
      const { hooks, total } = await listHooks(db, toScopes(type), toRows(window));
      return { hooks: hooks.map(open), total };
    },

    /** Returns a page of the hooks of a repository or an owner by id, and their count. */
    async listOf(
      home: HookPlace,
      window: PageWindow,
    ): Promise<{ readonly hooks: readonly OpenedHook[]; readonly total: number }> {
      const { hooks, total } = await listHooksOf(db, home, toRows(window));
      return { hooks: hooks.map(open), total };
    },

    /**
     * Creates a hook. Throws `unprocessable` or `invalid_argument` in the order and words of section 13.1, and
     * `unprocessable` if a repository or an owner has `HOOKS_MAX` hooks.
     */
    async create(openHome: OpenHome, input: NewHook): Promise<OpenedHook> {
      const { config } = input;
      assertBranchFilter(input.branchFilter);
      assertHookType(input.type);
      const url = getOption(config, "url");
      const contentType = toContentType(getOption(config, "content_type"));
      assertHookUrl(url);
      const slack = input.type === "slack" ? toSlackOptions(config) : undefined;
      const secret = Object.hasOwn(config, "secret") ? (config["secret"] ?? "") : "";
      assertSendable(secret, input.authorizationHeader);
      const target = { url, secret, authorizationHeader: input.authorizationHeader };
      const hook = await db.transaction(async (tx) => {
        const home = await openHome(tx);
        const scope = home === "instance" ? toInstanceScope(config) : home.kind;
        if (home !== "instance" && (await countHooksOf(tx, home)) >= HOOKS_MAX)
          throw new AppError("unprocessable", `${NAMES[home.kind]} has at most ${HOOKS_MAX} hooks`);
        return insertHook(
          tx,
          {
            scope,
            repositoryId: home !== "instance" && home.kind === "repository" ? home.id : undefined,
            ownerId: home !== "instance" && home.kind === "owner" ? home.id : undefined,
            kind: input.type,
            name: input.name.trim(),
            contentType,
            events: toHookEvents(orPush(input.events)),
            branchFilter: input.branchFilter,
            slack,
            isActive: input.isActive,
          },
          (id) => targets.seal(id, target),
        );
      });
      return { hook, url };
    },

    /** Throws `not_found`, also for a hook of another home. */
    get: async (home: HookHome, id: HookId): Promise<OpenedHook> =>
      open(await getHook(db, home, id)),

    /**
     * Changes a hook, except its secret and kind. Throws as `create` and `get` do, and `unprocessable` if a hook that is
     * not the instance's would keep its authorization header for another URL.
     */
    edit: (openHome: OpenHome, id: HookId, changes: HookChanges): Promise<OpenedHook> =>
      db.transaction(async (tx) => {
        const home = await openHome(tx);
        const hook = await getHook(tx, home, id);
        const present = targets.open(hook);
        const target = toTarget(present, changes);
        // A copied header is a site administrator's secret: a repository administrator must not redirect it.
        const keepsHeader =
          changes.authorizationHeader === undefined && present.authorizationHeader !== "";
        if (home !== "instance" && keepsHeader && target.url !== present.url)
          throw new AppError(
            "unprocessable",
            "the authorization header is not kept for another address",
          );
        const contentType = Object.hasOwn(changes.config, "content_type")
          ? toContentType(changes.config["content_type"] ?? "")
          : hook.contentType;
        const hasChannel = hook.kind === "slack" && Object.hasOwn(changes.config, "channel");
        const changed: ForgeHook = {
          ...hook,
          sealedTarget: targets.seal(id, target),
          contentType,
          slack: hasChannel ? toSlackOptions(changes.config) : hook.slack,
          events: toHookEvents(orPush(changes.events)),
          branchFilter: changes.branchFilter,
          isActive: changes.isActive ?? hook.isActive,
          name: changes.name?.trim() ?? hook.name,
          updatedAt: tx.now,
        };
        await updateHook(tx, id, changed);
        return { hook: changed, url: target.url };
      }),

    /** Deletes a hook with its deliveries. Throws `not_found`. */
    remove: (openHome: OpenHome, id: HookId): Promise<void> =>
      db.transaction(async (tx) => {
        await getHook(tx, await openHome(tx), id);
        await deleteHook(tx, id);
      }),

    /** Copies all default hooks, with their secrets, to a new repository. */
    copyDefaults: async (tx: Transaction, repositoryId: RepositoryId): Promise<void> =>
      copy(tx, await listDefaultHooks(tx), repositoryId),

    /** Copies the hooks of a repository, with their secrets, to a new one. */
    async copyOf(
      tx: Transaction,
      fromRepositoryId: RepositoryId,
      toRepositoryId: RepositoryId,
    ): Promise<void> {
      const window = { limit: HOOKS_MAX, offset: 0 };
      const from = { kind: "repository", id: fromRepositoryId } as const;
      const { hooks } = await listHooksOf(tx, from, window);
      await copy(tx, hooks, toRepositoryId);
    },
  };

  async function copy(
    tx: Transaction,
    hooks: readonly ForgeHook[],
    repositoryId: RepositoryId,
  ): Promise<void> {
    for (const hook of hooks) {
      const target = targets.open(hook);
      const copied = { ...hook, scope: "repository", repositoryId, ownerId: undefined } as const;
      await insertHook(tx, copied, (id) => targets.seal(id, target));
    }
  }
}

/**
 * Returns a hook of `home`. Throws `not_found` for a hook of another home: copies of default hooks belong to their
 * repositories.
 */
export async function getHook(
  db: Parameters<typeof findHook>[0],
  home: HookHome,
  id: HookId,
): Promise<ForgeHook> {
  const hook = await findHook(db, id);
  if (hook === undefined || !belongsTo(hook, home)) throw notFound();
  return hook;
}

function belongsTo({ scope, repositoryId, ownerId }: ForgeHook, home: HookHome): boolean {
  if (home === "instance") return scope === "system" || scope === "default";
  return home.kind === "repository" ? repositoryId === home.id : ownerId === home.id;
}

const NAMES = { repository: "a repository", owner: "an owner" } as const;

function toInstanceScope(config: HookConfig): HookScope {
  return toIsSystem(config) ? "system" : "default";
}

function toTarget(present: HookTarget, changes: HookChanges): HookTarget {
  assertBranchFilter(changes.branchFilter);
  const url = Object.hasOwn(changes.config, "url") ? (changes.config["url"] ?? "") : present.url;
  if (url !== present.url) assertHookUrl(url);
  const authorizationHeader = changes.authorizationHeader ?? present.authorizationHeader;
  assertSendable(present.secret, authorizationHeader);
  return { ...present, url, authorizationHeader };
}

function orPush(events: readonly string[]): readonly string[] {
  return events.length === 0 ? ["push"] : events;
}

function toScopes(type: string): readonly HookScope[] {
  if (type === "all") return ["system", "default"];
  return [type === "default" ? "default" : "system"];
}
