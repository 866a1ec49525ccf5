// The three forms of a wiki page's name, which are those of Gitea: the title that people read ("up-to date"), the name in
// addresses ("up-to+date.-"), and the path of the file in the wiki's repository, which has blanks for `+` and ends in `.md`.

/** Ends the name of a page whose dashes are dashes; in other names a dash stands for a blank. */
const DASH_MARKER = ".-";
const ENDING = ".md";

/** Titles that are words of the wiki's own addresses. */
const RESERVED: ReadonlySet<string> = new Set(["_pages", "_new", "_edit", "raw"]);

/** Returns the name in addresses for a title. A title without a usable character is `unnamed`. */
export function titleToName(title: string): string {
  const name = cleanRelative(escapeSegment(title.trim(), false));
  return name === "" ? "unnamed" : name;
}

/** Returns the name for the end of an address, as it was encoded. Slashes belong to the title, because a wiki has no folders. */
export function addressToName(encoded: string): string {
  return cleanRelative(encoded).replaceAll("/", "%2F");
}

/** Returns the title of a name. */
export function nameToTitle(name: string): string {
  const last = name.slice(name.lastIndexOf("/") + 1);
  const isFile = last.endsWith(ENDING);
  return unescapeSegment(isFile ? (decode(last.slice(0, -ENDING.length)) ?? last) : last).text;
}

/** Returns the path of the file of a name. A name that ends in `.md` is that of the file itself. */
export function nameToPath(name: string): string {
  if (name.endsWith(ENDING)) return cleanRelative(decode(name) ?? "");
  const segments = name.split("/").map((segment) => {
    const title = unescapeSegment(segment).text;
    // A blank is safe in a path.
    return escapeSegment(title, segment.endsWith(DASH_MARKER)).replaceAll("+", " ");
  });
  return segments.join("/") + ENDING;
}

/** Returns the name of a file; undefined for a file that is no page. */
export function pathToName(path: string): string | undefined {
  if (!path.endsWith(ENDING)) return undefined;
  const name = toName(path);
  const isFound = name !== undefined && findCandidates(name).includes(path);
  // A file that was pushed under another spelling, or with a broken escape, is reached by its own path.
  return isFound ? name : encodeURIComponent(path.toWellFormed());
}

/** Undefined for a broken escape. */
function toName(path: string): string | undefined {
  const segments = path
    .slice(0, -ENDING.length)
    .split("/")
    .map((segment) => {
      const { text, isWhole } = unescapeSegment(segment);
      return isWhole ? escapeSegment(text, segment.endsWith(DASH_MARKER)) : undefined;
    });
  return segments.includes(undefined) ? undefined : segments.join("/");
}

/** Returns the paths at which the file of a name may be, the most likely first: pushed wikis have unescaped ones, too. */
export function findCandidates(name: string): readonly string[] {
  const path = nameToPath(name);
  if (name.endsWith(ENDING)) return [path];
  const plain = nameToTitle(name) + ENDING;
  // The title of one page may be the name of the file of another.
  const plains = toName(plain) === toName(path) ? [plain] : [];
  // A link such as `[[C++ notes]]` does not encode the marks of its title.
  const literal = name.includes("+") ? [nameToPath(name.replaceAll("+", "%2B"))] : [];
  return [...new Set([path, decode(path) ?? path, name + ENDING, ...plains, ...literal])];
}

/** Returns the reserved word that a name has as a segment, if it has one. */
export function findReserved(name: string): string | undefined {
  return name
    .split("/")
    .map((segment) => unescapeSegment(segment).text)
    .find((title) => RESERVED.has(title));
}

/** `isWhole` is false when an escape is broken; the text then has it as it is. */
function unescapeSegment(segment: string): { readonly text: string; readonly isWhole: boolean } {
  const plain = segment.endsWith(DASH_MARKER)
    ? segment.slice(0, -DASH_MARKER.length)
    : segment.replaceAll("-", " ");
  const text = decode(plain.replaceAll("+", " "));
  return { text: text ?? plain, isWhole: text !== undefined };
}

function escapeSegment(title: string, hasMarker: boolean): string {
  if (hasMarker || title.includes("-") || title.endsWith(ENDING))
    return escapeQuery(title + DASH_MARKER);
  return escapeQuery(title.replaceAll(" ", "-"));
}

/** Escapes a text as the values of a query are, as Go does. */
function escapeQuery(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%20", "+");
}

/** Undefined for a broken escape, or one of bytes that are no UTF-8. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Returns a relative path without empty segments, `.` and `..`, which never leads above its beginning. */
function cleanRelative(path: string): string {
  const clean: string[] = [];
  for (const segment of path.replaceAll("\\", "/").split("/")) {
    if (segment === "..") clean.pop();
    else if (segment !== "" && segment !== ".") clean.push(segment);
  }
  return clean.join("/");
}
