// storage/cloud/local-folder: a folder of the daemon's own machine.
// Start here, then local-folder.ts (the operations), anchor.ts (link safety), relocate.ts (renames that never overwrite).
import type { CloudProviderType } from "../provider.ts";
import { openLocalFolder } from "./local-folder.ts";

/** A folder of the daemon's machine, below one of the folders that the administrator allows. */
export const localFolder: CloudProviderType = {
  type: "local_folder",
  title: "Folder on the server",
  settings: [
    {
      name: "root",
      kind: "path",
      required: true,
      secret: false,
      help: "A folder below your own folder on the server (. is all of it), or the absolute path of one that an administrator granted to you",
    },
  ],
  usesLocalFolders: true,
  capabilities: {
    trash: true,
    permanentDelete: true,
    guardedRename: "emulated",
    guardedDelete: "emulated",
    guardedReplace: "emulated",
    createOnly: "atomic",
    folderMove: true,
    ids: "path",
    caseSensitive: true,
    normalisationSensitive: true,
    duplicateNames: false,
    quota: true,
    range: true,
    versionResolutionMs: 0,
    uploadNeedsSize: false,
  },
  connect: ({ settings, probeResult, localFolders }, deps) =>
    openLocalFolder(
      {
        root: settings["root"] ?? "",
        access: localFolders,
        probeResult,
        capabilities: localFolder.capabilities,
      },
      deps,
    ),
};
