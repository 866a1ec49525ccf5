import { expect, test } from "vitest";
import { type FakeAnswer, fakeDaemon, type RecordedRequest } from "../support/fake-daemon.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { signIn } from "../support/signed-in.ts";
import { type FakeTerminal, type InTerminal, keys, runInTerminal } from "../support/terminal.ts";

const now = Date.parse("2026-11-21T12:00:00Z");
const at = (minutes: number) => new Date(now - minutes * 60_000).toISOString();

const account = (id: number, login: string, active: boolean) => ({
  id,
  login,
  login_name: "",
  source_id: 0,
  full_name: "",
  email: `${login}@example.org`,
  is_admin: id === 1,
  restricted: false,
  active,
  prohibit_login: false,
  visibility: "public",
  last_login: at(5),
  created: at(500),
});

const run = {
  id: 7,
  run_number: 3,
  display_title: "Water the garden\u001b[2J",
  path: "ci.yml@refs/heads/main",
  event: "push",
  status: "completed",
  conclusion: "failure",
  head_sha: "0123456789abcdef",
  head_branch: "main",
  actor: { login: "mira" },
  repository: { full_name: "mira/garden" },
  started_at: at(9),
  completed_at: at(8),
};

const delivery = {
  id: 31,
  hook_id: 4,
  uuid: "u",
  event: "push",
  state: "failed",
  attempts: 5,
  redelivery: false,
  created_at: at(3),
  attempted_at: at(2),
  next_attempt_at: null,
  duration_ms: 4,
  response_status: 500,
  error: "HTTP 500",
};

const deadJob = {
  id: 21,
  kind: "cloud.analyze",
  description: "read the text of a file",
  state: "dead",
  attempts: 5,
  last_error: "the storage is offline",
  document_id: null,
  item_id: "f1",
  run_at: at(1),
  created_at: at(60),
  updated_at: at(1),
};

const page = (items: readonly unknown[]) => ({
  body: { items, total: items.length, page: 1, per_page: 50 },
});
const list = (items: readonly unknown[]): FakeAnswer => ({
  body: items,
  headers: { "x-total-count": String(items.length) },
});

const never = "0001-01-01T00:00:00Z";

/** A daemon with one of everything, some of it failed; actions change it. */
function croft() {
  const state = { active: true, hookActive: true, jobs: [deadJob] };
  const answers: Record<string, (request: RecordedRequest) => FakeAnswer> = {
    "GET /api/v1/user": () => ({ body: { login: "keeper" } }),
    "GET /api/v1/admin/users": ({ path }) =>
      list(
        [account(1, "keeper", true), account(2, "mira", state.active)].filter(({ login }) =>
          login.includes(new URL(path, "http://x").searchParams.get("q") ?? ""),
        ),
      ),
    "GET /api/v1/users/mira": () => ({ body: account(2, "mira", state.active) }),
    "PATCH /api/v1/admin/users/mira": () => {
      state.active = !state.active;
      return { body: account(2, "mira", state.active) };
    },
    "GET /api/v1/admin/hooks": () =>
      list([
        {
          id: 4,
          name: "",
          type: "gitea",
          branch_filter: "",
          config: { url: "http://127.0.0.1:9/receiver" },
          events: ["push"],
          authorization_header: "",
          active: state.hookActive,
          updated_at: at(9),
          created_at: at(9),
        },
      ]),
    "GET /api/v1/admin/hooks/4/deliveries": () => list([delivery]),
    "POST /api/v1/admin/hooks/4/deliveries/31/redeliver": () => ({ status: 201, body: delivery }),
    "GET /api/v1/admin/actions/runs": ({ path }) => ({
      body: path.includes("status=")
        ? { workflow_runs: [], total_count: 0 }
        : { workflow_runs: [run], total_count: 1 },
    }),
    "GET /api/v1/admin/actions/runners": () => ({ body: { runners: [], total_count: 0 } }),
    "GET /api/v1/admin/cron": () =>
      list([
        { name: "cleanup", schedule: "@every 24h", next: at(-60), prev: at(60), exec_times: 3 },
        { name: "update_mirrors", schedule: "-", next: never, prev: never, exec_times: 0 },
      ]),
    "GET /api/admin/users": () => ({ status: 403, body: { detail: "Administrators only." } }),
    "GET /api/cloud/connections": () =>
      page([
        {
          id: "c1",
          provider: "webdav",
          display_name: "Papers",
          status: "connected",
          created_at: at(90),
          last_checked_at: at(1),
          quota: { used_bytes: 950, total_bytes: 1000 },
          capabilities: null,
        },
      ]),
    "GET /api/admin/overview": () => ({ status: 403, body: { detail: "Administrators only." } }),
    "GET /api/admin/jobs": () => page(state.jobs),
    "POST /api/admin/jobs/21/retry": () => {
      state.jobs = [];
      return { body: deadJob };
    },
    "GET /api/admin/audit": () =>
      page([
        {
          id: 1,
          event_type: "auth.login_failed",
          user_id: null,
          user_handle: "mira",
          user_email: null,
          actor_id: null,
          actor_handle: null,
          resource_id: null,
          ip_address: "127.0.0.1",
          metadata: { method: "password" },
          created_at: at(2),
        },
      ]),
  };
  return answers;
}

async function inDashboard(
  use: (terminal: FakeTerminal, requests: readonly RecordedRequest[]) => Promise<void>,
  {
    answers = {},
    ...options
  }: Partial<InTerminal> & { readonly answers?: Parameters<typeof fakeDaemon>[0] } = {},
) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({ ...croft(), ...answers });
  await signIn(home.path, { url: daemon.url, forgeToken: "t", vault: {} });
  return await runInTerminal(
    ["dashboard"],
    { home: home.path, now: () => now, ...options },
    (terminal) => use(terminal, daemon.requests),
  );
}

test("the overview has a line for each section, failed ones included", async () => {
  const { code } = await inDashboard(async (screen) => {
    await screen.sees((text) => text.includes("AREA") && !text.includes("loading"));
    expect(screen.rows().slice(3, 13)).toEqual([
      "    AREA      STATE",
      "❯ + Accounts  2 accounts",
      "  x Hooks     1 system or default hook, 1 failed to deliver",
      "  x Runs      1 run, 0 not ended",
      "  . Runners   0 runners, 0 online",
      "  + Tasks     2 tasks, 1 scheduled, 1 disabled",
      "  . Users     Administrators only.",
      "  ! Storage   1 connection",
      "  x Jobs      1 job, 0 waiting or running, 1 failed permanently",
      "  + Audit     1 record, the last auth.login_failed",
    ]);
    await screen.press("q");
  });
  expect(code).toBe(0);
});

test("a daemon that does not answer does not keep a person who leaves", async () => {
  const never = () => new Promise<FakeAnswer>(() => undefined);
  const { code } = await inDashboard(
    async (screen) => {
      await screen.press("q", "AREA");
    },
    { answers: { "GET /api/v1/admin/hooks": never } },
  );
  expect(code).toBe(0);
});

test("a task that only runs by hand is disabled and idle", async () => {
  await inDashboard(async (screen) => {
    await screen.press("5", "1 scheduled");
    await screen.sees(/❯ \+ cleanup +@every 24h/);
    await screen.sees(/ {2}\. update_mirrors +disabled +never +never/);
    await screen.press("q");
    await screen.press("q", "AREA");
  });
});

test("an account is found, deactivated after a question, and activated", async () => {
  await inDashboard(async (screen, requests) => {
    await screen.press("1", "2 accounts");
    await screen.press("/", "keeper");
    await screen.press(`mir${keys.enter}`, "Search:");
    await screen.sees("search: mir");
    await screen.sees((text) => !text.includes("keeper"));
    await screen.press("d", "❯ + mira");
    await screen.press("n", "Deactivate mira?");
    await screen.press("d", "d deactivate");
    await screen.press("y", "Deactivate mira?");
    await screen.sees("Deactivated mira.");
    await screen.press("a", "❯ ! mira");
    await screen.sees("Activated mira.");
    const sent = requests.filter(({ method }) => method === "PATCH").map(({ body }) => body);
    expect(sent.map((body) => JSON.parse(String(body)))).toEqual([
      { source_id: 0, login_name: "mira", active: false },
      { source_id: 0, login_name: "mira", active: true },
    ]);
    await screen.press(keys.escape);
    await screen.press("q", "keeper");
    await screen.press("q", "AREA");
  });
});

test("the question before your own account is deactivated says that it is yours", async () => {
  await inDashboard(async (screen) => {
    await screen.press("1", "2 accounts");
    await screen.press("d", "❯ + keeper");
    await screen.press("n", "Deactivate keeper, your own account?");
    await screen.press("q", "d deactivate");
    await screen.press("q", "AREA");
  });
});

test("a failed delivery is sent again, and its error is in the details", async () => {
  await inDashboard(async (screen, requests) => {
    await screen.press("2", "1 system");
    await screen.press(keys.enter, "❯ x http://127.0.0.1:9/receiver");
    await screen.sees("HTTP 500");
    await screen.press(keys.enter);
    await screen.press("r", "❯ x");
    await screen.sees("Delivering push of hook 4 again.");
    expect(requests.filter(({ method }) => method === "POST").map(({ path }) => path)).toEqual([
      "/api/v1/admin/hooks/4/deliveries/31/redeliver",
    ]);
    await screen.press("qq");
  });
});

test("a dead-lettered job is run again and leaves the list", async () => {
  await inDashboard(async (screen) => {
    await screen.press("8", "1 failed permanently");
    await screen.press("r", "❯ x read the text of a file");
    await screen.sees("Job 21 runs again.");
    await screen.sees("No background job waits or failed.");
    await screen.press("qq");
  });
});

test("from 120 columns the details are shown beside the list, without control characters", async () => {
  await inDashboard(
    async (screen) => {
      await screen.press("3", "1 run,");
      await screen.sees("│ repository");
      expect(screen.screen()).toContain("❯ x mira/garden #3 Water");
      expect(screen.screen()).toContain("ci.yml");
      await screen.press("qq");
    },
    { columns: 130, rows: 24 },
  );
});

test("is usable in 40 columns and 12 rows", async () => {
  await inDashboard(
    async (screen) => {
      await screen.sees("Administrators only.");
      await screen.press("7");
      await screen.sees("Papers");
      expect(Math.max(...screen.rows().map((row) => row.length))).toBeLessThan(40);
      await screen.press(keys.tab);
      await screen.sees("read the text");
      await screen.press("?");
      await screen.press("q", "Dashboard: keys");
      await screen.press("qq");
    },
    { columns: 40, rows: 12 },
  );
});

test("a disabled task offers no run, and r says why", async () => {
  await inDashboard(async (screen, requests) => {
    await screen.press("5", "2 tasks");
    await screen.press("j", "r run now");
    await screen.press(
      "r",
      (text) => /❯ \. update_mirrors/.test(text) && !text.includes("run now"),
    );
    await screen.sees("update_mirrors is disabled");
    expect(requests.filter(({ method }) => method === "POST")).toEqual([]);
    await screen.press("qq");
  });
});

test("the audit log loads more as the cursor nears the end; a search looks through all of it", async () => {
  const entries = Array.from({ length: 130 }, (_, index) => ({
    ...{ id: 130 - index, event_type: index === 129 ? "auth.first" : "auth.login" },
    ...{ user_id: null, user_handle: "mira", user_email: null, actor_id: null },
    ...{ actor_handle: null, resource_id: null, ip_address: null, metadata: {}, created_at: at(1) },
  }));
  const audit = ({ path }: RecordedRequest): FakeAnswer => {
    const { searchParams } = new URL(path, "http://x");
    const [size, number] = [searchParams.get("per_page"), searchParams.get("page")].map(Number);
    const from = ((number ?? 1) - 1) * (size ?? 0);
    const items = entries.slice(from, from + (size ?? 0));
    return { body: { items, total: entries.length, page: number, per_page: size } };
  };
  await inDashboard(
    async (screen) => {
      await screen.press("9", "130 records");
      await screen.press("G", "1 of 130");
      await screen.sees("50 of 130");
      await expect
        .poll(async () => {
          await screen.press("G");
          return screen.screen();
        })
        .toContain("130 of 130  130 records, the last auth.login");
      await screen.press("/first\r");
      await screen.sees("1 of 1 found");
      await screen.press("q", "❯ . auth.first");
      await screen.press("q", "130 of 130");
      await screen.press("q", "AREA");
    },
    { answers: { "GET /api/admin/audit": audit } },
  );
});

const unreachable: FakeAnswer = {
  status: 503,
  body: {
    message: "the disk of this daemon is full and no request can be answered before it is not",
  },
};

test("an error that all forge areas share stands once, wrapped, above the areas", async () => {
  const answers = Object.fromEntries(
    Object.keys(croft())
      .filter((route) => route.startsWith("GET /api/v1/"))
      .map((route) => [route, () => unreachable]),
  );
  await inDashboard(
    async (screen) => {
      await screen.sees(/❯ x Accounts {2}not loaded/);
      await screen.sees("1 record,");
      expect(screen.screen().split("the disk of this daemon")).toHaveLength(2);
      expect(screen.screen().replaceAll(/\s+/g, " ")).toContain("before it is not");
      expect(screen.screen()).toContain("R try again  Enter open");
      await screen.press("q");
    },
    { answers },
  );
});

test("an error that every area shares stands alone, and the last line offers to try again", async () => {
  const answers = Object.fromEntries(
    Object.keys(croft())
      .filter((route) => route.startsWith("GET "))
      .map((route) => [
        route,
        () => ({ status: 503, body: { message: "no disk", detail: "no disk" } }),
      ]),
  );
  const { code, err } = await inDashboard(
    async (screen) => {
      await screen.sees("R try again  Tab next  ? keys  q leave");
      expect(screen.screen().split(/no disk/i)).toHaveLength(2);
      expect(screen.screen()).not.toContain("Loading");
      await screen.press("q");
    },
    { answers },
  );
  expect([code, err]).toEqual([1, expect.stringContaining("no disk")]);
});

test.each([
  [80, "1 Accounts  2 Hooks  [3 Runs]  4 Runners  5 Tasks"],
  [40, "2 Hooks  [3 Runs]  4 Runners"],
])("names the shown section and its neighbours in %d columns", async (columns, names) => {
  await inDashboard(
    async (screen) => {
      await screen.press("3", "AREA");
      await screen.sees("1 of 1");
      expect(screen.screen()).toContain(names);
      expect(Math.max(...screen.rows().map((row) => row.length))).toBeLessThan(columns);
      await screen.press("qq");
    },
    { columns, rows: 24 },
  );
});

test("20 columns and 5 rows show a row of the section", async () => {
  await inDashboard(
    async (screen) => {
      await screen.press("5");
      await screen.sees("❯ + cleanup");
      expect(screen.rows()[0]).toBe("Tasks");
      await screen.press("qq");
    },
    { columns: 20, rows: 5 },
  );
});

test("without a terminal it prints a line for each section, and why one cannot be read", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon(croft());
  await signIn(home.path, { url: daemon.url, forgeToken: "t", vault: {} });
  const { code, out } = await runCli(["dashboard", "--json"], { home: home.path });
  expect(code).toBe(0);
  expect(JSON.parse(out)).toHaveLength(9);
  expect(JSON.parse(out)).toContainEqual({
    area: "Users",
    state: "unknown",
    tone: "idle",
    error: "Administrators only.",
  });
  expect(JSON.parse(out)).toContainEqual({
    area: "Accounts",
    state: "2 accounts",
    tone: "good",
    error: null,
  });
});
