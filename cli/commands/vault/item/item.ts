import { type Entry, verb } from "../../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List a folder", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("upload", "Upload files into a folder", () => import("./upload.ts"), { aliases: ["put"] }),
  verb("download", "Download files", () => import("./download.ts"), { aliases: ["get"] }),
];
