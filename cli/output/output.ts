import { FieldList, usageError } from "../errors.ts";
import { type CommonFlags, isMachineOutput } from "../flags.ts";
import type { Io } from "../io.ts";
import { type Column, toExactCell, toHumanCell } from "./cells.ts";
import { type Page, type PageSource, readPages } from "./pages.ts";
import { toEffectRows } from "./effect.ts";
import { type OutputSpec, assertKnownFields, selectFields } from "./spec.ts";
import { sanitizeLine, sanitizeText, toJson, toRowField } from "./sanitize.ts";

/** Prints results on standard output, in the format that the flags and the terminal select. */
export type Output = ReturnType<typeof createOutput>;

export interface OutputDependencies {
  readonly io: Io;
  /** Writes a text that may be longer than the terminal. */
  readonly writeLong: (text: string) => Promise<void>;
  readonly flags: CommonFlags;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Runs work that computes without a pause. */
  readonly endedBySignals: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Texts have no fields, and the fields of bytes and free forms are unknown. */
const hasKnownForm = ({ kind }: OutputSpec) => kind === "shape" || kind === "reply";

export function createOutput({ io, writeLong, flags, clock, endedBySignals }: OutputDependencies) {
  const fields = flags.json === true ? undefined : flags.json;
  const isMachine = isMachineOutput(flags);

  /** Columns of CSV and TSV, the same for every page and for an empty list; undefined when they are not known. */
  let columnNames: readonly string[] | undefined = fields;

  const choose = (value: unknown) => (fields === undefined ? value : selectFields(value, fields));

  return {
    /** Whether the output is for a machine: no prompts, and errors as one line of JSON. */
    isMachine /** Refuses flags that the command's output does not have. Called before the command does anything. */,
    prepare /** One resource. People see the columns as lines, scripts without a flag see `header<TAB>value` rows. */,
    resource /** A list, page by page. */,
    list /** Prints items as they arrive. Refuses machine modes that print one document for all. */,
    stream /** Reports the effect of a command without a resource: an object for scripts, a sentence for people. */,
    done /**
     * Prints a text that is the result itself; machine modes print `value` instead. Sanitizes the text unless `isStyled`:
     * then the caller has sanitized it and added colours.
     */,
    text /** As `text`, for a long text: one that is longer than the terminal is shown in a pager. */,
    page,
  };

  async function prepare(spec: OutputSpec): Promise<void> {
    if (spec.kind === "bytes" && isMachine && flags.format !== undefined)
      throw usageError("--format does not go with bytes");
    if (flags.jq !== undefined) await (await import("./jq.ts")).assertJq(flags.jq);
    const templateFields = flags.template === undefined ? [] : await checkTemplate(flags.template);
    const isSeparated = flags.format === "csv" || flags.format === "tsv";
    if (fields === undefined && !isSeparated && templateFields.length === 0) return;
    const { toFieldNames } = await import("./schema.ts");
    const known = toFieldNames(spec);
    if (known.length > 0) assertKnownFields(templateFields, known);
    if (fields?.length === 1 && fields[0] === "?") throw new FieldList(known);
    if (fields !== undefined && (known.length > 0 || hasKnownForm(spec)))
      assertKnownFields(fields, known);
    if (known.length === 0) return;
    columnNames ??= known;
  }

  /** Returns the fields that it names. @throws CliError `usage` when it is not a template */
  async function checkTemplate(template: string): Promise<readonly string[]> {
    const { compileTemplate, toTemplateFields } = await import("./formats.ts");
    compileTemplate(template);
    return toTemplateFields(template);
  }

  async function resource<T extends object>(value: T, columns: readonly Column<T>[]) {
    if (isMachine) return printDocument(choose(value));
    if (!io.isOutputTerminal) {
      const rows = columns.map(({ header, cell }) => [header, toExactCell(cell(value))]);
      return io.write(rows.map(toRow).join(""));
    }
    const { toCard } = await import("./table.ts");
    const lines = columns.map(
      ({ header, cell }) => [header, sanitizeLine(toHumanCell(cell(value), clock()))] as const,
    );
    return io.write(toCard(lines, io.style.bold));
  }

  async function list<T extends object>(source: PageSource<T>, columns: readonly Column<T>[]) {
    const pages = readPages(source, flags);
    if (flags.ndjson || flags.template !== undefined) return printEach(pages);
    if (flags.format === "csv" || flags.format === "tsv") return printSeparated(pages);
    if (!isMachine && !io.isOutputTerminal) return printRows(pages, columns);
    const { items, last } = await collect(pages);
    if (isMachine) return printDocument(flags.meta ? toMeta(items, last) : choose(items));
    return printTable(items, last, columns);
  }

  async function stream<T extends object>(items: AsyncIterable<T>, columns: readonly Column<T>[]) {
    const isSeparated = flags.format === "csv" || flags.format === "tsv";
    if (isMachine && !flags.ndjson && flags.template === undefined && !isSeparated)
      throw usageError(
        "an endless stream cannot be one document",
        "--ndjson, --template or --format csv|tsv print one line after the other",
      );
    const pages = toPages(items);
    if (isSeparated) return printSeparated(pages);
    if (isMachine) return printEach(pages);
    if (!io.isOutputTerminal) return printRows(pages, columns);
    for await (const { items: shown } of pages) {
      const { toTable } = await import("./table.ts");
      const rows = shown.map((item) => toHumanRow(item, columns, clock()));
      const table = toTable({
        headers: columns.map(() => ""),
        fixed: columns.map(isFixed),
        rows,
        width: io.columns,
        paintHeader: () => "",
      });
      await io.write(table.replace("\n", ""));
    }
  }

  async function done(values: Readonly<Record<string, unknown>>, sentence: string) {
    if (isMachine) return printDocument(choose(values));
    if (io.isOutputTerminal) return io.write(`${sanitizeText(sentence)}\n`);
    return io.write(toEffectRows(values));
  }

  async function text(shown: string, value: unknown, isStyled: boolean = false) {
    if (isMachine) return printDocument(choose(value));
    return io.write(isStyled ? shown : sanitizeText(shown));
  }

  async function page(shown: string, value: unknown, isStyled: boolean = false) {
    if (isMachine) return printDocument(choose(value));
    return writeLong(isStyled ? shown : sanitizeText(shown));
  }

  /** One document in the machine mode of the flags. */
  async function printDocument(value: unknown): Promise<void> {
    if (flags.jq !== undefined) {
      const { applyJq } = await import("./jq.ts");
      return io.write(await applyJq(flags.jq, value, endedBySignals));
    }
    if (flags.template !== undefined || flags.ndjson) {
      const items = Array.isArray(value) ? (value as readonly unknown[]) : [value];
      const print = await itemPrinter();
      for (const item of items) await io.write(await print(item));
      return;
    }
    if (flags.format === "csv" || flags.format === "tsv") {
      const items = Array.isArray(value) ? (value as readonly unknown[]) : [value];
      const print = await separatedPrinter();
      return io.write(print(items, true));
    }
    if (flags.format === "yaml") {
      const { toYaml } = await import("./formats.ts");
      return io.write(toYaml(value));
    }
    // Indented on a terminal; a pipe gets one line.
    return io.write(`${toJson(value, io.isOutputTerminal ? 2 : undefined)}\n`);
  }

  async function printEach<T extends object>(pages: AsyncIterable<Page<T>>): Promise<void> {
    const print = await itemPrinter();
    for await (const page of pages)
      for (const item of page.items) await io.write(await print(choose(item)));
  }

  /** Returns the printer of one item for `--template` and `--ndjson`; `--jq` applies to each item. */
  async function itemPrinter(): Promise<(item: unknown) => Promise<string>> {
    const { template, jq } = flags;
    if (template !== undefined) {
      const { compileTemplate } = await import("./formats.ts");
      const fill = compileTemplate(template);
      return async (item) => `${fill(item)}\n`;
    }
    if (jq !== undefined) {
      const { applyJq } = await import("./jq.ts");
      return (item) => applyJq(jq, item, endedBySignals);
    }
    return async (item) => `${toJson(item)}\n`;
  }

  async function printSeparated<T extends object>(pages: AsyncIterable<Page<T>>): Promise<void> {
    const print = await separatedPrinter();
    let isFirst = true;
    for await (const page of pages) {
      await io.write(print(page.items, isFirst));
      isFirst = false;
    }
  }

  /** Returns the printer for `--format csv|tsv`: a header line, then one line an item. The first item names the columns. */
  async function separatedPrinter() {
    const { toCsvLine, toTsvLine } = await import("./formats.ts");
    const toLine = flags.format === "csv" ? toCsvLine : toTsvLine;
    let names = columnNames;
    return (items: readonly unknown[], withHeader: boolean): string => {
      const rows = items.map((item) =>
        typeof item === "object" && item !== null && !Array.isArray(item)
          ? (item as Readonly<Record<string, unknown>>)
          : { value: item },
      );
      names ??= rows[0] === undefined ? undefined : Object.keys(rows[0]);
      if (names === undefined) return "";
      const columns = names;
      const lines = rows.map((row) => toLine(columns.map((name) => row[name])));
      return (withHeader ? toLine(columns) : "") + lines.join("");
    };
  }

  async function printRows<T extends object>(
    pages: AsyncIterable<Page<T>>,
    columns: readonly Column<T>[],
  ): Promise<void> {
    for await (const page of pages) {
      const rows = page.items.map((item) =>
        toRow(columns.map(({ cell }) => toExactCell(cell(item)))),
      );
      if (rows.length > 0) await io.write(rows.join(""));
    }
  }

  async function printTable<T extends object>(
    items: readonly T[],
    last: Page<T>,
    columns: readonly Column<T>[],
  ): Promise<void> {
    if (items.length === 0) {
      io.note("Nothing to show.");
      return;
    }
    const { fits, toCard, toTable } = await import("./table.ts");
    const now = clock();
    const rows = items.map((item) => toHumanRow(item, columns, now));
    const headers = columns.map(({ header }) => header.toUpperCase());
    const fixed = columns.map(isFixed);
    const width = io.columns;
    const paintHeader = io.style.bold;
    const paintCell = (text: string, row: number, column: number) => {
      const item = items[row];
      const parts = item === undefined ? undefined : columns[column]?.bold?.(item);
      return parts === undefined ? text : emphasize(text, parts, io.style.bold);
    };
    if (fits({ headers, fixed, rows, width }))
      await io.write(toTable({ headers, fixed, rows, width, paintHeader, paintCell }));
    else {
      const cards = rows.map((row, index) =>
        toCard(
          columns.map(({ header }, column) => [
            header,
            paintCell(row[column] ?? "", index, column),
          ]),
          paintHeader,
        ),
      );
      await io.write(cards.join("\n"));
    }
    if (!last.hasMore) return;
    const of = last.total === null ? "" : ` of ${last.total}`;
    const next = last.page === null ? "" : `, --page ${last.page + 1} the next`;
    io.note(`Showing ${items.length}${of}; --all shows all${next}.`);
  }

  function toMeta<T>(items: readonly T[], last: Page<T>) {
    return {
      items: choose(items),
      page: last.page,
      limit: last.limit,
      total: last.total,
      has_more: last.hasMore,
    };
  }
}

/** Paints the parts wherever they occur in a text. */
function emphasize(
  text: string,
  parts: readonly string[],
  paint: (text: string) => string,
): string {
  const patterns = parts
    .map((part) => sanitizeLine(part))
    .filter((part) => part !== "")
    .toSorted((one, other) => other.length - one.length)
    .map((part) => part.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&"));
  if (patterns.length === 0) return text;
  return text.replace(new RegExp(patterns.join("|"), "gu"), (part) => paint(part));
}

/** Ids are never truncated, because people type them again. */
function isFixed({ header }: { readonly header: string }): boolean {
  return header === "id";
}

function toHumanRow<T>(item: T, columns: readonly Column<T>[], now: number): string[] {
  return columns.map(({ cell }) => sanitizeLine(toHumanCell(cell(item), now)));
}

async function* toPages<T>(items: AsyncIterable<T>): AsyncGenerator<Page<T>, void, void> {
  for await (const item of items)
    yield { items: [item], page: null, limit: null, total: null, hasMore: true };
}

async function collect<T>(
  pages: AsyncIterable<Page<T>>,
): Promise<{ readonly items: readonly T[]; readonly last: Page<T> }> {
  const items: T[] = [];
  let last: Page<T> = { items: [], page: 1, limit: null, total: 0, hasMore: false };
  for await (const page of pages) {
    // As arguments of one call, the items of a long page would not fit on the stack.
    for (const item of page.items) items.push(item);
    last = page;
  }
  return { items, last };
}

function toRow(fields: readonly string[]): string {
  return `${fields.map(toRowField).join("\t")}\n`;
}
