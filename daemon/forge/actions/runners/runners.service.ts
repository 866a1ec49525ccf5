import type { Database, Queries } from "../../../../storage/engine/database.ts";
import { bumpTasksVersion } from "../../../../storage/tables/forge/actions/jobs.ts";
import type { ActionLevel } from "../../../../storage/tables/forge/actions/levels.ts";
import {
  type ActionRunner,
  findRunner,
  listRunners,
  updateRunner,
} from "../../../../storage/tables/forge/actions/runners.ts";
import { AppError } from "../../../errors.ts";
import { type PageWindow, toRows } from "../../page-window.ts";
import type { OpenLevel } from "../secrets/levels.service.ts";
import type { Registration } from "./registration.service.ts";
import type { Tasks } from "./tasks.service.ts";
import { toRunnerId } from "../../../../storage/tables/forge/ids.ts";

export interface RunnersDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly registration: Pick<Registration, "getToken">;
  readonly tasks: Pick<Tasks, "removeRunner">;
}

/** A runner with its current state. */
export interface RunnerDetails {
  readonly runner: ActionRunner;
  readonly isOnline: boolean;
  readonly isBusy: boolean;
}

const ONLINE_MS = 60_000;
const BUSY_MS = 10_000;

/** Opens a level; undefined for a site administrator, who may change the runners of every level. */
type OpenRunnerLevel = OpenLevel | undefined;

export type Runners = ReturnType<typeof createRunners>;

/**
 * Creates the service. A level restricts a function to its own runners: other runners are `not_found`. `undefined`
 * selects the runners of every level.
 */
export function createRunners({ db, clock, registration, tasks }: RunnersDeps) {
  return {
    async list(
      level: ActionLevel | undefined,
      { disabled, ...window }: PageWindow & { readonly disabled?: boolean | undefined },
    ) {
      const since = { onlineSince: clock() - ONLINE_MS, activeSince: clock() - BUSY_MS };
      const filter = { isDisabled: disabled, ...(level === undefined ? {} : { level }) };
      const found = await listRunners(db, filter, since, toRows(window));
      return { runners: found.runners.map(see), total: found.total };
    },

    getToken: (openLevel: OpenLevel, renew: boolean) => registration.getToken(openLevel, renew),

    /** Throws `not_found`. */
    get: async (level: ActionLevel | undefined, id: number): Promise<RunnerDetails> =>
      see(await get(db, level, id)),

    /** Disables or enables a runner. Throws `not_found`, then `unprocessable` when the member is missing. */
    async edit(
      openLevel: OpenRunnerLevel,
      id: number,
      isDisabled: boolean | null | undefined,
    ): Promise<RunnerDetails> {
      return db.transaction(async (tx) => {
        const runner = await get(tx, await openLevel?.(tx), id);
        if (isDisabled === null || isDisabled === undefined)
          throw new AppError("unprocessable", "[Disabled]: Required");
        if (!(await updateRunner(tx, runner.id, { isDisabled }))) throw notFound(id);
        await bumpTasksVersion(tx);
        return see({ ...runner, isDisabled });
      });
    },

    /** Deletes a runner and fails its running tasks. Throws `not_found`. */
    async delete(openLevel: OpenRunnerLevel, id: number): Promise<void> {
      await db.transaction(async (tx) => {
        const runner = await get(tx, await openLevel?.(tx), id);
        if (!(await tasks.removeRunner(tx, runner.id))) throw notFound(id);
      });
    },
  };

  function see(runner: ActionRunner): RunnerDetails {
    const isOnline = runner.lastContactAt >= clock() - ONLINE_MS;
    return { runner, isOnline, isBusy: isOnline && runner.lastActivityAt >= clock() - BUSY_MS };
  }

  async function get(
    queries: Queries,
    level: ActionLevel | undefined,
    id: number,
  ): Promise<ActionRunner> {
    const runner = await findRunner(queries, toRunnerId(id));
    const isOfLevel =
      level === undefined ||
      (runner?.ownerId === level.ownerId && runner?.repositoryId === level.repositoryId);
    if (runner === undefined || !isOfLevel) throw notFound(id);
    return runner;
  }
}

const notFound = (id: number) =>
  new AppError("not_found", `runner with id ${id}: resource does not exist`);
