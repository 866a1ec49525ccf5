import { toChoice } from "../support/flag-values.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { scopeWords } from "../../daemon/contract/forge/token-scopes.ts";
import { findOwner, tokenColumns, ownerFlags } from "../support/token-owner.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List your forge access tokens", {
    aliases: ["ls"],
    flags: ownerFlags,
    calls: [forge.listTokens, forge.getCurrentUser],
    output: listOf(forge.listTokens),
    examples: [
      ["List your access tokens", "croft token list"],
      [
        "Print name and scopes",
        'croft token list --jq \'.[] | "\\(.name) \\(.scopes | join(","))"\'',
      ],
    ],
    /** Prints access tokens, newest first. */
    async run(cli, flags) {
      const { username, authorization } = await findOwner(cli, flags);
      const pages = forgePages(
        cli.client,
        forge.listTokens,
        { params: { username } },
        { authorization },
      );
      await cli.output.list(pages, tokenColumns);
    },
  }),
  command("create", "Create a forge access token", {
    args: { "<name>": "a name for the token" },
    flags: {
      ...ownerFlags,
      "--scope <scope...>": {
        help: "its permissions: all, or read:CATEGORY and write:CATEGORY",
        required: true,
      },
    },
    calls: [forge.createToken, forge.getCurrentUser],
    output: resourceOf(forge.createToken, 201),
    examples: [
      [
        "Create a token that reads repositories",
        "croft token create backup --scope read:repository",
      ],
      ["Print the token only", "croft token create ci --scope write:repository --jq .sha1"],
    ],
    /** Creates an access token and prints its secret, which is never shown again. */
    async run(cli, options) {
      const { name, scope } = options;
      const scopes = scope.flatMap((value) => value.split(",")).map((one) => one.trim());
      for (const word of scopes) if (word !== "") toChoice("--scope", scopeWords, word);
      const { username, authorization } = await findOwner(cli, options);
      const input = { params: { username }, body: { name, scopes } };
      const { body } = await cli.client.call(forge.createToken, input, { authorization });
      // The response has no times yet.
      await cli.output.resource(body, [
        { header: "token", cell: ({ sha1 }) => sha1 },
        ...tokenColumns.filter(({ header }) => !timeColumns.has(header)),
      ]);
    },
  }),
  command("delete", "Delete a forge access token", {
    aliases: ["rm"],
    args: { "<token>": "the token's id or name" },
    flags: ownerFlags,
    calls: [forge.deleteToken, forge.getCurrentUser],
    output: shape({ deleted: "boolean", username: "string", token: "string" }),
    destructive: true,
    examples: [
      ["Delete a token by its name", "croft token delete backup --yes"],
      ["Show the request only", "croft token delete 7 --dry-run"],
    ],
    /** Deletes an access token; its users are signed out at once. */
    async run(cli, options) {
      const { token } = options;
      await cli.prompts.confirm(`Delete the token ${token}?`);
      const { username, authorization } = await findOwner(cli, options);
      await cli.client.call(forge.deleteToken, { params: { username, token } }, { authorization });
      await cli.output.done(
        { deleted: true, username, token },
        `Deleted the token ${token} of ${username}.`,
      );
    },
  }),
];

const timeColumns: ReadonlySet<string> = new Set(["created", "last used"]);
