import type { Transaction } from "../../../../storage/engine/database.ts";
import type { ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { listRunJobs } from "../../../../storage/tables/forge/actions/jobs.ts";
import type { ActionRun } from "../../../../storage/tables/forge/actions/runs.ts";
import type { QueueMail } from "../../accounts/welcome-mail.ts";
import type { OwnedRepository } from "../../events.ts";
import { toShortLine } from "../../notifications/issue-mails.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import { toWorkflowName } from "./job-statuses.ts";

/** How a run ended: `recovered` is a success after the last run of the workflow on the same ref failed. */
export type RunNews = "failed" | "recovered" | "succeeded";

/** Queues the mail about the end of a run in the transaction of its end. */
export type MailRun = (
  tx: Transaction,
  recipient: ForgeUser,
  ended: {
    readonly run: ActionRun;
    readonly owned: OwnedRepository;
    readonly news: RunNews;
    /** Whether the recipient started this run; otherwise the run of another user fixed the recipient's. */
    readonly isStarter: boolean;
  },
) => Promise<void>;

export interface RunMailsDeps {
  readonly queueMail: QueueMail;
  readonly instanceName: string;
  readonly urls: ForgeUrls;
}

/** Maximum number of failed jobs in a mail. */
const JOBS_MAX = 20;

/** Returns the function that mails the end of a run: names, the commit and a link, nothing of its log. */
export function createRunMails({ queueMail, instanceName, urls }: RunMailsDeps): MailRun {
  return async (tx, recipient, { run, owned, news, isStarter }) => {
    const { owner, repository } = owned;
    const home = `${owner.name}/${repository.name}`;
    const workflow = toShortLine(toWorkflowName(run));
    const [kind, branch] = toPlace(run.ref);
    const name = toShortLine(recipient.fullName) || recipient.name;
    await queueMail(tx, {
      to: recipient.email,
      reader: { userId: recipient.id, repositoryId: repository.id },
      subject: `[${home}] Run ${news}: ${workflow}, ${branch} (${run.headSha.slice(0, 10)})`,
      text: [
        `Hello ${name},`,
        "",
        `run ${run.number} of the workflow ${workflow} in ${home} on ${instanceName} ${ENDINGS[news]}.`,
        "",
        `${kind}: ${branch}`,
        `Commit: ${run.headSha}`,
        `Event: ${run.event}`,
        ...(news === "failed" ? await listFailures(tx, run) : []),
        "",
        toUrl(urls, `/${home}/actions/runs/${run.id}`),
        "",
        isStarter
          ? "You get this mail because you started the run. To get none:"
          : "You get this mail because you started the run that failed before. To get none:",
        "croft account edit --email-notifications disabled",
        "",
      ].join("\n"),
    });
  };
}

/** Returns what a ref is, and its name. */
function toPlace(ref: string): readonly [kind: string, name: string] {
  const [, kind = "heads", name = ref] = /^refs\/(heads|tags|pull)\/(.*)$/s.exec(ref) ?? [];
  if (kind === "pull") return ["Pull request", `#${name.replace(/\/head$/, "")}`];
  return [kind === "tags" ? "Tag" : "Branch", toShortLine(name)];
}

const ENDINGS: Readonly<Record<RunNews, string>> = {
  failed: "failed",
  recovered: "succeeded, after the run before it had failed",
  succeeded: "succeeded",
};

/** Returns a line with the names of the failed jobs; no line for a run that failed before it had any. */
async function listFailures(tx: Transaction, run: ActionRun): Promise<readonly string[]> {
  const jobs = await listRunJobs(tx, run.id, run.attempt);
  const failed = jobs.filter(({ status, call }) => status === "failure" && call === undefined);
  if (failed.length === 0) return [];
  const names = failed.slice(0, JOBS_MAX).map(({ name }) => toShortLine(name));
  const more = failed.length > JOBS_MAX ? [`and ${failed.length - JOBS_MAX} more`] : [];
  return [`Failed jobs: ${[...names, ...more].join(", ")}`];
}
