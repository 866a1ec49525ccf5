import type { WireThread } from "../../../daemon/contract/forge/notifications.ts";
import { followThreads } from "../../client/follow-threads.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { listOf } from "../../output/spec.ts";
import { findCommit, nameCommit, nameCommits, readCommit } from "../../support/commit-threads.ts";
import { toRepositoryName } from "../../support/repository.ts";
import { canShowScreen } from "../../ui/open-screen.ts";
import type { Inbox } from "../../ui/inbox/inbox.ts";
import type { ThreadText, InboxView, ThreadSource } from "../../ui/inbox/thread-store.ts";
import { renderCall } from "../render.ts";
import { printThreads } from "./list.ts";
import { commandDetails } from "../../tree/command.ts";

export const inbox = commandDetails({
  flags: { "--repo <repository>": "only threads of this repository, as OWNER/NAME" },
  calls: [
    forge.listNotifications,
    forge.listRepositoryNotifications,
    forge.countNotifications,
    forge.streamNotifications,
    forge.markNotification,
    forge.markNotifications,
    forge.markRepositoryNotifications,
    forge.getIssue,
    forge.listIssueComments,
    forge.createIssueComment,
    forge.getCommit,
    forge.getCombinedStatus,
    forge.renderMarkdown,
  ],
  output: listOf(forge.listNotifications),
  examples: [
    ["Open your inbox", "croft notification inbox"],
    ["Open the threads of one repository", "croft notification inbox --repo keeper/notes"],
  ],
  /**
   * Shows the threads on a screen where they can be read and marked. Without a terminal, prints the list of `notification
   * list`.
   */
  async run(cli, { repo }) {
    if (!(await canShowScreen(cli))) return printThreads(cli, repo === undefined ? {} : { repo });
    const { createInbox } = await import("../../ui/inbox/inbox.ts");
    const inbox = createInbox({
      source: createSource(cli, repo),
      read: (thread) => readSubject(cli, thread),
      reply: (thread, text) => reply(cli, thread, text),
      style: cli.io.style,
      clock: cli.clock,
      repository: repo,
    });
    const closing = new AbortController();
    // Request the list while the modules that draw it are loaded.
    const firstLoad = inbox.reload();
    const background = [
      firstLoad,
      listen(cli, inbox, closing.signal),
      tick(cli, inbox, closing.signal),
    ];
    try {
      const { showScreen } = await import("../../ui/screen.tsx");
      await showScreen(cli, inbox, firstLoad);
    } finally {
      closing.abort();
      await Promise.allSettled(background);
    }
  },
});

const pageSize = 50;

function createSource(cli: CliContext, repo: string | undefined): ThreadSource {
  const name = repo === undefined ? undefined : toRepositoryName(repo);
  return {
    async list(view, before, page) {
      const query = {
        "status-types": [...statusesOf[view]],
        ...(before === undefined ? {} : { before }),
      };
      const pages =
        name === undefined
          ? forgePages(cli.client, forge.listNotifications, { query })
          : forgePages(cli.client, forge.listRepositoryNotifications, {
              params: { ...name },
              query,
            });
      const { items, hasMore } = await pages.first({ page, limit: pageSize, all: false });
      return { threads: await nameCommits(cli, items), hasMore };
    },
    async count() {
      return (await cli.client.call(forge.countNotifications, {})).body.new;
    },
    async mark(id, status) {
      await cli.client.call(forge.markNotification, {
        params: { id },
        query: { "to-status": status },
      });
    },
    async markAllRead(upTo) {
      const query = { "to-status": "read", last_read_at: upTo } as const;
      const answer =
        name === undefined
          ? await cli.client.call(forge.markNotifications, { query })
          : await cli.client.call(forge.markRepositoryNotifications, {
              params: { ...name },
              query,
            });
      const total = Number(answer.headers["x-total-count"]);
      const ids = answer.body.map(({ id }) => id);
      return { total: Number.isSafeInteger(total) ? total : ids.length, ids };
    },
  };
}

const statusesOf: Readonly<Record<InboxView, readonly ("unread" | "read" | "pinned")[]>> = {
  open: ["unread", "pinned"],
  all: ["unread", "read", "pinned"],
  pinned: ["pinned"],
};

/** The most comments that an open thread shows: each is rendered by the daemon. */
const commentsShown = 30;

/** The text of an issue with its comments, or of a commit with its checks, rendered; a repository has no text. */
async function readSubject(cli: CliContext, thread: WireThread): Promise<ThreadText> {
  const commit = findCommit(thread);
  if (commit !== undefined) return { html: toCommitHtml(await readCommit(cli, commit)) };
  const params = findIssue(thread);
  if (params === undefined) return { html: undefined };
  const { body: issue } = await cli.client.call(forge.getIssue, { params });
  const { body: comments } =
    issue.comments === 0
      ? { body: [] }
      : await cli.client.call(forge.listIssueComments, { params });
  const shown = comments.slice(-commentsShown);
  const hidden = comments.length - shown.length;
  const context = `/${params.owner}/${params.repo}`;
  const parts = await Promise.all([
    toHtml(cli, `${nameOf(issue.user?.login)} wrote:`, issue.body, context),
    ...shown.map(({ user, body }) =>
      toHtml(cli, `${nameOf(user?.login)} answered:`, body, context),
    ),
  ]);
  if (hidden > 0) parts.splice(1, 0, `<p>(${hidden} earlier comments)</p>`);
  return { html: parts.join("<hr>") };
}

/** The issue of a thread; undefined for other threads. */
function findIssue({ subject, repository }: WireThread) {
  const index = /\/issues\/(\d+)$/.exec(subject?.url ?? "")?.[1];
  if (index === undefined || repository === null) return undefined;
  const [owner = "", repo = ""] = repository.full_name.split("/");
  return { owner, repo, index };
}

/** Adds a comment to the issue of a thread. Throws for a thread of another kind. */
async function reply(cli: CliContext, thread: WireThread, text: string): Promise<void> {
  const params = findIssue(thread);
  if (params === undefined) throw new CliError("usage", "only issues take a reply");
  await cli.client.call(forge.createIssueComment, { params, body: { body: text } });
}

function toCommitHtml({ author, message, checks }: Awaited<ReturnType<typeof readCommit>>): string {
  const lines = checks.map(
    ({ context, status, description }) =>
      `<li>${escapeHtml(`${context}: ${status}${description === "" ? "" : `, ${description}`}`)}</li>`,
  );
  const list = lines.length === 0 ? "" : `<hr><h4>Checks</h4><ul>${lines.join("")}</ul>`;
  return `<h4>${escapeHtml(author)} committed:</h4><pre>${escapeHtml(message)}</pre>${list}`;
}

const escapeHtml = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function nameOf(login: string | undefined): string {
  return login ?? "Somebody";
}

/** Each text is rendered separately, so that an unclosed element does not swallow the next text. */
async function toHtml(
  cli: CliContext,
  heading: string,
  markdown: string,
  context: string,
): Promise<string> {
  const title = `<h4>${heading.replace(/[<&]/g, "")}</h4>`;
  if (markdown.trim() === "") return title;
  const body = { Text: markdown, Mode: "comment", Context: context };
  const { body: html } = await cli.client.call(forge.renderMarkdown, { body }, renderCall);
  return `${title}${html ?? ""}`;
}

/** Follows the event stream. Without it, the list is reloaded periodically. */
async function listen(cli: CliContext, inbox: Inbox, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const onConnection = (isOpen: boolean) => inbox.setLive(isOpen);
      for await (const news of followThreads(cli, { signal, onConnection })) {
        if (news.kind === "thread") inbox.receive(await nameCommit(cli, news.thread));
        else inbox.receiveCount(news.unread);
      }
    } catch {
      // Loading the list fails for the same reason and reports it.
      await pause(cli, reloadMs, signal);
      if (!signal.aborted) await inbox.reload();
    }
  }
}

const reloadMs = 30_000;

const tickMs = 30_000;

async function tick(cli: CliContext, inbox: Inbox, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(cli, tickMs, signal);
    inbox.tick();
  }
}

/** Waits; closing the screen ends the wait. */
async function pause(cli: CliContext, milliseconds: number, signal: AbortSignal): Promise<void> {
  await cli.system.sleep(milliseconds, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
