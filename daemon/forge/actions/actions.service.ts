import type { Database } from "../../../storage/engine/database.ts";
import { claimInstanceValue } from "../../../storage/tables/common/instance.ts";
import { findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import { workflowStatusWords } from "../../contract/forge/actions/actions.ts";
import { AppError } from "../../errors.ts";
import { userNotFound } from "../refusals.ts";

/** Runners, runs and jobs of a server that runs no workflows (forge behaviour, 16.1 to 16.3). */
export interface Actions {
  /** Throws `invalid_argument` for the first unknown status, the empty text included. */
  listJobs(wanted: { readonly statuses: readonly string[] }): Promise<{ readonly total: 0 }>;
  /** Throws as `listJobs` does, and `not_found` for an unknown actor. */
  listRuns(wanted: {
    readonly statuses: readonly string[];
    readonly actor: string;
  }): Promise<{ readonly total: 0 }>;
  /** Returns 40 hex digits, the same each time. */
  getRegistrationToken(): Promise<string>;
  /** Throws `not_found`: no runner can register. */
  getRunner(id: number): Promise<never>;
}

const TOKEN_NAME = "forge_runner_registration_token";
const TOKEN_BYTES = 20;

export function createActions({
  db,
  clock,
  random,
}: {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Unpredictable bytes. */
  readonly random: (bytes: number) => Uint8Array;
}): Actions {
  return {
    async listJobs({ statuses }) {
      assertStatuses(statuses);
      return { total: 0 };
    },
    async listRuns({ statuses, actor }) {
      assertStatuses(statuses);
      if (actor !== "" && (await findUserByName(db, actor)) === undefined)
        throw userNotFound(actor);
      return { total: 0 };
    },
    getRegistrationToken() {
      const fresh = Buffer.from(random(TOKEN_BYTES)).toString("hex");
      return claimInstanceValue(db, TOKEN_NAME, fresh, clock());
    },
    async getRunner(id) {
      throw new AppError("not_found", `runner with id ${id}: resource does not exist`);
    },
  };
}

function assertStatuses(words: readonly string[]): void {
  const known: readonly string[] = workflowStatusWords;
  const unknown = words.find((word) => !known.includes(word));
  if (unknown !== undefined) throw new AppError("invalid_argument", `invalid status ${unknown}`);
}
