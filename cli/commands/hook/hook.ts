import { toChoice } from "../../support/flag-values.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { type RepositoryName, repositoryArgument } from "../../support/repository.ts";
import { command } from "../../tree/command.ts";
import { type Entry, noun } from "../../tree/entry.ts";
import {
  type HookScope,
  hookOperations,
  deliveryColumns,
  deliveryDetailsColumns,
  hookColumns,
} from "./hook-operations.ts";
import {
  assertHookEdit,
  hookEditFlags,
  hookFlags,
  newHookFlags,
  readHookEdit,
  toNewHook,
} from "./hook-flags.ts";

/** The owner of a command's hooks; empty for those of the whole forge and the caller's own. */
interface Place {
  readonly repository?: RepositoryName;
  readonly organization?: string;
}

/** The argument that names the repository or the organization, where hooks belong to one. */
const placeArguments: Readonly<
  Record<HookScope, Partial<typeof repositoryArgument> & { readonly "<organization>"?: string }>
> = {
  site: {},
  own: {},
  organization: { "<organization>": "the organization" },
  repository: repositoryArgument,
};

const testHook = command("test", "Send a test delivery for the latest commit", {
  args: { ...repositoryArgument, "<hook>": "the hook's id" },
  flags: {
    "--ref <name>": "the branch whose latest commit is sent; the default branch otherwise",
  },
  calls: [forge.testRepositoryHook],
  output: shape({ asked: "boolean", full_name: "string", id: "string" }),
  examples: [
    ["Send a test delivery", "croft repo hook test keeper/notes 3"],
    [
      "Send one for the latest commit of a branch",
      "croft repo hook test keeper/notes 3 --ref feature",
    ],
  ],
  /** Requests a test delivery; its result is listed among the hook's deliveries. */
  async run(cli, { repository, hook: id, ref }) {
    await cli.client.call(forge.testRepositoryHook, {
      params: { ...repository, id },
      query: { ref },
    });
    const fullName = toFullName(repository);
    await cli.output.done(
      { asked: true, full_name: fullName, id },
      `Requested a delivery to the hook ${id}; see: croft repo hook delivery list ${fullName} ${id}`,
    );
  },
});

/** The commands on the hooks of one scope; all scopes take the same flags and print the same resources. */
function toEntries(scope: HookScope): readonly Entry[] {
  const operations = hookOperations[scope];
  const hookArguments = { ...placeArguments[scope], "<hook>": "the hook's id" } as const;
  const deliveryArguments = { ...hookArguments, "<delivery>": "the delivery's id" } as const;
  const isSite = scope === "site";
  const typeFlag: { readonly "--type <type>"?: string } = isSite
    ? { "--type <type>": "system, default or all; system by default" }
    : {};
  const defaultFlag: { readonly "--default"?: string } = isSite
    ? { "--default": "copy it into each new repository instead of firing for all" }
    : {};
  return [
    command("list", "List hooks", {
      aliases: ["ls"],
      args: placeArguments[scope],
      flags: typeFlag,
      calls: [operations.list],
      output: listOf(operations.list),
      examples: [
        ["List the hooks of the system", "croft admin hook list"],
        ["List all hooks as JSON", "croft admin hook list --type all --json"],
        ["List the hooks of an organization", "croft org hook list guild"],
        ["Print their addresses", "croft org hook list guild --jq '.[].config.url'"],
        ["List the hooks of your own repositories", "croft account hook list"],
        ["Print their addresses", "croft account hook list --jq '.[].config.url'"],
        ["List the hooks of a repository", "croft repo hook list keeper/notes"],
        ["Print their addresses", "croft repo hook list keeper/notes --jq '.[].config.url'"],
      ],
      async run(cli, { type, ...place }) {
        // The server reads any other word as `system`.
        if (type !== undefined) toChoice("--type", ["system", "default", "all"], type);
        const pages = forgePages(cli.client, operations.list, {
          params: toParams(place),
          query: { type },
        });
        await cli.output.list(pages, hookColumns);
      },
    }),
    command("view", "Show a hook", {
      args: hookArguments,
      calls: [operations.get],
      output: resourceOf(operations.get),
      examples: [
        ["Show a hook", "croft admin hook view 3"],
        ["Print its events", "croft admin hook view 3 --jq '.events | join(\",\")'"],
        ["Show a hook", "croft org hook view guild 3"],
        ["Print its events", "croft org hook view guild 3 --jq '.events | join(\",\")'"],
        ["Show a hook", "croft account hook view 3"],
        ["Print its events", "croft account hook view 3 --jq '.events | join(\",\")'"],
        ["Show a hook", "croft repo hook view keeper/notes 3"],
        ["Print its events", "croft repo hook view keeper/notes 3 --jq '.events | join(\",\")'"],
      ],
      async run(cli, { hook: id, ...place }) {
        const params = { ...toParams(place), id };
        const { body } = await cli.client.call(operations.get, { params });
        await cli.output.resource(body, hookColumns);
      },
    }),
    command("create", "Create a hook", {
      args: { ...placeArguments[scope], "<url>": "the URL that deliveries are sent to" },
      flags: {
        ...hookFlags,
        ...newHookFlags,
        ...defaultFlag,
      },
      calls: [operations.create],
      output: resourceOf(operations.create, 201),
      examples: [
        [
          "Deliver every push of every repository",
          "croft admin hook create https://ci.example.org/hook --event push",
        ],
        [
          "Sign deliveries with a secret",
          "croft admin hook create https://ci.example.org/hook --secret-stdin < secret.txt",
        ],
        ["Deliver pushes", "croft org hook create guild https://ci.example.org/hook --event push"],
        [
          "Deliver ends of workflow runs",
          "croft org hook create guild https://ci.example.org/hook --event workflow_run",
        ],
        ["Deliver pushes", "croft account hook create https://ci.example.org/hook --event push"],
        [
          "Deliver ends of workflow runs",
          "croft account hook create https://ci.example.org/hook --event workflow_run",
        ],
        [
          "Deliver pushes",
          "croft repo hook create keeper/notes https://ci.example.org/hook --event push",
        ],
        [
          "Post to a Slack channel",
          "croft repo hook create keeper/notes https://hooks.example.org/T0 --type slack --channel '#builds'",
        ],
      ],
      async run(cli, { url, ...options }) {
        const made = await toNewHook(cli, options, url);
        const kind = isSite ? { is_system_webhook: String(options.default !== true) } : {};
        const { body } = await cli.client.call(operations.create, {
          params: toParams(options),
          body: { ...made, config: { ...made.config, ...kind } },
        });
        await cli.output.resource(body, hookColumns);
      },
    }),
    command("edit", "Edit a hook", {
      args: hookArguments,
      flags: { ...hookFlags, ...hookEditFlags },
      calls: [operations.edit, operations.get],
      output: resourceOf(operations.edit),
      examples: [
        [
          "Deliver to another address",
          "croft admin hook edit 3 --target https://ci.example.org/new",
        ],
        ["Stop deliveries", "croft admin hook edit 3 --active false"],
        [
          "Deliver to another address",
          "croft org hook edit guild 3 --target https://ci.example.org/new",
        ],
        ["Stop deliveries", "croft org hook edit guild 3 --active false"],
        [
          "Deliver to another address",
          "croft account hook edit 3 --target https://ci.example.org/new",
        ],
        ["Stop deliveries", "croft account hook edit 3 --active false"],
        [
          "Deliver only pushes to release branches",
          "croft repo hook edit keeper/notes 3 --branch-filter 'release/*'",
        ],
        ["Stop deliveries", "croft repo hook edit keeper/notes 3 --active false"],
      ],
      /** Changes a hook. Secret and type cannot change; settings without a flag keep their values. */
      async run(cli, { hook: id, ...options }) {
        const { repository: _repository, organization: _organization, ...flags } = options;
        assertHookEdit(flags, cli.flags.url);
        const params = { ...toParams(options), id };
        const change = await readHookEdit(cli, flags, async () => {
          const { body } = await cli.client.call(operations.get, { params });
          return body;
        });
        const { body } = await cli.client.call(operations.edit, { params, ...change });
        await cli.output.resource(body, hookColumns);
      },
    }),
    command("delete", "Delete a hook", {
      aliases: ["rm"],
      args: hookArguments,
      calls: [operations.remove],
      output: shape({ deleted: "boolean", ...toPlaceShape(scope), id: "string" }),
      destructive: true,
      examples: [
        ["Delete a hook", "croft admin hook delete 3 --yes"],
        ["Show the request only", "croft admin hook delete 3 --dry-run"],
        ["Delete a hook", "croft org hook delete guild 3 --yes"],
        ["Show the request only", "croft org hook delete guild 3 --dry-run"],
        ["Delete a hook", "croft account hook delete 3 --yes"],
        ["Show the request only", "croft account hook delete 3 --dry-run"],
        ["Delete a hook", "croft repo hook delete keeper/notes 3 --yes"],
        ["Show the request only", "croft repo hook delete keeper/notes 3 --dry-run"],
      ],
      /** Deletes a hook with its deliveries. Copies of a default hook stay in their repositories. */
      async run(cli, { hook: id, ...of }) {
        const place = of.organization ?? (of.repository && toFullName(of.repository));
        const label = place === undefined ? `the hook ${id}` : `the hook ${id} of ${place}`;
        await cli.prompts.confirm(`Delete ${label} and its deliveries?`);
        await cli.client.call(operations.remove, { params: { ...toParams(of), id } });
        const names = Object.fromEntries(
          Object.keys(toPlaceShape(scope)).map((key) => [key, place]),
        );
        await cli.output.done({ deleted: true, ...names, id }, `Deleted ${label}.`);
      },
    }),
    ...(scope === "repository" ? [testHook] : []),
    noun("delivery", "Deliveries of hooks", [
      command("list", "List the deliveries of a hook", {
        aliases: ["ls"],
        args: hookArguments,
        flags: { "--state <state>": "only deliveries that are waiting, delivered or failed" },
        calls: [operations.listDeliveries],
        output: listOf(operations.listDeliveries),
        examples: [
          ["List the deliveries of a hook", "croft admin hook delivery list 3"],
          ["List the failed ones", "croft admin hook delivery list 3 --state failed"],
          ["List the deliveries of a hook", "croft org hook delivery list guild 3"],
          ["List the failed ones", "croft org hook delivery list guild 3 --state failed"],
          ["List the deliveries of a hook", "croft account hook delivery list 3"],
          ["List the failed ones", "croft account hook delivery list 3 --state failed"],
          ["List the deliveries of a hook", "croft repo hook delivery list keeper/notes 3"],
          ["List the failed ones", "croft repo hook delivery list keeper/notes 3 --state failed"],
        ],
        async run(cli, { hook: id, state, ...place }) {
          // The server ignores any other word and would return every delivery.
          if (state !== undefined) toChoice("--state", ["waiting", "delivered", "failed"], state);
          const pages = forgePages(cli.client, operations.listDeliveries, {
            params: { ...toParams(place), id },
            query: { state },
          });
          await cli.output.list(pages, deliveryColumns);
        },
      }),
      command("view", "Show a delivery with its request and response", {
        args: deliveryArguments,
        calls: [operations.getDelivery],
        output: resourceOf(operations.getDelivery),
        examples: [
          ["Show a delivery", "croft admin hook delivery view 3 12"],
          ["Print its request and response as JSON", "croft admin hook delivery view 3 12 --json"],
          ["Show a delivery", "croft org hook delivery view guild 3 12"],
          ["Print it as JSON", "croft org hook delivery view guild 3 12 --json"],
          ["Show a delivery", "croft account hook delivery view 3 12"],
          ["Print it as JSON", "croft account hook delivery view 3 12 --json"],
          ["Show a delivery", "croft repo hook delivery view keeper/notes 3 12"],
          ["Print it as JSON", "croft repo hook delivery view keeper/notes 3 12 --json"],
        ],
        async run(cli, { hook: id, delivery, ...place }) {
          const params = { ...toParams(place), id, delivery_id: delivery };
          const { body } = await cli.client.call(operations.getDelivery, { params });
          await cli.output.resource(body, deliveryDetailsColumns);
        },
      }),
      command("redeliver", "Send a delivery again", {
        args: deliveryArguments,
        calls: [operations.redeliver],
        output: resourceOf(operations.redeliver, 201),
        examples: [
          ["Send a delivery again", "croft admin hook delivery redeliver 3 12"],
          ["Show the request only", "croft admin hook delivery redeliver 3 12 --dry-run"],
          ["Send a delivery again", "croft org hook delivery redeliver guild 3 12"],
          ["Show the request only", "croft org hook delivery redeliver guild 3 12 --dry-run"],
          ["Send a delivery again", "croft account hook delivery redeliver 3 12"],
          ["Show the request only", "croft account hook delivery redeliver 3 12 --dry-run"],
          ["Send a delivery again", "croft repo hook delivery redeliver keeper/notes 3 12"],
          [
            "Show the request only",
            "croft repo hook delivery redeliver keeper/notes 3 12 --dry-run",
          ],
        ],
        async run(cli, { hook: id, delivery, ...place }) {
          const params = { ...toParams(place), id, delivery_id: delivery };
          const { body } = await cli.client.call(operations.redeliver, { params });
          await cli.output.resource(body, deliveryColumns);
        },
      }),
    ]),
  ];
}

/** Missing names become empty: the path of the scope has no place for them. */
function toParams({ repository, organization = "" }: Place) {
  return { owner: "", repo: "", ...repository, org: organization };
}

/** The member of the output that names the place of a deleted hook. */
function toPlaceShape(scope: HookScope): Readonly<Record<string, "string">> {
  if (scope === "repository") return { full_name: "string" };
  return scope === "organization" ? { organization: "string" } : {};
}

function toFullName({ owner, repo }: RepositoryName): string {
  return `${owner}/${repo}`;
}

/** `croft admin hook`. */
export const siteEntries: readonly Entry[] = toEntries("site");

/** `croft org hook`. */
export const organizationEntries: readonly Entry[] = toEntries("organization");

/** `croft account hook`. */
export const ownEntries: readonly Entry[] = toEntries("own");

/** `croft repo hook`. */
export const repositoryEntries: readonly Entry[] = toEntries("repository");
