import type {
  WirePullMirror,
  WirePushMirror,
} from "../../daemon/contract/forge/repositories/mirrors.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import { type Column, time } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { repositoryArgument } from "../support/repository.ts";
import { readSecret } from "../support/secrets.ts";
import { command } from "../tree/command.ts";
import type { Entry } from "../tree/entry.ts";

const nameArgument = { "<mirror>": "the name of the push mirror" } as const;

export const entries: readonly Entry[] = [
  command("list", "List the servers to which a repository is pushed", {
    aliases: ["ls"],
    args: repositoryArgument,
    calls: [forge.listPushMirrors],
    output: listOf(forge.listPushMirrors),
    examples: [
      ["List the push mirrors of a repository", "croft repo mirror list keeper/notes"],
      ["Print their errors", "croft repo mirror list keeper/notes --jq '.[].last_error'"],
    ],
    async run(cli, { repository: params }) {
      const pages = forgePages(cli.client, forge.listPushMirrors, { params });
      await cli.output.list(pages, pushColumns);
    },
  }),
  command("view", "Show the source of a mirror, or a push mirror", {
    args: { ...repositoryArgument, "[mirror]": "the name of a push mirror" },
    calls: [forge.getPullMirror, forge.getPushMirror],
    output: resourceOf(forge.getPullMirror),
    examples: [
      ["Show what a mirror follows, and its last error", "croft repo mirror view keeper/notes"],
      ["Show a push mirror", "croft repo mirror view keeper/notes remote_mirror_0a1b2c3d4e"],
    ],
    async run(cli, { repository, mirror: name }) {
      if (name === undefined) {
        const { body } = await cli.client.call(forge.getPullMirror, { params: repository });
        return cli.output.resource(body, pullLines);
      }
      const params = { ...repository, name };
      const { body } = await cli.client.call(forge.getPushMirror, { params });
      return cli.output.resource(body, pushColumns);
    },
  }),
  command("add", "Push a repository to another server, again and again", {
    args: { ...repositoryArgument, "<address>": "the address of the repository there" },
    flags: {
      "--interval <duration>": "how often, such as 8h0m0s; 0 for never",
      "--on-push": "also after each push",
      "--username <name>": "the name with which croft signs in there",
      "--password-stdin": "read the password or token of that name from standard input",
    },
    calls: [forge.addPushMirror],
    output: resourceOf(forge.addPushMirror),
    examples: [
      [
        "Push to another server after each push",
        "croft repo mirror add keeper/notes https://example.org/mira/notes.git --on-push --username mira --password-stdin < token.txt",
      ],
      [
        "Push every hour",
        "croft repo mirror add keeper/notes http://backup.example.org/notes.git --interval 1h0m0s",
      ],
    ],
    async run(cli, { repository: params, address, interval, onPush, username, passwordStdin }) {
      const password =
        passwordStdin === true
          ? await readSecret(cli, { fromInput: true, question: "", flag: "--password-stdin" })
          : undefined;
      const body = {
        remote_address: address,
        remote_username: username,
        remote_password: password,
        interval,
        sync_on_commit: onPush,
      };
      const { body: mirror } = await cli.client.call(forge.addPushMirror, { params, body });
      await cli.output.resource(mirror, pushColumns);
    },
  }),
  command("sync", "Synchronize a mirror now, or the push mirrors of a repository", {
    args: repositoryArgument,
    flags: { "--push": "push to all push mirrors" },
    calls: [forge.syncMirror, forge.syncPushMirrors],
    output: shape({ queued: "boolean", full_name: "string" }),
    examples: [
      ["Fetch what is new at the source of a mirror", "croft repo mirror sync keeper/notes"],
      ["Push to all push mirrors", "croft repo mirror sync keeper/notes --push"],
    ],
    /** Asks for it; the daemon does it in the background. */
    async run(cli, { repository: params, push = false }) {
      const name = `${params.owner}/${params.repo}`;
      await cli.client.call(push ? forge.syncPushMirrors : forge.syncMirror, { params });
      await cli.output.done(
        { queued: true, full_name: name },
        `${name} is synchronized soon; "croft repo mirror ${push ? "list" : "view"} ${name}" shows the result.`,
      );
    },
  }),
  command("remove", "Remove a push mirror", {
    aliases: ["rm"],
    args: { ...repositoryArgument, ...nameArgument },
    calls: [forge.deletePushMirror],
    output: shape({ deleted: "boolean", remote_name: "string" }),
    destructive: true,
    examples: [
      [
        "Push no longer to a server",
        "croft repo mirror remove keeper/notes remote_mirror_0a1b2c3d4e --yes",
      ],
      [
        "Show the request only",
        "croft repo mirror remove keeper/notes remote_mirror_0a1b2c3d4e --dry-run",
      ],
    ],
    async run(cli, { repository, mirror: name }) {
      const full = `${repository.owner}/${repository.repo}`;
      await cli.prompts.confirm(`Remove the push mirror ${name} of ${full}?`);
      await cli.client.call(forge.deletePushMirror, { params: { ...repository, name } });
      await cli.output.done({ deleted: true, remote_name: name }, `Removed ${name}.`);
    },
  }),
  command("stop", "Make a mirror a normal repository that takes pushes", {
    args: repositoryArgument,
    calls: [forge.deletePullMirror],
    output: shape({ stopped: "boolean", full_name: "string" }),
    destructive: true,
    examples: [
      ["Follow the source no longer", "croft repo mirror stop keeper/notes --yes"],
      ["Show the request only", "croft repo mirror stop keeper/notes --dry-run"],
    ],
    async run(cli, { repository: params }) {
      const name = `${params.owner}/${params.repo}`;
      await cli.prompts.confirm(
        `Make ${name} a normal repository that follows its source no longer?`,
      );
      await cli.client.call(forge.deletePullMirror, { params });
      await cli.output.done({ stopped: true, full_name: name }, `${name} is a normal repository.`);
    },
  }),
];

const pushColumns: readonly Column<WirePushMirror>[] = [
  { header: "name", cell: ({ remote_name: name }) => name },
  { header: "address", cell: ({ remote_address: address }) => address },
  { header: "interval", cell: ({ interval }) => interval },
  { header: "on push", cell: ({ sync_on_commit: onPush }) => onPush },
  { header: "pushed", cell: ({ last_update: at }) => (at === null ? undefined : time(at)) },
  { header: "error", cell: ({ last_error: error }) => error },
];

const pullLines: readonly Column<WirePullMirror>[] = [
  { header: "address", cell: ({ remote_address: address }) => address },
  { header: "interval", cell: ({ interval }) => interval },
  { header: "compared", cell: ({ last_sync_at: at }) => (at === null ? undefined : time(at)) },
  { header: "changed", cell: ({ updated_at: at }) => (at === null ? undefined : time(at)) },
  { header: "next", cell: ({ next_sync_at: at }) => (at === null ? undefined : time(at)) },
  { header: "failures", cell: ({ failures }) => failures },
  { header: "error", cell: ({ last_error: error }) => error },
];
