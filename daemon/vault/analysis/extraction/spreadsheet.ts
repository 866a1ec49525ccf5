import { type Archive, inOrder } from "./archive.ts";
import { formatNumber } from "./number-format.ts";
import {
  addPart,
  addRelated,
  chartRules,
  CHARTS,
  listRelationships,
  type MainPart,
  officeRules,
  type Relationship,
} from "./office-package.ts";
import { Unreadable } from "./outcome.ts";
import type { TextSink } from "./text-sink.ts";
import { attributesOf, parseXml, relationOf } from "./xml.ts";
import type { XmlTextRules } from "./xml-text.ts";

interface Workbook {
  readonly shared: readonly string[];
  /** By the index of a style. */
  readonly formats: readonly NumberFormat[];
  /** The day 0 of dates, in days since 1970. */
  readonly epochDay: number;
}

interface NumberFormat {
  readonly pattern: string | undefined;
  /** Shows a number as a date or time. */
  readonly isDate: boolean;
}

/** Days from 1899-12-30 to 1970-01-01; workbooks of old Macintosh programs begin in 1904. */
const EPOCH_1900 = -25_569;
const EPOCH_1904 = -24_107;
/** The day after 9999-12-31. */
const SERIAL_END = 2_958_466;
const DAY_MS = 86_400_000;

/**
 * Adds an Excel workbook: each sheet with its name, its cells, a line a row, then the texts of its drawings and its comments.
 * Dates are written as ISO 8601 has them.
 */
export async function addWorkbook(archive: Archive, main: MainPart, sink: TextSink): Promise<void> {
  const links = await listRelationships(archive, main.name);
  const sheets = listSheets(archive, main, links);
  if (sheets.length === 0) throw new Unreadable("damaged");
  const partOf = (type: string, usual: string) =>
    archive.read(links.find((link) => link.type === type)?.target ?? usual);
  const workbook = {
    shared: readSharedStrings((await partOf("sharedStrings", "xl/sharedStrings.xml")) ?? "<sst/>"),
    formats: readFormats((await partOf("styles", "xl/styles.xml")) ?? "<styleSheet/>"),
    epochDay: findEpochDay(main.xml),
  };
  for (const { name, part } of sheets) {
    if (name !== undefined) {
      sink.add(name);
      sink.breakLine();
    }
    await addSheet(archive, part, workbook, sink);
    sink.breakLine();
    await addNotes(archive, part, sink);
  }
}

/** Adds what lies upon the cells of a sheet: text boxes, diagrams, charts and comments. */
async function addNotes(archive: Archive, part: string, sink: TextSink): Promise<void> {
  const links = await listRelationships(archive, part);
  for (const { target } of links.filter(({ type }) => type === "drawing")) {
    await addPart(archive, target, sink, officeRules);
    const drawn = await listRelationships(archive, target);
    await addRelated(archive, drawn, ["diagramData"], sink, officeRules);
    await addRelated(archive, drawn, CHARTS, sink, chartRules);
  }
  const threaded = new Set<string>();
  for (const { type, target } of links)
    if (type === "threadedComment")
      for (const { ref } of attributesOf((await archive.read(target)) ?? "<none/>", type))
        if (ref !== undefined) threaded.add(ref);
  await addRelated(archive, links, ["threadedComment"], sink, threadRules);
  for (const { type, target } of links)
    if (type === "comments") addComments((await archive.read(target)) ?? "<none/>", threaded, sink);
}

/** The texts of comments with answers, which have no runs. */
const threadRules: XmlTextRules = {
  content: new Set(["text"]),
  lines: new Set(["threadedComment"]),
  spaces: new Set(),
  hidden: new Set(),
};

/** Adds the comments of cells without a thread: of a thread, the part has a copy for programs that do not know threads. */
function addComments(xml: string, threaded: ReadonlySet<string>, sink: TextSink): void {
  let ref = "";
  let inText = false;
  let phonetic = 0;
  parseXml(xml, {
    open: (local, attributes) => {
      if (local === "comment") ref = attributes["ref"] ?? "";
      if (local === "text") inText = true;
      if (local === "rPh") phonetic += 1;
    },
    text: (text) => {
      if (inText && phonetic === 0 && !threaded.has(ref)) sink.add(text);
    },
    close: (local) => {
      if (local === "text") inText = false;
      if (local === "rPh") phonetic -= 1;
      if (local === "comment") sink.breakLine();
    },
  });
}

interface Sheet {
  /** Undefined in a workbook that does not list its sheets. */
  readonly name?: string | undefined;
  readonly part: string;
}

/** The sheets in the order of the workbook. */
function listSheets(archive: Archive, main: MainPart, links: readonly Relationship[]): Sheet[] {
  if (links.length === 0)
    return inOrder(archive.names, /^xl\/worksheets\/sheet(\d+)\.xml$/).map((part) => ({ part }));
  const listed = attributesOf(main.xml, "sheet");
  return listed.flatMap((attributes) => {
    const link = links.find(({ id }) => id === relationOf(attributes));
    return link === undefined ? [] : [{ name: attributes["name"], part: link.target }];
  });
}

function readSharedStrings(xml: string): readonly string[] {
  const strings: string[] = [];
  let current = "";
  let inText = false;
  let phonetic = 0;
  parseXml(xml, {
    open: (local) => {
      if (local === "si") current = "";
      if (local === "rPh") phonetic += 1;
      if (local === "t") inText = true;
    },
    text: (text) => {
      if (inText && phonetic === 0) current += text;
    },
    close: (local) => {
      if (local === "t") inText = false;
      if (local === "rPh") phonetic -= 1;
      if (local === "si") strings.push(current);
    },
  });
  return strings;
}

async function addSheet(
  archive: Archive,
  name: string,
  workbook: Workbook,
  sink: TextSink,
): Promise<void> {
  const xml = sink.isCut ? undefined : await archive.read(name);
  if (xml === undefined) return;
  let type = "";
  let style = -1;
  let value = "";
  let inValue = false;
  let phonetic = 0;
  parseXml(xml, {
    open: (local, attributes) => {
      if (local === "c") {
        type = attributes["t"] ?? "";
        style = Number(attributes["s"] ?? -1);
        value = "";
      }
      if (local === "rPh") phonetic += 1;
      if (local === "v" || local === "t") inValue = true;
    },
    text: (text) => {
      if (inValue && phonetic === 0) value += text;
    },
    close: (local) => {
      if (local === "v" || local === "t") inValue = false;
      if (local === "rPh") phonetic -= 1;
      if (local === "c") {
        const cellText = toShown(type, value, style, workbook);
        if (cellText !== "") sink.add(`${cellText}\t`);
      }
      if (local === "row") sink.breakLine();
    },
  });
}

/** The value of a cell as the program shows it. */
function toShown(type: string, raw: string, style: number, workbook: Workbook): string {
  if (type === "s") return workbook.shared[Number(raw)] ?? "";
  if (type === "b") return raw.trim() === "1" || raw.trim() === "true" ? "TRUE" : "FALSE";
  if (type === "d") return raw.replace("T00:00:00", "").replace("T", " ");
  if (type !== "" && type !== "n") return raw;
  const format = workbook.formats[style];
  if (format?.isDate === true) return toDate(raw, workbook.epochDay);
  return formatNumber(raw, format?.pattern);
}

/** The format of each style of cells: built-in ones, and those with a pattern. */
function readFormats(xml: string): NumberFormat[] {
  const patterns = new Map<string, string>();
  const formats: NumberFormat[] = [];
  let inCells = false;
  parseXml(xml, {
    open: (local, attributes) => {
      if (local === "numFmt")
        patterns.set(attributes["numFmtId"] ?? "", attributes["formatCode"] ?? "");
      if (local === "cellXfs") inCells = true;
      if (local !== "xf" || !inCells) return;
      const id = attributes["numFmtId"] ?? "";
      const pattern = patterns.get(id) ?? BUILT_IN_PATTERNS[id];
      const isDate = isDatePattern(patterns.get(id)) ?? isBuiltInDate(Number(id));
      formats.push({ pattern, isDate });
    },
    close: (local) => {
      if (local === "cellXfs") inCells = false;
    },
  });
  return formats;
}

/** Patterns that a workbook need not define (ECMA-376, 18.8.30). Those of money show the reader's currency, which is unknown. */
const BUILT_IN_PATTERNS: Readonly<Record<string, string>> = {
  9: "0%",
  10: "0.00%",
};

function findEpochDay(workbook: string): number {
  const from1904 = attributesOf(workbook, "workbookPr")[0]?.["date1904"];
  return from1904 === "1" || from1904 === "true" ? EPOCH_1904 : EPOCH_1900;
}

/** Formats of dates and times that a workbook need not define (ECMA-376, 18.8.30). */
function isBuiltInDate(id: number): boolean {
  return (
    (id >= 14 && id <= 22) ||
    (id >= 27 && id <= 36) ||
    (id >= 45 && id <= 58 && id !== 48 && id !== 49)
  );
}

/** Undefined without a pattern. Quoted and escaped letters, colours and conditions are not part of the pattern. */
function isDatePattern(pattern: string | undefined): boolean | undefined {
  const letters = pattern?.replace(/"[^"]*"|\\.|\[[^\]]*\]|General/gi, "");
  return letters === undefined ? undefined : /[dmyhs]/i.test(letters);
}

/** Writes a number of days as a date, a time or both; a number that is not a date stays as it is. */
function toDate(raw: string, epochDay: number): string {
  const serial = Number(raw);
  if (raw === "" || !(serial >= 0 && serial < SERIAL_END)) return raw;
  const minute = 60_000;
  const ms = Math.round(((serial + epochDay) * DAY_MS) / minute) * minute;
  const [date = "", time = ""] = new Date(ms).toISOString().slice(0, 16).split("T");
  if (serial < 1) return time;
  return Number.isInteger(serial) ? date : `${date} ${time}`;
}
