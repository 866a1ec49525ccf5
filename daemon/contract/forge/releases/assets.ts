import { z } from "zod";
import { anyoneWithin, bytes, empty, formOrBytes } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { optionalText, pathInteger, queryText } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { openTo, resource } from "../resource.ts";
import { isWebUrl } from "../rules.ts";
import { releaseAssetShape } from "./releases.ts";

const NAME_MAX = 255;
const LINK_MAX = 2048;

export const releaseAssetEndpoints = {
  ...resource(
    {
      name: "forge.repos.releases.assets",
      path: "/api/v1/repos/:owner/:repo/releases/:id/assets",
      params: repositoryParams.extend({ id: pathInteger }),
      id: { attachment: pathInteger },
      shape: releaseAssetShape,
      gate: openTo("repository"),
      on: { read: repository("releases", "read"), change: repository("releases", "write") },
    },
    ({ create, get, remove, operation }) => ({
      listReleaseAssets: operation({
        as: "list",
        method: "GET",
        summary: "The files of a release, oldest first",
        replies: { 200: z.array(releaseAssetShape) },
        apiOnly: "a release has the list of its files",
      }),
      createReleaseAsset: create(
        "Add a file to a release: the part attachment of a form, or the body itself; or a link to a file elsewhere",
        formOrBytes("application/octet-stream"),
        {
          /** `name` counts before that of the file; with `external_url`, the body is ignored. */
          query: z.object({ name: queryText, external_url: queryText }),
          refuses: [400, 413],
        },
      ),
      getReleaseAsset: get("A file of a release", {
        apiOnly: "a release has the list of its files",
      }),
      editReleaseAsset: operation({
        as: "edit",
        method: "PATCH",
        item: true,
        summary: "Rename a file of a release, or change the address of a link",
        body: z.object({
          name: optionalText({ max: NAME_MAX }),
          browser_download_url: optionalText({ max: LINK_MAX, rules: [["Url", isWebUrl]] }),
        }),
        replies: { 201: releaseAssetShape },
        apiOnly: "people upload a file under the name that it shall have",
      }),
      deleteReleaseAsset: remove("Delete a file of a release"),
    }),
  ),
  ...resource(
    {
      name: "forge.releases",
      path: "/:owner/:repo/releases/download/**:file",
      params: repositoryParams.extend({ file: z.string() }),
      gate: anyoneWithin("repository"),
      on: repository("releases", "read"),
    },
    ({ operation }) => ({
      downloadReleaseFile: operation({
        as: "download",
        method: "GET",
        summary:
          "The bytes of a file by the tag of its release and its name; a session of the pages counts, too",
        /** 302 leads to a file that is kept elsewhere. */
        replies: { 200: bytes, 302: empty },
        refuses: [503],
        apiOnly: "browsers and tools download by this address",
      }),
    }),
  ),
};
