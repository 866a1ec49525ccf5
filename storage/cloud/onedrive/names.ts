import { brokenNameRule } from "../outcomes.ts";

const reserved = /^(con|prn|aux|nul|com[0-9]|lpt[0-9]|\.lock|desktop\.ini)$/i;

/** Returns the rule that a name breaks at OneDrive, or undefined. Reserved names are refused for files and folders alike. */
export function brokenOneDriveRule(name: string): string | undefined {
  const common = brokenNameRule(name);
  if (common !== undefined) return common;
  if (/["*:<>?\\|]/.test(name)) return "reserved_character";
  if (name.startsWith(" ") || name.endsWith(" ")) return "outer_space";
  if (name.endsWith(".")) return "trailing_dot";
  if (reserved.test(name) || name.startsWith("~$") || /_vti_/i.test(name)) return "reserved_name";
  return undefined;
}
