import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { CliError, usageError } from "../../errors.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { repositoryArgument } from "../../support/repository.ts";
import { command } from "../../tree/command.ts";
import type { Entry } from "../../tree/entry.ts";
import { findRelease, noteFlags, readNotes, releaseColumns, releaseLines } from "./releases.ts";

const tagArgument = { "<tag>": "the tag of the release" } as const;

export const entries: readonly Entry[] = [
  command("list", "List the releases of a repository", {
    aliases: ["ls"],
    args: repositoryArgument,
    flags: {
      "--exclude-drafts": "leave drafts out",
      "--exclude-pre-releases": "leave prereleases out",
    },
    calls: [forge.listReleases],
    output: listOf(forge.listReleases),
    examples: [
      ["List the releases of a repository", "croft release list keeper/notes"],
      [
        "Print the tags without those of drafts",
        "croft release list keeper/notes --exclude-drafts --jq '.[].tag_name'",
      ],
    ],
    /** Prints releases, newest first. */
    async run(cli, { repository: params, excludeDrafts, excludePreReleases }) {
      const query = {
        ...(excludeDrafts === true ? { draft: false } : {}),
        ...(excludePreReleases === true ? { "pre-release": false } : {}),
      };
      const pages = forgePages(cli.client, forge.listReleases, { params, query });
      await cli.output.list(pages, releaseColumns);
    },
  }),
  command("view", "Show a release with its notes and files", {
    args: {
      ...repositoryArgument,
      "[tag]": "the tag of the release; the latest one if it is not given",
    },
    calls: [forge.getReleaseByTag, forge.getLatestRelease],
    output: resourceOf(forge.getReleaseByTag),
    examples: [
      ["Show the latest release", "croft release view keeper/notes"],
      [
        "Print the names of its files",
        "croft release view keeper/notes v1.0 --jq '.assets[].name'",
      ],
    ],
    async run(cli, { repository, tag }) {
      await cli.output.resource(await findRelease(cli, repository, tag), releaseLines);
    },
  }),
  command(
    "create",
    "Create a release, with files",
    async () => (await import("./files.ts")).createRelease,
    { aliases: ["new"] },
  ),
  command("edit", "Edit or publish a release", {
    args: { ...repositoryArgument, "<release>": "the tag of the release" },
    flags: {
      "--tag <tag>": "another tag, which is made unless it exists",
      "--target <ref>": "where a new tag is made: a branch, or the full id of a commit",
      "-t, --title <text>": "a new title",
      ...noteFlags,
      "-d, --draft": "make it a draft, which only users with write access see",
      "--no-draft": "publish it",
      "-p, --prerelease": "mark it as a prerelease",
      "--no-prerelease": "mark it as a release",
    },
    calls: [forge.getReleaseByTag, forge.editRelease],
    output: resourceOf(forge.editRelease),
    examples: [
      ["Publish a draft", "croft release edit keeper/notes v1.0 --no-draft"],
      ["Replace its notes", "croft release edit keeper/notes v1.0 --notes-file notes.md"],
    ],
    /** Changes a release and prints it. */
    async run(cli, { repository, release, ...flags }) {
      const notes = await readNotes(cli, flags);
      const body = {
        ...(flags.target === undefined ? {} : { target_commitish: flags.target }),
        ...(flags.title === undefined ? {} : { name: flags.title }),
        ...(notes === undefined ? {} : { body: notes }),
        ...(flags.draft === undefined ? {} : { draft: flags.draft }),
        ...(flags.prerelease === undefined ? {} : { prerelease: flags.prerelease }),
        ...(flags.tag === undefined ? {} : { tag_name: flags.tag }),
      };
      if (Object.keys(body).length === 0)
        throw new CliError(
          "missing_input",
          "nothing to change: give --title, --notes, --no-draft or another flag",
        );
      const { id } = await findRelease(cli, repository, release);
      const params = { ...repository, id };
      const edited = await cli.client.call(forge.editRelease, { params, body });
      await cli.output.resource(edited.body, releaseLines);
    },
  }),
  command("upload", "Add files to a release", async () => (await import("./files.ts")).uploadFiles),
  command(
    "download",
    "Download files of a release",
    async () => (await import("./download.ts")).downloadFiles,
  ),
  command("delete", "Delete a release with its files", {
    aliases: ["rm"],
    args: { ...repositoryArgument, ...tagArgument },
    flags: { "--cleanup-tag": "delete its tag, too" },
    calls: [forge.getReleaseByTag, forge.deleteRelease, forge.deleteTag],
    output: shape({ deleted: "boolean", tag: "string", deleted_tag: "boolean" }),
    destructive: true,
    examples: [
      ["Delete a release; its tag stays", "croft release delete keeper/notes v1.0 --yes"],
      ["Delete its tag, too", "croft release delete keeper/notes v1.0 --cleanup-tag --yes"],
    ],
    async run(cli, { repository, tag, cleanupTag = false }) {
      const { owner, repo } = repository;
      const { id, assets } = await findRelease(cli, repository, tag);
      const files = assets.length === 0 ? "" : ` with ${assets.length} files`;
      await cli.prompts.confirm(`Delete the release ${tag} of ${owner}/${repo}${files}?`);
      await cli.client.call(forge.deleteRelease, { params: { owner, repo, id } });
      if (cleanupTag) await cli.client.call(forge.deleteTag, { params: { owner, repo, tag } });
      await cli.output.done(
        { deleted: true, tag, deleted_tag: cleanupTag },
        `Deleted the release ${tag}${cleanupTag ? " and its tag" : ""}.`,
      );
    },
  }),
  command("delete-asset", "Delete a file of a release", {
    args: { ...repositoryArgument, ...tagArgument, "<name>": "the name of the file" },
    calls: [forge.getReleaseByTag, forge.deleteReleaseAsset],
    output: shape({ deleted: "boolean", name: "string" }),
    destructive: true,
    examples: [
      ["Delete a file", "croft release delete-asset keeper/notes v1.0 report.pdf --yes"],
      [
        "Show the request only",
        "croft release delete-asset keeper/notes v1.0 report.pdf --dry-run",
      ],
    ],
    async run(cli, { repository, tag, name }) {
      const { id, assets } = await findRelease(cli, repository, tag);
      const [asset, ...others] = assets.filter((each) => each.name === name);
      if (asset === undefined)
        throw new CliError("not_found", `the release ${tag} has no file ${JSON.stringify(name)}`);
      if (others.length > 0)
        throw usageError(
          `the release ${tag} has ${others.length + 1} files of this name`,
          "delete one by its id: croft api -X DELETE repos/OWNER/NAME/releases/ID/assets/ID",
        );
      await cli.prompts.confirm(`Delete the file ${name} of the release ${tag}?`);
      const params = { ...repository, id, attachment: asset.id };
      await cli.client.call(forge.deleteReleaseAsset, { params });
      await cli.output.done({ deleted: true, name }, `Deleted the file ${name}.`);
    },
  }),
];
