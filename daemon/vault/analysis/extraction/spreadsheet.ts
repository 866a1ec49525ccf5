import { type Archive, inOrder, withArchive } from "./archive.ts";
import { Unreadable } from "./outcome.ts";
import type { TextSink } from "./text-sink.ts";
import { attributesOf, parseXml } from "./xml.ts";

interface Workbook {
  readonly shared: readonly string[];
  readonly dates: DateFormats;
}

/** How a workbook stores dates: as numbers of days, in cells with a style for dates. */
interface DateFormats {
  /** Indexes of the styles that show a number as a date or time. */
  readonly styles: ReadonlySet<number>;
  /** The day 0, in days since 1970. */
  readonly epochDay: number;
}

/** Days from 1899-12-30 to 1970-01-01; workbooks of old Macintosh programs begin in 1904. */
const EPOCH_1900 = -25_569;
const EPOCH_1904 = -24_107;
/** The day after 9999-12-31. */
const SERIAL_END = 2_958_466;
const DAY_MS = 86_400_000;

/** Extracts an Excel workbook: the cells of each sheet, a line a row. Dates are written as ISO 8601 has them. */
export function extractXlsx(path: string, sink: TextSink): Promise<void> {
  return withArchive(path, async (archive) => {
    const sheets = inOrder(archive.names, /^xl\/worksheets\/sheet(\d+)\.xml$/);
    if (sheets.length === 0) throw new Unreadable("damaged");
    const workbook = {
      shared: await readSharedStrings(archive),
      dates: await readDateFormats(archive),
    };
    for (const sheet of sheets) {
      await readSheet(archive, sheet, workbook, sink);
      sink.breakLine();
    }
  });
}

async function readSharedStrings(archive: Archive): Promise<readonly string[]> {
  const strings: string[] = [];
  let current = "";
  let inText = false;
  parseXml((await archive.read("xl/sharedStrings.xml")) ?? "<sst/>", {
    open: (local) => {
      if (local === "si") current = "";
      if (local === "t") inText = true;
    },
    text: (text) => {
      if (inText) current += text;
    },
    close: (local) => {
      if (local === "t") inText = false;
      if (local === "si") strings.push(current);
    },
  });
  return strings;
}

async function readSheet(
  archive: Archive,
  name: string,
  { shared, dates }: Workbook,
  sink: TextSink,
): Promise<void> {
  const xml = sink.isCut ? undefined : await archive.read(name);
  if (xml === undefined) return;
  let type = "";
  let style = -1;
  let value = "";
  let inValue = false;
  const toShown = (kind: string, raw: string, isDate: boolean) => {
    if (kind === "s") return shared[Number(raw)] ?? "";
    return isDate && (kind === "" || kind === "n") ? toDate(raw, dates.epochDay) : raw;
  };
  parseXml(xml, {
    open: (local, attributes) => {
      if (local === "c") {
        type = attributes["t"] ?? "";
        style = Number(attributes["s"] ?? -1);
        value = "";
      }
      if (local === "v" || local === "t") inValue = true;
    },
    text: (text) => {
      if (inValue) value += text;
    },
    close: (local) => {
      if (local === "v" || local === "t") inValue = false;
      if (local === "c") {
        const cellText = toShown(type, value, dates.styles.has(style));
        if (cellText !== "") sink.add(`${cellText}\t`);
      }
      if (local === "row") sink.breakLine();
    },
  });
}

/** Finds the styles of dates: built-in formats, and those whose pattern has a letter for days, months, years or hours. */
async function readDateFormats(archive: Archive): Promise<DateFormats> {
  const patterns = new Map<string, string>();
  const styles = new Set<number>();
  let inCells = false;
  let index = 0;
  parseXml((await archive.read("xl/styles.xml")) ?? "<styleSheet/>", {
    open: (local, attributes) => {
      if (local === "numFmt")
        patterns.set(attributes["numFmtId"] ?? "", attributes["formatCode"] ?? "");
      if (local === "cellXfs") inCells = true;
      if (local !== "xf" || !inCells) return;
      const id = attributes["numFmtId"] ?? "";
      if (isDatePattern(patterns.get(id)) ?? isBuiltInDate(Number(id))) styles.add(index);
      index += 1;
    },
    close: (local) => {
      if (local === "cellXfs") inCells = false;
    },
  });
  const workbook = (await archive.read("xl/workbook.xml")) ?? "<workbook/>";
  const from1904 = attributesOf(workbook, "workbookPr")[0]?.["date1904"];
  const isFrom1904 = from1904 === "1" || from1904 === "true";
  return { styles, epochDay: isFrom1904 ? EPOCH_1904 : EPOCH_1900 };
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
