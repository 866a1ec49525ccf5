import type { Transaction } from "../../../../storage/engine/database.ts";
import { listRunJobs } from "../../../../storage/tables/forge/actions/jobs.ts";
import {
  type ActionRun,
  findOutcomeBefore,
} from "../../../../storage/tables/forge/actions/runs.ts";
import { listReaders, notifyUsers } from "../../notifications/notify.ts";
import type { MailRun, RunNews } from "./run-mails.ts";
import { loadRepositories, toRunStatus } from "./run-records.ts";
import type { UserId } from "../../../../storage/tables/forge/ids.ts";

/** The result of the previous run of the same workflow on the same ref. */
interface Outcome {
  readonly status: "success" | "failure";
  readonly headSha: string;
  /** The user who started it; undefined once the account is deleted, and for an earlier attempt. */
  readonly starterId: UserId | undefined;
}

/** Notifies users of the end of a run, in its transaction. */
export type RunNotifications = (tx: Transaction, run: ActionRun) => Promise<void>;

/**
 * Notifies the user who started a run, in a thread of its commit, when it fails, and when it succeeds after a failure
 * on the same ref. The user whose run failed is notified of the recovery as well. A second failure of the same commit
 * sends nothing. Notified users also get a mail if their account has mails on; an account with mails for all of its own
 * runs gets one at each end.
 * @param mailRun undefined without a mail server
 */
export function createRunNotifications(mailRun: MailRun | undefined): RunNotifications {
  return async (tx, run) => {
    if (run.status !== "failure" && run.status !== "success") return;
    const before = await findBefore(tx, run);
    const hadFailed = before?.status === "failure";
    const isNews =
      run.status === "success" ? hadFailed : !hadFailed || before.headSha !== run.headSha;
    if (!isNews && mailRun === undefined) return;
    const owned = (await loadRepositories(tx, [run])).get(run.repositoryId);
    if (owned === undefined) return;
    const starterId = run.triggerActorId ?? run.actorId;
    const others = isNews && run.status === "success" ? [before?.starterId] : [];
    const recipients = [...new Set([starterId, ...others].filter((id) => id !== undefined))];
    const subject = { owned, kind: "commit" } as const;
    if (isNews)
      await notifyUsers(tx, recipients, {
        ...subject,
        commitId: run.headSha,
        notifiedAt: tx.now,
      });
    if (mailRun === undefined) return;
    const news = toNews(run.status, hadFailed);
    for (const reader of await listReaders(tx, recipients, subject)) {
      const isStarter = reader.id === starterId;
      const wants = reader.emailNotifications;
      if (wants === "disabled" || (!isNews && wants !== "andyourown")) continue;
      await mailRun(tx, reader, { run, owned, news, isStarter });
    }
  };
}

function toNews(status: "success" | "failure", hadFailed: boolean): RunNews {
  if (status === "failure") return "failed";
  return hadFailed ? "recovered" : "succeeded";
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
