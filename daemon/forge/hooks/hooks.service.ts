import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  deleteHook,
  findHook,
  type ForgeHook,
  type HookScope,
  insertHook,
  listDefaultHooks,
  listHooks,
  updateHook,
} from "../../../storage/tables/forge/hooks.ts";
import { toHookEvents } from "../../contract/forge/hook-words.ts";
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
  toSlackFacts,
} from "./hook-config.ts";
import type { HookTarget, Targets } from "./targets.ts";

/** A hook that shall be (forge behaviour, 13.1). */
export interface WantedHook {
  readonly type: string;
  readonly config: HookConfig;
  readonly events: readonly string[];
  readonly branchFilter: string;
  readonly authorizationHeader: string;
  readonly isActive: boolean;
  readonly name: string;
}

/** What shall be changed about a hook. Undefined members stay as they are. */
export interface HookChanges {
  readonly config: HookConfig;
  readonly events: readonly string[];
  readonly branchFilter: string;
  readonly authorizationHeader: string | undefined;
  readonly isActive: boolean | undefined;
  readonly name: string | undefined;
}

/** A hook with its address, which is sealed in the record. */
export interface SeenHook {
  readonly hook: ForgeHook;
  readonly url: string;
}

export interface Hooks {
  /** A page of the hooks of a type (`default`, `all`, anything else is `system`) by id, and the count of all. */
  list(
    type: string,
    window: { readonly page: number; readonly limit: number },
  ): Promise<{ readonly hooks: readonly SeenHook[]; readonly total: number }>;
  /** Refuses with `unprocessable` or `invalid_argument` what section 13.1 refuses, in its order and words. */
  create(wanted: WantedHook): Promise<SeenHook>;
  /** A system or default hook. Refuses with `not_found`. */
  get(id: number): Promise<SeenHook>;
  /** Changes a hook; its secret and kind stay. Refuses as `create` and `get` do, and changes nothing then. */
  edit(id: number, changes: HookChanges): Promise<SeenHook>;
  /** Deletes a hook with its deliveries. Refuses with `not_found`. */
  remove(id: number): Promise<void>;
  /** Gives a new repository its copies of all default hooks, secrets included. */
  copyDefaults(tx: Transaction, repositoryId: number): Promise<void>;
}

export function createHooks({
  db,
  targets,
}: {
  readonly db: Database;
  readonly targets: Targets;
}): Hooks {
  const see = (hook: ForgeHook): SeenHook => ({ hook, url: targets.open(hook).url });
  return {
    async list(type, { page, limit }) {
      const offset = Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);
      const { hooks, total } = await listHooks(db, toScopes(type), { limit, offset });
      return { hooks: hooks.map(see), total };
    },

    async create(wanted) {
      const { config } = wanted;
      assertBranchFilter(wanted.branchFilter);
      assertHookType(wanted.type);
      const url = getOption(config, "url");
      const contentType = toContentType(getOption(config, "content_type"));
      assertHookUrl(url);
      const scope = toIsSystem(config) ? "system" : "default";
      const slack = wanted.type === "slack" ? toSlackFacts(config) : undefined;
      const secret = Object.hasOwn(config, "secret") ? (config["secret"] ?? "") : "";
      assertSendable(secret, wanted.authorizationHeader);
      const target = { url, secret, authorizationHeader: wanted.authorizationHeader };
      const hook = await db.transaction((tx) =>
        insertHook(
          tx,
          {
            scope,
            repositoryId: undefined,
            kind: wanted.type,
            name: wanted.name.trim(),
            contentType,
            events: toHookEvents(orPush(wanted.events)),
            branchFilter: wanted.branchFilter,
            slack,
            isActive: wanted.isActive,
          },
          (id) => targets.seal(id, target),
        ),
      );
      return { hook, url };
    },

    get: async (id) => see(await getInstanceHook(db, id)),

    edit: (id, changes) =>
      db.transaction(async (tx) => {
        const hook = await getInstanceHook(tx, id);
        const target = toTarget(targets.open(hook), changes);
        const contentType = Object.hasOwn(changes.config, "content_type")
          ? toContentType(changes.config["content_type"] ?? "")
          : hook.contentType;
        const hasChannel = hook.kind === "slack" && Object.hasOwn(changes.config, "channel");
        const changed: ForgeHook = {
          ...hook,
          sealedTarget: targets.seal(id, target),
          contentType,
          slack: hasChannel ? toSlackFacts(changes.config) : hook.slack,
          events: toHookEvents(orPush(changes.events)),
          branchFilter: changes.branchFilter,
          isActive: changes.isActive ?? hook.isActive,
          name: changes.name?.trim() ?? hook.name,
          updatedAt: tx.now,
        };
        await updateHook(tx, id, changed);
        return { hook: changed, url: target.url };
      }),

    remove: (id) =>
      db.transaction(async (tx) => {
        await getInstanceHook(tx, id);
        await deleteHook(tx, id);
      }),

    async copyDefaults(tx, repositoryId) {
      for (const hook of await listDefaultHooks(tx)) {
        const target = targets.open(hook);
        await insertHook(tx, { ...hook, scope: "repository", repositoryId }, (id) =>
          targets.seal(id, target),
        );
      }
    },
  };
}

/** Refuses with `not_found` what is no system or default hook: copies belong to their repositories. */
async function getInstanceHook(db: Parameters<typeof findHook>[0], id: number): Promise<ForgeHook> {
  const hook = await findHook(db, id);
  if (hook === undefined || hook.scope === "repository") throw notFound();
  return hook;
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
