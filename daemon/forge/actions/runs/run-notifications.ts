import type { Transaction } from "../../../../storage/engine/database.ts";
import { listRunJobs } from "../../../../storage/tables/forge/actions/jobs.ts";
import {
  type ActionRun,
  findOutcomeBefore,
} from "../../../../storage/tables/forge/actions/runs.ts";
import { notifyUsers } from "../../notifications/notify.ts";
import type { RunReports } from "./advance-run.ts";
import { loadRepositories, toRunStatus } from "./run-records.ts";

/** How the same workflow ended on the same ref before. */
interface Outcome {
  readonly status: "success" | "failure";
  readonly headSha: string;
  /** Who started it; undefined once the account is deleted, and for an earlier attempt. */
  readonly starterId: number | undefined;
}

/**
 * Notifies the user who started a run, in a thread of its commit, when it fails, and when it succeeds after a failure on the
 * same ref. The user whose run failed learns of the recovery as well. A second failure of the same commit is no news.
 */
export function createRunNotifications(): RunReports {
  return {
    job: async () => undefined,

    async run(tx, run) {
      if (run.status !== "failure" && run.status !== "success") return;
      const before = await findBefore(tx, run);
      const hadFailed = before?.status === "failure";
      const isNews =
        run.status === "success" ? hadFailed : !hadFailed || before.headSha !== run.headSha;
      if (!isNews) return;
      const what = (await loadRepositories(tx, [run])).get(run.repositoryId);
      if (what === undefined) return;
      const starterId = run.triggerActorId ?? run.actorId;
      const others = run.status === "success" ? [before?.starterId] : [];
      const recipients = [starterId, ...others].filter((id) => id !== undefined);
      await notifyUsers(tx, [...new Set(recipients)], {
        what,
        kind: "commit",
        commitId: run.headSha,
        notifiedAt: tx.now,
      });
    },
  };
}

async function findBefore(tx: Transaction, run: ActionRun): Promise<Outcome | undefined> {
  for (let attempt = run.attempt - 1; attempt >= 1; attempt -= 1) {
    const status = toRunStatus(await listRunJobs(tx, run.id, attempt));
    if (status === "success" || status === "failure")
      return { status, headSha: run.headSha, starterId: attempt === 1 ? run.actorId : undefined };
  }
  const earlier = await findOutcomeBefore(tx, run);
  if (earlier?.status !== "success" && earlier?.status !== "failure") return undefined;
  const { status, headSha, triggerActorId, actorId } = earlier;
  return { status, headSha, starterId: triggerActorId ?? actorId };
}
