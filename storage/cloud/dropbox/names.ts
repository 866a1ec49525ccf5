import { brokenNameRule } from "../outcomes.ts";

/** Files that Dropbox never stores, so their names are refused. */
const ignored = /^(desktop\.ini|thumbs\.db|\.ds_store|icon\r|\.dropbox|\.dropbox\.attr)$/i;

/** Returns the rule that a name breaks at Dropbox, or undefined when it is valid. */
export function brokenDropboxRule(name: string): string | undefined {
  const common = brokenNameRule(name);
  if (common !== undefined) return common;
  if (name.includes("\\")) return "reserved_character";
  if (name.endsWith(" ")) return "outer_space";
  if (name.endsWith(".")) return "trailing_dot";
  return ignored.test(name) ? "reserved_name" : undefined;
}
