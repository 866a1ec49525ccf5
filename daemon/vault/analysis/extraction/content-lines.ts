import type { TextSink } from "./text-sink.ts";

/** Properties of calendars and contacts that are for programs, or no text. */
const TECHNICAL =
  /^(?:BEGIN|END|VERSION|PRODID|UID|DTSTAMP|CREATED|LAST-MODIFIED|SEQUENCE|REV|CALSCALE|METHOD|TRANSP|CLASS|PRIORITY|RRULE|EXDATE|TZ.*|ACTION|TRIGGER|PHOTO|LOGO|SOUND|KEY|SOURCE|SORT-STRING|X-(?!WR-CALNAME|WR-CALDESC).*)$/;
/** Parts that describe time zones and alarms. */
const HIDDEN_PARTS = new Set(["VTIMEZONE", "VALARM", "STANDARD", "DAYLIGHT"]);
const DATE = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})\d{2}Z?)?$/;

/**
 * Adds the text of a calendar (iCalendar, RFC 5545) or of contacts (vCard, RFC 6350 and its earlier versions): a line a
 * property, unfolded and without escapes. Dates are written as ISO 8601 has them.
 */
export function extractContentLines(text: string, sink: TextSink): void {
  let hidden = 0;
  for (const line of unfold(text)) {
    if (sink.isCut) return;
    const property = readProperty(line);
    if (property === undefined) continue;
    const { name, parameters, value } = property;
    if (HIDDEN_PARTS.has(value.toUpperCase()) && /^begin$/i.test(name)) hidden += 1;
    if (HIDDEN_PARTS.has(value.toUpperCase()) && /^end$/i.test(name)) hidden -= 1;
    if (hidden > 0 || TECHNICAL.test(name) || isBinary(parameters)) continue;
    const shown = [nameOf(parameters), toText(decode(value, parameters))].filter(Boolean).join(" ");
    if (shown === "") continue;
    sink.add(shown);
    sink.breakLine();
  }
}

/** Joins folded lines. vCard 2.1 breaks lines of quoted-printable text behind a `=`. */
function* unfold(text: string): Generator<string> {
  let line = "";
  for (const next of text.split(/\r\n?|\n/)) {
    const isQuoted = /^[^:]*ENCODING=QUOTED-PRINTABLE/i.test(line);
    if (isQuoted && line.endsWith("=")) line = line.slice(0, -1) + next;
    else if (/^[ \t]/.test(next)) line += next.slice(1);
    else {
      yield line;
      line = next;
    }
  }
  yield line;
}

function readProperty(line: string) {
  const found = /^(?:[\w-]+\.)?([\w-]+)((?:;(?:"[^"]*"|[^":])*)?):(.*)$/s.exec(line);
  if (found === null) return undefined;
  const [, name = "", parameters = "", value = ""] = found;
  return { name: name.toUpperCase(), parameters, value: value.trim() };
}

function isBinary(parameters: string): boolean {
  return /;(?:ENCODING=)?(?:B|BASE64)(?:;|$)/i.test(parameters);
}

/** The name of a person, which is a parameter of the address. */
function nameOf(parameters: string): string {
  const found = /;CN=(?:"([^"]*)"|([^;:]*))/i.exec(parameters);
  return found?.[1] ?? found?.[2] ?? "";
}

function decode(value: string, parameters: string): string {
  if (!/ENCODING=QUOTED-PRINTABLE/i.test(parameters)) return value;
  const bytes = Buffer.from(
    value.replace(/=([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    ),
    "latin1",
  );
  const charset = /CHARSET=([\w-]+)/i.exec(parameters)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch (error) {
    if (error instanceof RangeError) return bytes.toString("utf8");
    throw error;
  }
}

function toText(value: string): string {
  const date = DATE.exec(value);
  if (date !== null) {
    const [, year, month, day, hour, minute] = date;
    return hour === undefined
      ? `${year}-${month}-${day}`
      : `${year}-${month}-${day} ${hour}:${minute}`;
  }
  return (
    value
      .replace(/^(?:mailto|tel):/i, "")
      // Parts of names and addresses; escaped ones belong to a part.
      .replace(/(?<!\\);/g, " ")
      .replace(/\\([\\,;:nN])/g, (_, letter: string) => (/n/i.test(letter) ? "\n" : letter))
      .replace(/ {2,}/g, " ")
      .trim()
  );
}
