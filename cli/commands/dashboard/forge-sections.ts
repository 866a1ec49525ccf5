import type {
  WireJob,
  WireRun,
  WireRunner,
} from "../../../daemon/contract/forge/actions/shapes.ts";
import type { WireUser } from "../../../daemon/contract/forge/accounts/users.ts";
import type { WireCron } from "../../../daemon/contract/forge/cron.ts";
import type { WireDelivery, WireHook } from "../../../daemon/contract/forge/hooks/admin-hooks.ts";
import { forge } from "../../client/operations.ts";
import { forgeFieldPages, forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { toUserState } from "../../support/users.ts";
import { toAgo } from "../../output/cells.ts";
import { assertEnabled, DISABLED_TASK, isDisabled } from "../../support/cron-tasks.ts";
import { hasEnded, stateOf } from "../../support/runs.ts";
import {
  type DashboardRow,
  type DashboardSection,
  ROWS_MAX,
  type RowAction,
  type Tone,
} from "../../ui/dashboard/section.ts";
import { countOf, readRows, toContent } from "./section-rows.ts";

/** Maximum number of hooks that are shown: a load fetches the latest delivery of each. */
const HOOKS_MAX = 100;

/** The sections of the forge, in the order of the screen. All are for site administrators. */
export function listForgeSections(cli: CliContext): readonly DashboardSection[] {
  return [accounts(cli), hooks(cli), runs(cli), runners(cli), tasks(cli)];
}

function accounts({ client, clock }: CliContext): DashboardSection {
  let ownName = "";
  const edit = (user: WireUser, active: boolean) => async () => {
    const params = { username: user.login };
    const { body } = await client.call(forge.getUser, { params });
    // The API requires both members in each edit, and refuses an empty login name.
    const named = { source_id: body.source_id, login_name: body.login_name || body.login };
    await client.call(forge.editUser, { params, body: { ...named, active } });
    return `${active ? "Activated" : "Deactivated"} ${user.login}.`;
  };
  const actionsOf = (user: WireUser): readonly RowAction[] =>
    user.active
      ? [
          {
            key: "d",
            label: "deactivate",
            question:
              user.login === ownName
                ? `Deactivate ${user.login}, your own account? Only another administrator can undo it.`
                : `Deactivate ${user.login}?`,
            run: edit(user, false),
          },
        ]
      : [{ key: "a", label: "activate", run: edit(user, true) }];
  const toRow = (user: WireUser): DashboardRow => {
    const state = toUserState(user);
    const role = user.is_admin ? "admin" : user.restricted ? "restricted" : "user";
    const lastLogin = toAgo(user.last_login, clock());
    return {
      id: String(user.id),
      tone: state === "active" ? "good" : "warning",
      cells: [user.login, role, state, lastLogin],
      details: [
        ["name", user.full_name || user.login],
        ["e-mail", user.email],
        ["role", role],
        ["state", state],
        ["visibility", user.visibility],
        ["last sign-in", lastLogin],
        ["created", toAgo(user.created, clock())],
      ],
      actions: actionsOf(user),
    };
  };
  return {
    title: "Accounts",
    columns: ["account", "role", "state", "last sign-in"],
    empty: "There are no accounts.",
    async load({ filter, count }) {
      if (ownName === "") ownName = (await client.call(forge.getCurrentUser, {})).body.login;
      const query = filter === "" ? {} : { q: filter };
      const { items, total } = await readRows(
        forgePages(client, forge.listUsers, { query }),
        count,
      );
      return {
        rows: items.map(toRow),
        total,
        summary: `${total} ${total === 1 ? "account" : "accounts"}`,
        tone: "good",
      };
    },
  };
}

function hooks({ client, clock }: CliContext): DashboardSection {
  const toRow = (hook: WireHook, last: WireDelivery | undefined): DashboardRow => {
    const edit = (active: boolean) => async () => {
      // No response contains the authorization header: without this flag it would be deleted.
      const query = { keep_authorization_header: "true" };
      await client.call(forge.editHook, { params: { id: hook.id }, query, body: { active } });
      return `${active ? "Activated" : "Deactivated"} hook ${hook.id}.`;
    };
    const toggle: RowAction = hook.active
      ? { key: "d", label: "deactivate", question: `Deactivate hook ${hook.id}?`, run: edit(false) }
      : { key: "a", label: "activate", run: edit(true) };
    const redeliver = (delivery: WireDelivery): RowAction => ({
      key: "r",
      label: "redeliver",
      async run() {
        const params = { id: hook.id, delivery_id: delivery.id };
        await client.call(forge.redeliver, { params });
        return `Delivering ${delivery.event} of hook ${hook.id} again.`;
      },
    });
    const outcome = last?.state ?? "never used";
    return {
      id: String(hook.id),
      tone: last?.state === "failed" ? "bad" : hook.active ? "good" : "idle",
      cells: [
        hook.config["url"] ?? hook.name,
        hook.active ? "active" : "inactive",
        outcome,
        last === undefined ? "" : toAgo(last.attempted_at ?? last.created_at, clock()),
      ],
      details: [
        ["hook", String(hook.id)],
        ["url", hook.config["url"] ?? ""],
        ["events", hook.events.join(", ")],
        ["last delivery", outcome],
        ...(last === undefined
          ? []
          : ([
              ["event", last.event],
              ["attempts", String(last.attempts)],
              ["response", last.response_status === null ? "none" : String(last.response_status)],
              ["error", last.error ?? "none"],
            ] as const)),
      ],
      actions: last?.state === "failed" ? [redeliver(last), toggle] : [toggle],
    };
  };
  return {
    title: "Hooks",
    columns: ["url", "state", "last delivery", "when"],
    empty:
      'There are no system or default hooks. Hooks of one repository, organization or user are not listed here: "croft repo hook list" shows those of a repository.',
    async load(request) {
      const query = { type: "all" as const };
      const { items, total } = await readRows(
        forgePages(client, forge.listHooks, { query }),
        Math.min(countOf(request), HOOKS_MAX),
      );
      const rows: DashboardRow[] = [];
      for (const hook of items) {
        const { body } = await client.call(forge.listDeliveries, {
          params: { id: hook.id },
          query: { limit: 1 },
        });
        rows.push(toRow(hook, body[0]));
      }
      const failed = rows.filter(({ tone }) => tone === "bad").length;
      return {
        ...toContent(rows, Math.min(total, HOOKS_MAX), request),
        summary: `${total} system or default ${total === 1 ? "hook" : "hooks"}${failed === 0 ? "" : `, ${failed} failed to deliver`}`,
        tone: failed > 0 ? "bad" : total === 0 ? "idle" : "good",
      };
    },
  };
}

const runTones: Readonly<Record<string, Tone>> = {
  success: "good",
  failure: "bad",
  cancelled: "warning",
  in_progress: "warning",
};

/** The states of runs that have not ended. */
const NOT_ENDED = ["queued", "waiting", "in_progress"];

function runs({ client, clock }: CliContext): DashboardSection {
  const placeOf = ({ repository, id }: WireRun) => {
    const [owner = "", repo = ""] = repository.full_name.split("/");
    return { owner, repo, run: id };
  };
  const actionsOf = (run: WireRun): readonly RowAction[] => {
    const params = placeOf(run);
    const name = `run #${run.run_number} of ${run.repository.full_name}`;
    const cancel: RowAction = {
      key: "c",
      label: "cancel",
      question: `Cancel ${name}?`,
      async run() {
        await client.call(forge.cancelRun, { params });
        return `Cancelled ${name}.`;
      },
    };
    const onlyFailed = run.conclusion === "failure";
    const rerun: RowAction = {
      key: "r",
      label: "run again",
      question: `Run ${onlyFailed ? "the failed jobs" : "all jobs"} of ${name} again?`,
      async run() {
        if (onlyFailed) await client.call(forge.rerunFailedJobs, { params });
        else await client.call(forge.rerunRun, { params });
        return `Started ${name} again.`;
      },
    };
    return [hasEnded(run) ? rerun : cancel];
  };
  const toRow = (run: WireRun): DashboardRow => {
    const state = stateOf(run);
    return {
      id: String(run.id),
      tone: runTones[state] ?? "idle",
      cells: [
        `${run.repository.full_name} #${run.run_number} ${run.display_title}`,
        state.replace("in_progress", "running"),
        run.event,
        toAgo(run.started_at, clock()),
      ],
      details: [
        ["title", run.display_title],
        ["repository", run.repository.full_name],
        ["workflow", run.path.split("@", 1).join()],
        ["state", state],
        ["branch", run.head_branch ?? ""],
        ["commit", run.head_sha],
        ["started by", run.actor.login],
        ...(run.error === undefined ? [] : [["error", run.error] as const]),
      ],
      actions: actionsOf(run),
    };
  };
  return {
    title: "Runs",
    columns: ["run", "state", "event", "started"],
    empty: "No workflow has run yet.",
    async load(request) {
      const [{ items, total }, { body: open }] = await Promise.all([
        readRows(forgeFieldPages(client, forge.listRuns, {}, "workflow_runs"), countOf(request)),
        client.call(forge.listRuns, { query: { status: [...NOT_ENDED], limit: 1 } }),
      ]);
      return {
        ...toContent(items.map(toRow), total, request),
        summary: `${total} ${total === 1 ? "run" : "runs"}, ${open.total_count} not ended`,
        tone: items[0] === undefined ? "idle" : (runTones[stateOf(items[0])] ?? "idle"),
      };
    },
  };
}

function runners({ client }: CliContext): DashboardSection {
  const toRow = (runner: WireRunner, job: WireJob | undefined): DashboardRow => {
    const edit = (disabled: boolean) => async () => {
      await client.call(forge.editRunner, {
        params: { runner_id: runner.id },
        body: { disabled },
      });
      return `${disabled ? "Disabled" : "Enabled"} runner ${runner.name}.`;
    };
    const state = runner.disabled ? "disabled" : runner.busy ? "busy" : runner.status;
    return {
      id: String(runner.id),
      tone: runner.disabled ? "idle" : runner.status === "online" ? "good" : "warning",
      cells: [
        runner.name,
        state,
        job?.name ?? "",
        runner.labels.map(({ name }) => name).join(", "),
      ],
      details: [
        ["runner", `${runner.name} (${runner.id})`],
        ["state", state],
        ["ephemeral", runner.ephemeral ? "yes" : "no"],
        ["labels", runner.labels.map(({ name }) => name).join(", ")],
        ["job", job?.name ?? "none"],
      ],
      actions: [
        runner.disabled
          ? { key: "a", label: "enable", run: edit(false) }
          : {
              key: "d",
              label: "disable",
              question: `Disable runner ${runner.name}?`,
              run: edit(true),
            },
      ],
    };
  };
  return {
    title: "Runners",
    columns: ["runner", "state", "job", "labels"],
    empty: 'There are no runners: "croft runner register" makes one.',
    async load(request) {
      const { items, total } = await readRows(
        forgeFieldPages(client, forge.listRunners, {}, "runners"),
        countOf(request),
      );
      const query = { status: ["in_progress"] };
      const jobs = items.some(({ busy }) => busy)
        ? (await readRows(forgeFieldPages(client, forge.listJobs, { query }, "jobs"), ROWS_MAX))
            .items
        : [];
      const jobOf = ({ id }: WireRunner) => jobs.find((job) => job.runner_id === id);
      const online = items.filter(({ status }) => status === "online").length;
      return {
        ...toContent(
          items.map((runner) => toRow(runner, jobOf(runner))),
          total,
          request,
        ),
        summary: `${total} ${total === 1 ? "runner" : "runners"}, ${online} ${items.length < total ? `of the first ${items.length} ` : ""}online`,
        tone: total === 0 ? "idle" : online === 0 ? "warning" : "good",
      };
    },
  };
}

function tasks({ client, clock }: CliContext): DashboardSection {
  const toRow = (task: WireCron): DashboardRow => {
    const last = task.exec_times === 0 ? "never" : toAgo(task.prev, clock());
    const next = toAgo(task.next, clock());
    return {
      id: task.name,
      tone: isDisabled(task) ? "idle" : "good",
      cells: [task.name, isDisabled(task) ? "disabled" : task.schedule, last, next],
      details: [
        ["task", task.name],
        ["schedule", task.schedule],
        ["last run", last],
        ["next run", next],
        ["runs", String(task.exec_times)],
        ...(isDisabled(task) ? [["disabled", DISABLED_TASK] as const] : []),
      ],
      actions: [
        {
          key: "r",
          label: isDisabled(task) ? undefined : "run now",
          async run() {
            assertEnabled(task);
            await client.call(forge.runCronTask, { params: { task: task.name } });
            return `Started ${task.name}.`;
          },
        },
      ],
    };
  };
  return {
    title: "Tasks",
    columns: ["task", "schedule", "last run", "next run"],
    empty: "There are no scheduled tasks.",
    async load(request) {
      // The summary counts all of them, and there are less than a hundred.
      const pages = forgePages(client, forge.listCronTasks, {});
      const { items, total } = await readRows(pages, ROWS_MAX);
      const disabled = items.filter(isDisabled).length;
      return {
        ...toContent(items.map(toRow), total, request),
        summary: `${total} ${total === 1 ? "task" : "tasks"}, ${total - disabled} scheduled, ${disabled} disabled`,
        tone: "good",
      };
    },
  };
}
