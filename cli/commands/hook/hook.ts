import type { Command } from "commander";
import { toChoice } from "../../support/flag-values.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { type RepositoryName, toRepositoryName } from "../../support/repository.ts";
import { type CommandModule, type Entry, noun, verb } from "../../tree/entry.ts";
import {
  type HookScope,
  hookOperations,
  deliveryColumns,
  deliveryDetailsColumns,
  hookColumns,
} from "./hook-operations.ts";
import {
  addHookEditFlags,
  addHookFlags,
  addNewHookFlags,
  assertHookEdit,
  type HookEditFlags,
  type NewHookFlags,
  readHookEdit,
  toNewHook,
} from "./hook-flags.ts";

/** The owner of a command's hooks; empty for those of the whole forge and the caller's own. */
type Place = Partial<RepositoryName & { readonly org: string }>;

interface HookOptions extends Place {
  readonly id: string;
}

interface DeliveryOptions extends HookOptions {
  readonly deliveryId: string;
}

interface HookCreateOptions extends NewHookFlags, Place {
  /** The URL that deliveries are sent to. */
  readonly target: string;
  /** Copied into each new repository instead of firing for all. */
  readonly default?: true;
}

/** The commands on the hooks of one scope; all scopes take the same flags and print the same resources. */
export function createHookCommands(scope: HookScope) {
  const operations = hookOperations[scope];
  const hookArgument = (command: Command) =>
    addPlace(command, scope).argument("<hook>", "the hook's id");
  const deliveryArguments = (command: Command) =>
    hookArgument(command).argument("<delivery>", "the delivery's id");

  const list = {
    operations: [operations.list],
    output: listOf(operations.list),
    define(command, cli, run = runList): void {
      addPlace(command, scope);
      if (scope === "site")
        command.option("--type <type>", "system, default or all; system by default");
      onAction<{ readonly type?: string }>(command, scope, (place, _, flags) =>
        run(cli, { ...place, ...flags }),
      );
    },
  } satisfies CommandModule;

  async function runList(cli: CliContext, options: Place & { readonly type?: string }) {
    const { type, ...place } = options;
    // The server reads any other word as `system`.
    if (type !== undefined) toChoice("--type", ["system", "default", "all"], type);
    const pages = forgePages(cli.client, operations.list, {
      params: toParams(place),
      query: { type },
    });
    await cli.output.list(pages, hookColumns);
  }

  const view = {
    operations: [operations.get],
    output: resourceOf(operations.get),
    define(command, cli, run = runView): void {
      onAction(hookArgument(command), scope, (place, [id = ""]) => run(cli, { ...place, id }));
    },
  } satisfies CommandModule;

  async function runView(cli: CliContext, params: HookOptions): Promise<void> {
    const { body } = await cli.client.call(operations.get, { params: { ...params } });
    await cli.output.resource(body, hookColumns);
  }

  const create = {
    operations: [operations.create],
    output: resourceOf(operations.create, 201),
    define(command, cli, run = runCreate): void {
      addPlace(command, scope).argument("<url>", "the URL that deliveries are sent to");
      addNewHookFlags(addHookFlags(command));
      if (scope === "site")
        command.option("--default", "copy it into each new repository instead of firing for all");
      onAction<NewHookFlags>(command, scope, (place, [target = ""], flags) =>
        run(cli, { ...flags, ...place, target }),
      );
    },
  } satisfies CommandModule;

  async function runCreate(cli: CliContext, options: HookCreateOptions): Promise<void> {
    const made = await toNewHook(cli, options, options.target);
    const kind = scope === "site" ? { is_system_webhook: String(options.default !== true) } : {};
    const { body } = await cli.client.call(operations.create, {
      params: toParams(options),
      body: { ...made, config: { ...made.config, ...kind } },
    });
    await cli.output.resource(body, hookColumns);
  }

  const edit = {
    operations: [operations.edit, operations.get],
    output: resourceOf(operations.edit),
    define(command, cli, run = runEdit): void {
      addHookEditFlags(addHookFlags(hookArgument(command)));
      onAction<HookEditFlags>(command, scope, (place, [id = ""], flags) => {
        assertHookEdit(flags);
        return run(cli, { ...flags, ...place, id });
      });
    },
  } satisfies CommandModule;

  /** Changes a hook. Secret and type cannot change; settings without a flag keep their values. */
  async function runEdit(cli: CliContext, options: HookOptions & HookEditFlags): Promise<void> {
    const { id } = options;
    const params = { ...toParams(options), id };
    const change = await readHookEdit(cli, options, async () => {
      const { body } = await cli.client.call(operations.get, { params });
      return body;
    });
    const { body } = await cli.client.call(operations.edit, { params, ...change });
    await cli.output.resource(body, hookColumns);
  }

  const remove = {
    operations: [operations.remove],
    output: shape({
      deleted: "boolean",
      ...toPlaceShape(scope),
      id: "string",
    }),
    destructive: true,
    define(command, cli, run = runRemove): void {
      onAction(hookArgument(command), scope, (place, [id = ""]) => run(cli, { ...place, id }));
    },
  } satisfies CommandModule;

  /** Deletes a hook with its deliveries. Copies of a default hook stay in their repositories. */
  async function runRemove(cli: CliContext, params: HookOptions): Promise<void> {
    const { id } = params;
    const place = params.org ?? (scope === "repository" ? toFullName(params) : undefined);
    const label = place === undefined ? `the hook ${id}` : `the hook ${id} of ${place}`;
    await cli.prompts.confirm(`Delete ${label} and its deliveries?`);
    await cli.client.call(operations.remove, { params: { ...params } });
    const names = Object.fromEntries(Object.keys(toPlaceShape(scope)).map((key) => [key, place]));
    await cli.output.done({ deleted: true, ...names, id }, `Deleted ${label}.`);
  }

  const listDeliveries = {
    operations: [operations.listDeliveries],
    output: listOf(operations.listDeliveries),
    define(command, cli, run = runListDeliveries): void {
      hookArgument(command).option(
        "--state <state>",
        "only deliveries that are waiting, delivered or failed",
      );
      onAction<{ readonly state?: string }>(command, scope, (place, [id = ""], flags) =>
        run(cli, { ...place, id, ...flags }),
      );
    },
  } satisfies CommandModule;

  async function runListDeliveries(
    cli: CliContext,
    { state, ...params }: HookOptions & { readonly state?: string },
  ): Promise<void> {
    // The server ignores any other word and would return every delivery.
    if (state !== undefined) toChoice("--state", ["waiting", "delivered", "failed"], state);
    const pages = forgePages(cli.client, operations.listDeliveries, { params, query: { state } });
    await cli.output.list(pages, deliveryColumns);
  }

  const viewDelivery = {
    operations: [operations.getDelivery],
    output: resourceOf(operations.getDelivery),
    define(command, cli, run = runViewDelivery): void {
      onAction(deliveryArguments(command), scope, (place, [id = "", deliveryId = ""]) =>
        run(cli, { ...place, id, deliveryId }),
      );
    },
  } satisfies CommandModule;

  async function runViewDelivery(cli: CliContext, options: DeliveryOptions): Promise<void> {
    const { deliveryId, ...hook } = options;
    const params = { ...hook, delivery_id: deliveryId };
    const { body } = await cli.client.call(operations.getDelivery, { params });
    await cli.output.resource(body, deliveryDetailsColumns);
  }

  const redeliver = {
    operations: [operations.redeliver],
    output: resourceOf(operations.redeliver, 201),
    define(command, cli, run = runRedeliver): void {
      onAction(deliveryArguments(command), scope, (place, [id = "", deliveryId = ""]) =>
        run(cli, { ...place, id, deliveryId }),
      );
    },
  } satisfies CommandModule;

  async function runRedeliver(cli: CliContext, options: DeliveryOptions): Promise<void> {
    const { deliveryId, ...hook } = options;
    const params = { ...hook, delivery_id: deliveryId };
    const { body } = await cli.client.call(operations.redeliver, { params });
    await cli.output.resource(body, deliveryColumns);
  }

  return { list, view, create, edit, remove, listDeliveries, viewDelivery, redeliver };
}

export const testHook = {
  operations: [forge.testRepositoryHook],
  output: shape({ asked: "boolean", full_name: "string", id: "string" }),
  define(command, cli, run = runTest): void {
    addPlace(command, "repository")
      .argument("<hook>", "the hook's id")
      .option(
        "--ref <name>",
        "the branch whose latest commit is sent; the default branch otherwise",
      );
    onAction<{ readonly ref?: string }>(command, "repository", (place, [id = ""], flags) =>
      run(cli, { ...place, id, ...flags }),
    );
  },
} satisfies CommandModule;

/** Requests a test delivery; its result is listed among the hook's deliveries. */
async function runTest(
  cli: CliContext,
  { ref, ...hook }: HookOptions & { readonly ref?: string },
): Promise<void> {
  const { owner = "", repo = "", id } = hook;
  await cli.client.call(forge.testRepositoryHook, { params: { owner, repo, id }, query: { ref } });
  const fullName = toFullName(hook);
  await cli.output.done(
    { asked: true, full_name: fullName, id },
    `Requested a delivery to the hook ${id}; see: croft repo hook delivery list ${fullName} ${id}`,
  );
}

/** Missing names become empty: the path of the scope has no place for them. */
function toParams({ owner = "", repo = "", org = "" }: Place): Required<Place> {
  return { owner, repo, org };
}

/** The member of the output that names the place of a deleted hook. */
function toPlaceShape(scope: HookScope): Readonly<Record<string, "string">> {
  if (scope === "repository") return { full_name: "string" };
  return scope === "organization" ? { organization: "string" } : {};
}

function toFullName({ owner, repo }: Place): string {
  return `${owner}/${repo}`;
}

/** Adds the argument that names the repository or the organization, where hooks belong to one. */
function addPlace(command: Command, scope: HookScope): Command {
  if (scope === "organization") return command.argument("<organization>", "the organization");
  return scope === "repository"
    ? command.argument("<repository>", "the repository as OWNER/NAME")
    : command;
}

/**
 * Sets the action of a command. `act` receives the place, the arguments after the place, and the command's own flags.
 */
function onAction<Flags>(
  command: Command,
  scope: HookScope,
  act: (place: Place, words: readonly string[], flags: Flags) => Promise<void>,
): void {
  // commander passes the arguments, the flags and the command.
  command.action((...values: readonly unknown[]) => {
    const words = values.slice(0, -2) as readonly string[];
    const flags = values.at(-2) as Flags;
    if (scope === "site" || scope === "own") return act({}, words, flags);
    const [name = "", ...rest] = words;
    return act(scope === "organization" ? { org: name } : toRepositoryName(name), rest, flags);
  });
}

const site = createHookCommands("site");
const repository = createHookCommands("repository");
const organization = createHookCommands("organization");
const own = createHookCommands("own");

function toEntries(commands: ReturnType<typeof createHookCommands>): readonly Entry[] {
  return [
    verb("list", "List hooks", () => commands.list, { aliases: ["ls"] }),
    verb("view", "Show a hook", () => commands.view),
    verb("create", "Create a hook", () => commands.create),
    verb("edit", "Edit a hook", () => commands.edit),
    verb("delete", "Delete a hook", () => commands.remove, { aliases: ["rm"] }),
    noun("delivery", "Deliveries of hooks", [
      verb("list", "List the deliveries of a hook", () => commands.listDeliveries, {
        aliases: ["ls"],
      }),
      verb("view", "Show a delivery with its request and response", () => commands.viewDelivery),
      verb("redeliver", "Send a delivery again", () => commands.redeliver),
    ]),
  ];
}

/** `croft admin hook`. */
export const siteEntries: readonly Entry[] = toEntries(site);

/** `croft org hook`. */
export const organizationEntries: readonly Entry[] = toEntries(organization);

/** `croft account hook`. */
export const ownEntries: readonly Entry[] = toEntries(own);

/** `croft repo hook`. */
export const repositoryEntries: readonly Entry[] = toEntries(repository).toSpliced(
  -1,
  0,
  verb("test", "Send a test delivery for the latest commit", () => testHook),
);
