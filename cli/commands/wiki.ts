import type {
  WireWikiCommit,
  WireWikiPage,
  WireWikiPageMeta,
} from "../../daemon/contract/forge/repositories/wiki.ts";
import { forge } from "../client/operations.ts";
import { forgeFieldPages, forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { editorFlag, editText, findEditor } from "../support/editor.ts";
import { readTextFlags } from "../support/input.ts";
import { type RepositoryName, repositoryArgument } from "../support/repository.ts";
import { command } from "../tree/command.ts";
import type { Entry } from "../tree/entry.ts";

const pageArgument = {
  "<page>": "the title of a page, or the last part of its address",
} as const;

const textFlags = {
  "-b, --body <text>": 'the text, as Markdown; "-" reads standard input',
  "-F, --body-file <file>": 'a file with the text; "-" reads standard input',
  ...editorFlag,
  "-m, --message <text>": "the message of the commit",
} as const;

const NO_EDITOR = "give --body or --body-file, or set EDITOR";

const pageColumns: readonly Column<WireWikiPageMeta>[] = [
  { header: "title", cell: ({ title }) => title },
  { header: "address", cell: ({ sub_url: name }) => name },
  { header: "changed", cell: ({ last_commit: { commiter } }) => time(commiter.date) },
  { header: "by", cell: ({ last_commit: { author } }) => author.name },
];

const pageLines: readonly Column<WireWikiPage>[] = [
  { header: "title", cell: ({ title }) => title },
  { header: "address", cell: ({ html_url: address }) => address },
  { header: "revisions", cell: ({ commit_count: count }) => count },
  { header: "changed", cell: ({ last_commit: { commiter } }) => time(commiter.date) },
  { header: "by", cell: ({ last_commit: { author } }) => author.name },
  { header: "text", cell: toText },
];

const revisionColumns: readonly Column<WireWikiCommit>[] = [
  { header: "commit", cell: ({ sha }) => sha.slice(0, 10) },
  { header: "message", cell: ({ message }) => message.split("\n", 1)[0] },
  { header: "author", cell: ({ author }) => author.name },
  { header: "at", cell: ({ commiter }) => time(commiter.date) },
];

export const entries: readonly Entry[] = [
  command("list", "List the pages of a wiki", {
    aliases: ["ls"],
    args: repositoryArgument,
    calls: [forge.listWikiPages],
    output: listOf(forge.listWikiPages),
    examples: [
      ["List the pages of a wiki", "croft wiki list keeper/notes"],
      ["Print their titles", "croft wiki list keeper/notes --jq '.[].title'"],
    ],
    async run(cli, { repository: params }) {
      await cli.output.list(forgePages(cli.client, forge.listWikiPages, { params }), pageColumns);
    },
  }),
  command("view", "Show a page of a wiki", {
    args: { ...repositoryArgument, ...pageArgument },
    calls: [forge.getWikiPage],
    output: resourceOf(forge.getWikiPage),
    examples: [
      ["Show a page", 'croft wiki view keeper/notes "Getting started"'],
      ["Print its text", "croft wiki view keeper/notes Home --jq '.content_base64 | @base64d'"],
    ],
    async run(cli, { repository, page }) {
      await cli.output.resource(await findPage(cli, repository, page), pageLines);
    },
  }),
  command("create", "Create a page of a wiki", {
    aliases: ["new"],
    args: { ...repositoryArgument, "<title>": "the title of the page" },
    flags: textFlags,
    calls: [forge.createWikiPage],
    output: resourceOf(forge.createWikiPage, 201),
    examples: [
      ["Create a page with a text", 'croft wiki create keeper/notes Home --body "# Welcome"'],
      ["Create it from a file", "croft wiki create keeper/notes Home --body-file notes.md"],
    ],
    /** Creates a page with the given text, or with that of an editor. */
    async run(cli, { repository: params, title, message, editor, ...flags }) {
      const create = async (text: string) => {
        const body = { title, content_base64: encode(text), ...(message && { message }) };
        return (await cli.client.call(forge.createWikiPage, { params, body })).body;
      };
      const given = await readTextFlags(cli, flags);
      const made =
        given === undefined
          ? await editText(cli, toDraft(findEditor(cli, editor, NO_EDITOR), ""), create)
          : await create(given);
      if (made === undefined)
        throw new CliError("missing_input", `the page has no text: ${NO_EDITOR}`);
      await cli.output.resource(made, pageLines);
    },
  }),
  command("edit", "Edit or rename a page of a wiki", {
    args: { ...repositoryArgument, ...pageArgument },
    flags: { "-t, --title <text>": "a new title", ...textFlags },
    calls: [forge.getWikiPage, forge.editWikiPage],
    output: resourceOf(forge.editWikiPage),
    examples: [
      ["Edit a page with $EDITOR", "croft wiki edit keeper/notes Home"],
      ["Replace its text", "croft wiki edit keeper/notes Home --body-file notes.md"],
      ["Rename it", 'croft wiki edit keeper/notes Home --title "Start here"'],
    ],
    /** Changes a page by the flags; without a text and a title, opens an editor on it. */
    async run(cli, { repository, page: name, title, message, editor, ...flags }) {
      const page = await findPage(cli, repository, name);
      const params = { ...repository, name: toParameter(page.sub_url) };
      const edit = async (text: string | undefined) => {
        const body = {
          ...(title === undefined ? {} : { title }),
          ...(text === undefined ? {} : { content_base64: encode(text) }),
          ...(message === undefined ? {} : { message }),
        };
        return (await cli.client.call(forge.editWikiPage, { params, body })).body;
      };
      const given = await readTextFlags(cli, flags);
      const edited =
        given === undefined && title === undefined
          ? await editText(cli, toDraft(findEditor(cli, editor, NO_EDITOR), toText(page)), edit)
          : await edit(given);
      await cli.output.resource(edited ?? page, pageLines);
    },
  }),
  command("delete", "Delete a page of a wiki", {
    aliases: ["rm"],
    args: { ...repositoryArgument, ...pageArgument },
    calls: [forge.getWikiPage, forge.deleteWikiPage],
    output: shape({ deleted: "boolean", title: "string" }),
    destructive: true,
    examples: [
      ["Delete a page; its history stays", "croft wiki delete keeper/notes Draft --yes"],
      ["Show the request only", "croft wiki delete keeper/notes Draft --dry-run"],
    ],
    async run(cli, { repository, page }) {
      const { title, sub_url: name } = await findPage(cli, repository, page);
      const { owner, repo } = repository;
      await cli.prompts.confirm(`Delete the page ${title} of the wiki of ${owner}/${repo}?`);
      const params = { ...repository, name: toParameter(name) };
      await cli.client.call(forge.deleteWikiPage, { params });
      await cli.output.done({ deleted: true, title }, `Deleted the page ${title}.`);
    },
  }),
  command("history", "List the commits that changed a page of a wiki", {
    args: { ...repositoryArgument, ...pageArgument },
    calls: [forge.getWikiPage, forge.listWikiRevisions],
    output: listOf(forge.listWikiRevisions, "commits"),
    examples: [
      ["List the changes of a page", "croft wiki history keeper/notes Home"],
      ["Print who changed it", "croft wiki history keeper/notes Home --jq '.[].author.name'"],
    ],
    async run(cli, { repository, page }) {
      const { sub_url: name } = await findPage(cli, repository, page);
      const params = { ...repository, name: toParameter(name) };
      const pages = forgeFieldPages(cli.client, forge.listWikiRevisions, { params }, "commits");
      await cli.output.list(pages, revisionColumns);
    },
  }),
];

/** Returns the page with a title, or else with a name in addresses. @throws CliError `not_found` */
async function findPage(
  { client }: CliContext,
  repository: RepositoryName,
  page: string,
): Promise<WireWikiPage> {
  // In names, a dash stands for a blank unless the name ends so.
  const title = /-|\.md$/.test(page) ? `${page}.-` : page;
  const read = async (name: string) =>
    (await client.call(forge.getWikiPage, { params: { ...repository, name } })).body;
  const name = toParameter(page);
  if (name === title) return read(name);
  return read(title).catch((error: unknown) => {
    if (!(error instanceof CliError) || error.code !== "not_found") throw error;
    return read(name);
  });
}

/** Returns a name as the client takes it, which encodes it again. */
function toParameter(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    return name;
  }
}

const toDraft = (program: string, text: string) => ({ program, name: "page.md", text });

const encode = (text: string) => Buffer.from(text).toString("base64");

function toText({ content_base64: content }: WireWikiPage): string {
  return Buffer.from(content, "base64").toString("utf8");
}
