import { addressOf, findTarget } from "../../client/target.ts";
import { forge, vault } from "../../client/operations.ts";
import { toCliError } from "../../errors.ts";
import type { Column } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { unpagedList } from "../../output/spec.ts";
import { canShowScreen, showLiveScreen } from "../../ui/open-screen.ts";
import { type DashboardSection, ROWS_PER_PAGE, toneOfFailure } from "../../ui/dashboard/section.ts";
import { listForgeSections } from "./forge-sections.ts";
import { listVaultSections } from "./vault-sections.ts";
import { commandDetails } from "../../tree/command.ts";

export const dashboard = commandDetails({
  calls: [
    forge.cancelRun,
    forge.editHook,
    forge.editRunner,
    forge.editUser,
    forge.getCurrentUser,
    forge.getUser,
    forge.listCronTasks,
    forge.listDeliveries,
    forge.listHooks,
    forge.listJobs,
    forge.listRunners,
    forge.listRuns,
    forge.listUsers,
    forge.redeliver,
    forge.rerunFailedJobs,
    forge.rerunRun,
    forge.runCronTask,
    vault.cancelJob,
    vault.listAudit,
    vault.listConnections,
    vault.listJobs,
    vault.listUsers,
    vault.retryJob,
    vault.setUserStatus,
    vault.testConnection,
    vault.viewOverview,
  ],
  output: unpagedList({ area: "string", state: "string", tone: "string", error: "string?" }),
  examples: [
    ["Show accounts, storage, hooks, runs and jobs", "croft dashboard"],
    ["Print what the screen shows as JSON", "croft dashboard --json"],
  ],
  /** Shows the daemon's state on a screen; without a terminal it prints a line for each section. */
  async run(cli) {
    const sections = [...listForgeSections(cli), ...listVaultSections(cli)];
    if (!(await canShowScreen(cli)) || cli.output.isMachine)
      return cli.output.list(wholeList(await Promise.all(sections.map(summarize))), columns);
    const { createDashboard } = await import("../../ui/dashboard/dashboard.ts");
    const screen = createDashboard({
      sections,
      url: addressOf(await findTarget(cli)),
      style: cli.io.style,
    });
    await showLiveScreen(cli, screen, LOOK_EVERY_MS);
  },
});

/** Polling interval of the daemon. */
const LOOK_EVERY_MS = 5_000;

interface Summary {
  readonly area: string;
  readonly state: string;
  readonly tone: string;
  /** Why the section could not be read, such as a missing sign-in. */
  readonly error: string | null;
}

async function summarize(section: DashboardSection): Promise<Summary> {
  const area = section.title;
  try {
    const { summary, tone } = await section.load({ filter: "", count: ROWS_PER_PAGE });
    return { area, state: summary, tone, error: null };
  } catch (error) {
    const failure = toCliError(error);
    return { area, state: "unknown", tone: toneOfFailure(failure), error: failure.message };
  }
}

const columns: readonly Column<Summary>[] = [
  { header: "area", cell: ({ area }) => area },
  { header: "state", cell: ({ state, error }) => error ?? state },
  { header: "tone", cell: ({ tone }) => tone },
];
