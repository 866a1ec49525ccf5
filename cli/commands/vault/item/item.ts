import { type Entry, verb } from "../../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List a folder", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("tree", "List a folder with everything below it", () => import("./tree.ts")),
  verb("browse", "Look through your storages on a screen", () => import("./browse.ts")),
  verb("view", "Show what is known of an item", () => import("./view.ts")),
  verb(
    "open",
    "Put on record that an item is opened, and show its address",
    () => import("./open.ts"),
  ),
  verb("cat", "Write files to standard output", () => import("./cat.ts")),
  verb("upload", "Upload files and folders into a folder", () => import("./upload.ts"), {
    aliases: ["put"],
  }),
  verb("download", "Download files and folders", () => import("./download.ts"), {
    aliases: ["get"],
  }),
  verb("mkdir", "Make a folder", () => import("./mkdir.ts")),
  verb("rename", "Give an item another name", () => import("./rename.ts")),
  verb("move", "Put an item into another folder", () => import("./move.ts"), { aliases: ["mv"] }),
  verb("delete", "Delete items", () => import("./delete.ts"), { aliases: ["rm"] }),
  verb("analyze", "Have an item's text extracted and classified", () => import("./analyze.ts")),
];
