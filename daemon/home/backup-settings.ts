import { readFile } from "node:fs/promises";
import { parseDocument, stringify } from "yaml";
import type { SettingsCopy } from "../../storage/backup/contents.ts";
import { listSettings, toKey } from "../settings/settings.ts";

const openKeys: ReadonlySet<string> = new Set(
  listSettings().flatMap(([name, { secret }]) => (secret ? [] : [toKey(name)])),
);

const secretKeys = listSettings().flatMap(([name, { secret }]) => (secret ? [toKey(name)] : []));

/**
 * Returns the config file as a backup holds it: whole, for the sealed keys, and without the secret settings. Undefined
 * when there is no file. A file that is not valid YAML is left out: its secrets cannot be told from the rest.
 */
export async function readSettingsCopy(path: string): Promise<SettingsCopy | undefined> {
  const whole = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (whole === undefined) return undefined;
  const values = parse(whole.toString("utf8"));
  if (values === undefined) return { whole, withoutSecrets: undefined, leftOut: [ALL] };
  const leftOut = Object.keys(values).filter((key) => !openKeys.has(key));
  if (leftOut.length === 0 && !mentionsSecret(whole.toString("utf8")))
    return { whole, withoutSecrets: whole, leftOut };
  const kept = Object.entries(values).filter(([key]) => openKeys.has(key));
  const text = kept.length === 0 ? "" : stringify(Object.fromEntries(kept), { lineWidth: 0 });
  return { whole, withoutSecrets: Buffer.from(HEAD + text), leftOut };
}

/** Names the whole file among what is left out. */
const ALL = "config.yaml";

const HEAD = "# Comments and secret settings were left out of the backup.\n";

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  const document = parseDocument(text);
  if (document.errors.length > 0) return undefined;
  let values: unknown;
  try {
    values = document.toJS() ?? {};
  } catch {
    // An alias without its anchor, or too many aliases.
    return undefined;
  }
  const isMapping = typeof values === "object" && values !== null && !Array.isArray(values);
  return isMapping ? (values as Record<string, unknown>) : undefined;
}

/** Comments may hold a former secret: `# smtp_url: …`. */
function mentionsSecret(text: string): boolean {
  const lower = text.toLowerCase();
  return secretKeys.some((key) => lower.includes(key));
}
