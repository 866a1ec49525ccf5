import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { listOf, resourceOf } from "../../output/spec.ts";
import { dependencyColumns, issueLines } from "../../support/issues.ts";
import { type IssueName, toIssueName, issueArgument } from "../../support/repository.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

const otherArgument = {
  "<other>": "the issue that must be closed first: its number, or OWNER/NAME#NUMBER",
} as const;

export const entries: readonly Entry[] = [
  command("list", "List the issues that an issue depends on, or that depend on it", {
    aliases: ["ls"],
    args: issueArgument,
    flags: { "--blocked": "list the issues that depend on this one" },
    calls: [forge.listIssueDependencies, forge.listBlockedIssues],
    output: listOf(forge.listIssueDependencies),
    examples: [
      ["List what an issue waits for", "croft issue dependency list keeper/notes#7"],
      ["List the issues that wait for it", "croft issue dependency list keeper/notes#7 --blocked"],
    ],
    /** Prints the dependencies of an issue. */
    async run(cli, { issue: params, blocked = false }) {
      const pages = blocked
        ? forgePages(cli.client, forge.listBlockedIssues, { params })
        : forgePages(cli.client, forge.listIssueDependencies, { params });
      await cli.output.list(pages, dependencyColumns);
    },
  }),
  command("add", "Make an issue depend on another one", {
    args: { ...issueArgument, ...otherArgument },
    calls: [forge.addIssueDependency],
    output: resourceOf(forge.addIssueDependency, 201),
    examples: [
      ["Make an issue depend on another one", "croft issue dependency add keeper/notes#7 8"],
      [
        "Let it wait for an issue of another repository",
        "croft issue dependency add keeper/notes#7 acme/tools#3",
      ],
    ],
    /** Makes an issue depend on another one, and prints it. */
    async run(cli, { issue: params, other: otherWord }) {
      const other = toOther(params, otherWord);
      const { body } = await cli.client.call(forge.addIssueDependency, {
        params,
        body: toBody(other),
      });
      await cli.output.resource(body, issueLines);
    },
  }),
  command("remove", "Remove a dependency of an issue", {
    aliases: ["rm"],
    args: { ...issueArgument, ...otherArgument },
    calls: [forge.removeIssueDependency],
    output: resourceOf(forge.removeIssueDependency, 201),
    destructive: false,
    examples: [
      ["Remove a dependency", "croft issue dependency remove keeper/notes#7 8"],
      [
        "Show the request only",
        "croft issue dependency remove keeper/notes#7 acme/tools#3 --dry-run",
      ],
    ],
    /** Removes a dependency of an issue, and prints the issue. */
    async run(cli, { issue: params, other }) {
      const body = toBody(toOther(params, other));
      const { body: issue } = await cli.client.call(forge.removeIssueDependency, { params, body });
      await cli.output.resource(issue, issueLines);
    },
  }),
];

/** The other issue may be a number in the same repository. @throws CliError `usage` */
function toOther({ owner, repo }: IssueName, other: string): IssueName {
  const isNumber = /^#?\d+$/.test(other);
  return toIssueName(isNumber ? `${owner}/${repo}#${other.replace("#", "")}` : other);
}

const toBody = ({ owner, repo, index }: IssueName) => ({ owner, repo, index: Number(index) });
