/**
 * The settings of a configuration file by their full names in small letters, as `git config --list` gives them: the last
 * of a name counts. Only what git itself writes is understood: sections, and one setting a line without quotes or
 * comments. Undefined for anything else, which takes git to be read.
 */
export function readPlainConfig(text: string): ReadonlyMap<string, string> | undefined {
  const settings = new Map<string, string>();
  let section: string | undefined;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, name, quoted] = /^\[([A-Za-z0-9-]+)(?: "([^"\\]*)")?\]$/.exec(line) ?? [];
    if (name !== undefined) {
      section = quoted === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${quoted}`;
      continue;
    }
    const [, key, value] = /^\t([A-Za-z][A-Za-z0-9-]*) = ([^\s"\\#;][^"\\#;\r]*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined || section === undefined) return undefined;
    settings.set(`${section}.${key.toLowerCase()}`, value.trimEnd());
  }
  return settings;
}
